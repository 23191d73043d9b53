"""A Markdown file as a page: the second kind of source, and the samples that come with the program.

Knows Markdown by markdown-it and a little front matter (`name: value` lines between `---`). What is left out is told
by sections, the same as for a wiki.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from persona.adapters.sections import Block, arrange, tidy
from persona.errors import InputError
from persona.records import Page, is_language, now

_MOST_BYTES = 5_000_000
_MOST_SIGNS = 2000  # of markup, in one paragraph
_SIGNS = re.compile(r"[][!*_`<&~]")
_FENCE = "---"
_SAMPLES = Path(__file__).parent.parent / "samples"


def samples() -> list[Path]:
    """The Markdown files that come with the program, by name."""
    return sorted(_SAMPLES.glob("*.md"))


def read_markdown(path: Path, source: str = "markdown") -> Page:
    """The page in a Markdown file: the first `# heading` names it, the text before the first `##` is its lead.

    Front matter may give title, language, description, living and url. Raises InputError saying what is wrong with
    the file.
    """
    data = _read(path)
    front, body = _front_matter(_decoded(path, data))
    title, blocks = _titled(_blocks(body), front.get("title", ""))
    if not title:
        raise InputError(f"{path.name} has no title. Begin it with a line such as “# Ada Lovelace”.")
    sections, left_out = arrange(blocks)
    if not sections:
        raise InputError(f"{path.name} holds no text to answer from. Write some under its headings.")
    language = front.get("language", "en")
    if not is_language(language):
        raise InputError(f"{path.name} names the language {language!r}. Take a code like en, de or zh.")
    return Page(
        title=title,
        language=language,
        source=source,
        api="samples" if source == "sample" else path.name,
        url=_web_address(front.get("url", "")),
        revision=sha256(data).hexdigest()[:12],
        fetched_at=now(),
        sections=sections,
        left_out=left_out,
        living=front.get("living", "").casefold() in ("yes", "true", "1"),
        description=front.get("description", ""),
        origin="" if source == "sample" else str(path.absolute()),
    )


def _read(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise InputError(f"{path} is a folder. Name one Markdown file.")
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is no ordinary file. Name one Markdown file.")
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise InputError(f"There is no file {path}. Check the name.") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({getattr(error, 'strerror', None) or error}).") from error
    if len(data) > _MOST_BYTES:
        raise InputError(f"{path.name} is larger than {_MOST_BYTES // 1_000_000} MB. Split it up.")
    return data


def _decoded(path: Path, data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path.name} is not UTF-8 text. Save it as UTF-8.") from error
    if "\0" in text:
        raise InputError(f"{path.name} is not text. Name a Markdown file.")
    return text


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """The `name: value` lines at the top, names in small letters, and the text after them; other lines are ignored."""
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != _FENCE:
        return {}, text
    try:
        end = next(number for number, line in enumerate(lines[1:], 1) if line.rstrip() in (_FENCE, "..."))
    except StopIteration:
        return {}, text
    pairs = (line.partition(":") for line in lines[1:end] if line[:1].isalpha() and ":" in line)
    return {name.strip().casefold(): _unquoted(value) for name, _, value in pairs}, "\n".join(lines[end + 1 :])


def _unquoted(value: str) -> str:
    value = tidy(value)
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1].strip() if quoted else value


def _web_address(url: str) -> str:
    return url if url.startswith(("http://", "https://")) else ""


def _titled(blocks: list[Block], title: str) -> tuple[str, list[Block]]:
    """The title, and the blocks without its heading, whose text belongs to the lead.

    Where front matter names the page and the headings of the first rank are several, these are its sections.
    """
    firsts = [block for block in blocks if block.level == 1]
    if not firsts or (title and title != firsts[0].title and len(firsts) > 1):
        return title, blocks
    if blocks[1] is not firsts[0]:
        return title or firsts[0].title, blocks
    lead = "\n".join(block.text for block in blocks[:2] if block.text)
    return title or firsts[0].title, [Block(0, "", lead), *blocks[2:]]


def _blocks(body: str) -> list[Block]:
    """The text before the first heading (level 0, maybe empty), then each heading with its own text."""
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    reader.core.ruler.before("inline", "bounded", _without_much_markup)
    tokens = reader.parse(body)
    starts = [(0, 0, "")]
    starts += [
        (number + 3, int(token.tag[1:]), tidy(_inline(tokens[number + 1])).replace("\n", " "))
        for number, token in enumerate(tokens)
        if token.type == "heading_open"
    ]
    ends = [(len(tokens) + 3, 0, "")]
    return [
        Block(level, title, _text(tokens[start : following - 3]))
        for (start, level, title), (following, _, _) in pairwise(starts + ends)
    ]


def _without_much_markup(state: StateCore) -> None:
    """A paragraph of thousands of signs is no prose, and its reading would take hours: they are blanks."""
    for token in state.tokens:
        if token.type in ("inline", "html_block") and len(_SIGNS.findall(token.content)) > _MOST_SIGNS:
            token.content = _SIGNS.sub(" ", token.content)


def _text(tokens: Iterable[Token]) -> str:
    """Plain text, a paragraph a line: markup, images and HTML tags are gone, code is kept as it is."""
    return "\n".join(part for part in _parts(tokens) if part)


def _parts(tokens: Iterable[Token]) -> Iterator[str]:
    row: list[str] | None = None
    for token in tokens:
        if token.type == "tr_open":
            row = []
        elif token.type == "tr_close" and row is not None:
            yield ", ".join(cell for cell in row if cell)
            row = None
        elif token.type == "inline" and row is not None:
            row.append(tidy(_inline(token)))
        elif token.type == "inline":
            yield tidy(_inline(token))
        elif token.type in ("fence", "code_block"):
            yield token.content.rstrip()
        elif token.type == "html_block":
            yield tidy(_without_tags(token.content))


_BREAKS = {"softbreak": " ", "hardbreak": "\n", "html_inline": "", "image": ""}


def _inline(token: Token) -> str:
    """A paragraph's or heading's text; of links only what is shown."""
    return "".join(
        "\n" if child.content.casefold().startswith("<br") else _BREAKS.get(child.type, child.content)
        for child in token.children or []
    )


def _without_tags(text: str) -> str:
    reader = _Words()
    reader.feed(text)
    reader.close()
    return "".join(reader.words)


class _Words(HTMLParser):
    """Collects what a browser would show of a piece of HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._hidden = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style"):
            self._hidden = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._hidden:
            self._hidden = ""

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.words.append(data)
