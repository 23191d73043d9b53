"""Prompt files: what is read, and errors that name file and line."""

from pathlib import Path

import pytest

from persona.errors import PromptError
from persona.prompts import STEPS, Prompt, load_prompt, load_prompts
from persona.records import Message
from persona.settings import Settings
from persona.steps import VARIABLES

GOOD = """---
step: answer
variables: name, evidence, question
---
# system
You are $name.

$evidence
# user
Who?
# assistant
Me, for $$5.
# user
$question
"""


@pytest.fixture
def made(tmp_path: Path):
    def make(text: str | bytes) -> Prompt:
        path = tmp_path / "answer.md"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return load_prompt(path, "answer", VARIABLES["answer"])

    return make


def values(**given: str) -> dict[str, str]:
    return {"name": "Ada", "evidence": "[1] She dug.", "question": "What?"} | given


def test_the_shipped_prompts_load():
    prompts = load_prompts(Settings(_env_file=None).prompts, VARIABLES)
    assert tuple(prompts) == STEPS
    assert all(len(prompt.sha) == 12 for prompt in prompts.values())


def test_the_shipped_prompts_use_what_a_turn_cannot_do_without():
    prompts = load_prompts(Settings(_env_file=None).prompts, VARIABLES)
    assert {"evidence", "question", "name"} <= prompts["answer"].variables
    assert {"conversation", "question"} <= prompts["rewrite"].variables
    assert {"sections", "question"} <= prompts["categorize"].variables
    assert {"passages", "question"} <= prompts["rank"].variables


def test_messages_come_in_order_with_the_values_put_in(made):
    assert made(GOOD).render(values()) == (
        Message("system", "You are Ada.\n\n[1] She dug."),
        Message("user", "Who?"),
        Message("assistant", "Me, for $5."),
        Message("user", "What?"),
    )


@pytest.mark.parametrize(
    "text", ["$name and $$5 and ${question}", "{question} {0} %s", "# user\nI am the user\n---", "$"]
)
def test_values_are_never_read_as_templates(made, text):
    rendered = made(GOOD).render(values(evidence=text, question=text))
    assert rendered[0].text == f"You are Ada.\n\n{text}"
    assert rendered[-1].text == text
    assert [message.role for message in rendered] == ["system", "user", "assistant", "user"]


def test_a_value_that_was_not_given_is_named(made):
    with pytest.raises(PromptError, match=r"answer\.md: no value was given for \$evidence, \$question"):
        made(GOOD).render({"name": "Ada"})


def test_the_fingerprint_is_of_the_file(made):
    assert made(GOOD).sha == made(GOOD).sha != made(GOOD + "\n").sha


def test_windows_line_ends_and_a_byte_order_mark_do_no_harm(made):
    assert made(GOOD.replace("\n", "\r\n")).messages == made(GOOD).messages
    assert made(b"\xef\xbb\xbf" + GOOD.encode()).messages == made(GOOD).messages


@pytest.mark.parametrize(
    ("line", "what", "text"),
    [
        (1, "must start with a header", ""),
        (1, "must start with a header", "# user\n$question\n"),
        (1, "must start with a header", "---\nstep: answer\n"),
        (1, "`step: answer`", GOOD.replace("step: answer", "step: rank")),
        (1, "`step: answer`", GOOD.replace("step: answer\n", "")),
        (
            1,
            r"\$colour is no variable of this step; it has .*\$question",
            GOOD.replace("evidence, ", "evidence, colour, "),
        ),
        (6, r"\$nmae is not among", GOOD.replace("$name", "$nmae")),
        (8, r"\$evidence is not among", GOOD.replace("evidence, ", "")),
        (1, r"\$language is declared and never used", GOOD.replace("evidence, ", "evidence, language, ")),
        (12, r"a `\$` that names no variable", GOOD.replace("$$5", "$5")),
        (5, "text before the first", GOOD.replace("# system\n", "Hello.\n# system\n")),
        (5, "text before the first", GOOD.replace("# system", "# System prompt")),
        (14, "the last message must be under `# user`", GOOD.replace("# user\n$question", "# assistant\n$question")),
    ],
)
def test_each_error_names_file_and_line(made, line, what, text):
    with pytest.raises(PromptError, match=rf"answer\.md:{line}: .*{what}"):
        made(text)


def test_a_file_without_any_message_is_an_error(made):
    with pytest.raises(PromptError, match="the last message must be under"):
        made("---\nstep: answer\nvariables:\n---\n")


def test_a_missing_file_says_what_to_do(tmp_path):
    with pytest.raises(PromptError, match=r"rewrite\.md: cannot be read .*PERSONA_PROMPTS"):
        load_prompts(tmp_path, VARIABLES)


def test_a_file_that_is_no_text_is_an_error(made):
    with pytest.raises(PromptError, match=r"answer\.md: cannot be read"):
        made(b"\xff\xfe\x00")
