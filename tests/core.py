"""What the tests of the core share: pages of their own, a place to index them in, and a chat model that is scripted.

The embedder, the vector store and the database are the real ones; only the chat model is told what to say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from persona.adapters.chroma import Chroma
from persona.adapters.database import Database
from persona.adapters.minilm import MiniLM
from persona.ingest import Ingest
from persona.ports import ChunkStore, Embedder, Vectors
from persona.records import INTRODUCTION, Loaded, Page, Section

PAGES = Path(__file__).parent / "pages"


def page(title: str, sections: Mapping[str, str] | Sequence[Section], **fields: object) -> Page:
    """A page as a wiki gives it; a mapping's keys are paths, joined by " / "."""
    if isinstance(sections, Mapping):
        sections = [Section(tuple(path.split(" / ")), text) for path, text in sections.items()]
    known = {
        "language": "en",
        "source": "wikipedia",
        "api": "",
        "url": f"https://wiki.test/wiki/{title.replace(' ', '_')}",
        "revision": "1",
        "fetched_at": datetime(2025, 1, 2, tzinfo=UTC),
    }
    return Page(title=title, sections=tuple(sections), **(known | fields))  # type: ignore[arg-type]


def wikitext_page(title: str, language: str) -> Page:
    """A page of tests/pages without a wiki: headings, paragraphs and nothing else."""
    text = (PAGES / f"{title}.wikitext").read_text("utf-8")
    text = re.sub(r"\[\[Category:.*?\]\]|'{2,}", "", text)
    sections: list[Section] = []
    path: list[str] = [INTRODUCTION]
    for part in re.split(r"^(=+ .* =+)$", text, flags=re.MULTILINE):
        heading = re.fullmatch(r"(=+) (.*) =+", part)
        if heading:
            level = len(heading[1]) - 2
            path = [*path[:level], heading[2]] if path != [INTRODUCTION] else [heading[2]]
        elif part.strip() and not part.strip().startswith("*"):
            sections.append(Section(tuple(path), part.strip()))
    return page(title, sections, language=language)


class WordEmbedder:
    """A quick embedder that knows words only: each adds a direction of its own. Keeps the embedders' contract."""

    name = "words-64"
    dimension = 64
    languages = frozenset[str]()
    max_tokens = 256

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def count(self, text: str) -> int:
        return len(re.findall(r"\w+|[^\w\s]", text)) + 2

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[0] = 0.1
            for word in re.findall(r"\w+", text.lower())[: self.max_tokens]:
                row[sum(ord(c) * (i + 1) for i, c in enumerate(word)) % self.dimension] += 1
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


@dataclass
class Place:
    """One data folder: a database, a vector store, an embedder, and loading into them."""

    folder: Path
    embedder: Embedder = field(default_factory=WordEmbedder)

    def __post_init__(self) -> None:
        self.database = Database(f"sqlite:///{self.folder / 'persona.db'}")
        self.store: ChunkStore = Chroma(str(self.folder / "chroma"))

    @property
    def ingest(self) -> Ingest:
        return Ingest(self.database, self.store, self.embedder)

    def load(self, wanted: Page) -> Loaded:
        *_, last = self.ingest.load(wanted)
        assert isinstance(last, Loaded)
        return last


@pytest.fixture(scope="session")
def minilm() -> MiniLM:
    """The real embedder, loaded once."""
    return MiniLM()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A data folder with the quick embedder."""
    return Place(tmp_path)
