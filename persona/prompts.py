"""Prompt files: load, validate, render, fingerprint.

A file is a header between `---` lines (`variables: a, b`, and `step: name`), then messages, each under a line `# system`,
`# user` or `# assistant`. `$name` stands for a variable; `$$` for a dollar. Knows nothing of what the variables mean.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import get_args

from persona.errors import PromptError
from persona.records import Message, Role, Step

STEPS: tuple[Step, ...] = get_args(Step)
_HEADING = re.compile(r"#\s*(system|user|assistant)\s*$")
_ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt file. `sha` is the fingerprint of its bytes, 12 hexadecimal digits."""

    step: Step
    variables: frozenset[str]
    messages: tuple[Message, ...]
    sha: str
    path: Path

    def render(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """The messages with the values put in; values are never read as templates. Raises PromptError."""
        if missing := self.variables - values.keys():
            raise PromptError(f"{self.path}: no value was given for ${', $'.join(sorted(missing))}.")
        return tuple(Message(m.role, Template(m.text).substitute(values)) for m in self.messages)


def load_prompts(folder: Path, allowed: Mapping[Step, frozenset[str]]) -> dict[Step, Prompt]:
    """All prompts of a folder; `allowed` names the variables that the program has for each step."""
    return {step: load_prompt(folder / f"{step}.md", step, allowed[step]) for step in STEPS}


def load_prompt(path: Path, step: Step, allowed: frozenset[str]) -> Prompt:
    """Read and check one file. Raises PromptError naming file and line."""
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")  # some editors put a mark in front
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"{path}: cannot be read ({error}). Restore it, or correct PERSONA_PROMPTS.") from error
    lines = text.splitlines()
    header, first = _header(path, lines)
    if header.get("step") != step:
        raise PromptError(f"{path}:1: the header must say `step: {step}`.")
    variables = frozenset(name.strip() for name in header.get("variables", "").split(",") if name.strip())
    if unknown := variables - allowed:
        raise PromptError(f"{path}:1: {_named(unknown)} is no variable of this step; it has {_named(allowed)}.")
    messages = tuple(_messages(path, lines, first))
    _check_uses(path, lines, first, variables)
    if not messages or messages[-1].role != "user":
        raise PromptError(f"{path}:{len(lines)}: the last message must be under `# user`.")
    return Prompt(step, variables, messages, hashlib.sha256(content).hexdigest()[:12], path)


def _header(path: Path, lines: list[str]) -> tuple[dict[str, str], int]:
    """The header's fields and the index of the first line after it."""
    if not lines or lines[0].strip() != "---" or "---" not in (line.strip() for line in lines[1:]):
        raise PromptError(f"{path}:1: the file must start with a header between two lines `---`.")
    end = next(i for i, line in enumerate(lines[1:], 1) if line.strip() == "---")
    fields = dict(line.split(":", 1) for line in lines[1:end] if ":" in line)
    return {key.strip(): value.strip() for key, value in fields.items()}, end + 1


def _messages(path: Path, lines: list[str], first: int) -> Iterator[Message]:
    role, body = "", list[str]()
    for number, line in enumerate(lines[first:], first + 1):
        heading = _HEADING.match(line)
        if heading:
            yield from _message(role, body)
            role, body = heading[1], []
        elif role:
            body.append(line)
        elif line.strip():
            raise PromptError(f"{path}:{number}: text before the first `# system`, `# user` or `# assistant`.")
    yield from _message(role, body)


def _message(role: str, body: list[str]) -> Iterator[Message]:
    if role in _ROLES:
        yield Message(role, "\n".join(body).strip())


def _check_uses(path: Path, lines: list[str], first: int, variables: frozenset[str]) -> None:
    """Each `$name` is declared, and each one declared is used."""
    used: set[str] = set()
    for number, line in enumerate(lines[first:], first + 1):
        template = Template(line)
        if not template.is_valid():
            raise PromptError(f"{path}:{number}: a `$` that names no variable; write `$$` for a dollar.")
        here = set(template.get_identifiers())
        if undeclared := here - variables:
            raise PromptError(f"{path}:{number}: {_named(undeclared)} is not among the header's variables.")
        used |= here
    if unused := variables - used:
        raise PromptError(f"{path}:1: {_named(unused)} is declared and never used.")


def _named(names: frozenset[str] | set[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(names)) or "none"
