"""A page becomes an index: sections, chunks, vectors, and at last the pointer.

All or nothing: vectors go into a collection of their own, then one transaction stores the chunks and points the person
to the new build. Until then everybody reads the old one. What did not change since the build before is not embedded
again. Knows nothing of where pages come from.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import chain, count, takewhile

import numpy as np

from persona.dates import searched_texts
from persona.errors import PageError, StoreError
from persona.ports import ChunkStore, Embedder, Library, Vectors
from persona.records import PATH_SEPARATOR, Build, Chunk, Loaded, Page, Person, Progress, Section, new_id, now
from persona.retrieval import window_id
from persona.searching import knows
from persona.text import sentences, shortened, windows

CHUNKER = "paragraphs-windows-5"  # another way to cut needs another name: stored with each build
_KEEP_OLD = timedelta(hours=1)  # longer than any load or any reader that follows an old pointer
_ONE_LINE = 180  # characters
_TOLD = ("revision", "origin", "picture", "revised_at")  # what a build copies from its page and readers are told
_STEP = 32  # texts embedded between two reports of progress

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A text to embed and the id of its vector; a window's id is its chunk's id, a colon and its number."""

    id: str
    text: str
    fields: dict[str, str]


class Ingest:
    """Loads pages into one library and one store of vectors, with one embedder."""

    def __init__(self, library: Library, store: ChunkStore, embedder: Embedder) -> None:
        self._library, self._store, self._embedder = library, store, embedder

    def load(self, page: Page) -> Iterator[Progress | Loaded]:
        """Index the page; the last event is Loaded. Raises PageError if it holds no text, StoreError, EmbedderError."""
        began = time.monotonic()
        if not page.sections:
            raise PageError(f"“{page.title}” holds no text that could be indexed. Choose another page.")
        yield Progress("fetched", detail=page.title)
        old = self._library.find(page.source, page.api, page.language, page.title)
        chunks = make_chunks(page, self._embedder)
        known = self._known_vectors(old)
        build = self._new_build(page, chunks)
        same = self._unchanged(old, page, chunks, known)
        if old and same:
            yield self._as_it_was(old, build, page, began)
            return
        embedded = yield from self._store_vectors(build, page, chunks, known)
        person = self._library.publish(page, build, chunks)
        yield Progress("stored", len(chunks), len(chunks))
        self._tidy()
        yield Loaded(
            person=person,
            build=replace(build, person=person.id),
            embedded=embedded,
            reused=len(chunks) - embedded,
            seconds=time.monotonic() - began,
            advice=advice(page.language, self._embedder),
        )

    def is_whole(self, person: Person) -> bool:
        """Whether all vectors of a person are there, by the embedder that is set. Raises StoreError."""
        return {chunk.sha for chunk in self._library.chunks(person.build)} == self._known_vectors(person).keys()

    def mend(self, person: Person) -> Iterator[Progress]:
        """Make the vectors that a person lacks, from the texts in the database; the wiki and the file are not needed.

        They go into a new build, as those of a load do. Raises StoreError, EmbedderError.
        """
        old = self._library.build(person.build)
        if old is None:
            return
        build = replace(
            old,
            id=new_id(),
            embedder=self._embedder.name,
            dimension=self._embedder.dimension,
            created_at=now(),
        )
        page, chunks = _page_of(person, old), self._library.chunks(old.id)
        yield from self._store_vectors(build, page, chunks, self._known_vectors(person))
        self._library.publish(page, build, chunks)
        yield Progress("stored", len(chunks), len(chunks))
        self._tidy()

    def is_current(self, person: Person) -> bool:
        """Whether their index was made by this embedder, from chunks as they are cut now."""
        build = self._library.build(person.build)
        return build is not None and (build.embedder, build.chunker) == (self._embedder.name, CHUNKER)

    def _as_it_was(self, old: Person, build: Build, page: Page, began: float) -> Loaded:
        current = self._library.build(old.build) or build
        hint = advice(page.language, self._embedder)
        return Loaded(old, current, 0, current.chunks, time.monotonic() - began, hint)

    def _unchanged(
        self, old: Person | None, page: Page, chunks: Sequence[Chunk], known: dict[str, list[Vectors]]
    ) -> bool:
        """Whether the current build is of this very revision, text and picture, by this embedder and chunker."""
        current = self._library.build(old.build) if old else None
        if current is None or (current.embedder, current.chunker) != (self._embedder.name, CHUNKER):
            return False
        if any(getattr(current, name) != getattr(page, name) for name in _TOLD):
            return False
        stored = [(chunk.sha, chunk.anchor) for chunk in self._library.chunks(current.id)]
        return stored == [(chunk.sha, chunk.anchor) for chunk in chunks] and all(sha in known for sha, _ in stored)

    def _known_vectors(self, old: Person | None) -> dict[str, list[Vectors]]:
        """By a chunk's sha: its vector, then those of its windows, from the build before."""
        current = self._library.build(old.build) if old else None
        if current is None or (current.embedder, current.chunker) != (self._embedder.name, CHUNKER):
            return {}
        try:
            vectors = self._store.vectors(current.id)
        except StoreError as error:  # a load mends what is damaged, if the store can be written to at all
            _log.warning("the vectors of build %s cannot be read: %s", current.id, error)
            return {}
        known: dict[str, list[Vectors]] = {}
        for chunk in self._library.chunks(current.id):
            ids = chain([chunk.id], (window_id(chunk.id, n) for n in count()))
            if found := [vectors[id_] for id_ in takewhile(vectors.__contains__, ids)]:
                known[chunk.sha] = found
        return known

    def _store_vectors(
        self, build: Build, page: Page, chunks: Sequence[Chunk], known: dict[str, list[Vectors]]
    ) -> Generator[Progress, None, int]:
        """Embed what is new and store all; the generator's value is the number of chunks that were new."""
        self._library.begin(build.id)
        searched = searched_texts(chunks, page.language)
        groups = [_pieces(chunk, text, page) for chunk, text in zip(chunks, searched, strict=True)]
        new = [i for i, chunk in enumerate(chunks) if len(known.get(chunk.sha, ())) != len(groups[i])]
        # longest first: texts of like length go through the embedder together, and the rest goes ever faster
        todo = sorted((p for i in new for p in groups[i]), key=lambda p: self._embedder.count(p.text), reverse=True)
        made: dict[str, Vectors] = {}
        for start in range(0, len(todo), _STEP):
            part = todo[start : start + _STEP]
            yield Progress("embedding", len(new) * start // max(len(todo), 1), len(new))
            made |= dict(zip([p.id for p in part], self._embedder.embed([p.text for p in part]), strict=True))
        fresh = set(new)
        rows = [
            made[piece.id] if i in fresh else known[chunks[i].sha][n]
            for i, group in enumerate(groups)
            for n, piece in enumerate(group)
        ]
        yield Progress("embedding", len(new), len(new))
        pieces = [piece for group in groups for piece in group]
        self._store.create(build.id, [p.id for p in pieces], np.stack(rows), [p.fields for p in pieces])
        return len(new)

    def _new_build(self, page: Page, chunks: Sequence[Chunk]) -> Build:
        return Build(
            id=new_id(),
            person="",
            title=page.title,
            url=page.url,
            revision=page.revision,
            fetched_at=page.fetched_at,
            embedder=self._embedder.name,
            dimension=self._embedder.dimension,
            chunker=CHUNKER,
            sections=tuple(section.path for section in page.sections),
            chunks=len(chunks),
            left_out=page.left_out,
            living=page.living,
            description=page.description or _first_sentence(page),
            created_at=now(),
            origin=page.origin,
            picture=page.picture,
            revised_at=page.revised_at,
        )

    def _tidy(self) -> None:
        """Drop what nobody points to: replaced builds, and what killed loads left behind."""
        try:
            for build in self._library.outdated(_KEEP_OLD):
                self._store.drop(build)
                self._library.forget(build)
        except StoreError as error:  # the load is done; what is left over is found the next time
            _log.warning("old builds are left for later: %s", error)


def _first_sentence(page: Page) -> str:
    """What its text begins with, for a page that does not describe itself; cut where it runs on."""
    return shortened(next(iter(sentences(page.sections[0].text, page.language)), ""), _ONE_LINE)


def advice(language: str, embedder: Embedder) -> str:
    """What to recommend when the embedder does not know the page's language; empty when it does."""
    if knows(embedder, language):
        return ""
    return (
        f"The embedder {embedder.name} does not know the language “{language}”; search falls back on words alone. "
        "For better answers run Ollama, `ollama pull bge-m3`, set PERSONA_EMBEDDER=ollama:bge-m3 and load again."
    )


def _page_of(person: Person, build: Build) -> Page:
    """The page that a build was made of, without its text."""
    return Page(
        title=person.title,
        language=person.language,
        source=person.source,
        api=person.api,
        url=build.url,
        revision=build.revision,
        fetched_at=build.fetched_at,
        sections=(),
        left_out=build.left_out,
        living=build.living,
        description=build.description,
        origin=build.origin,
        picture=build.picture,
    )


def make_chunks(page: Page, embedder: Embedder) -> tuple[Chunk, ...]:
    """The page's chunks in order; each fits the embedder together with the title and path in front of it."""
    chunks: list[Chunk] = []
    for section in page.sections:
        room = max(embedder.max_tokens - embedder.count(context_line(page.title, section.path)), 32)
        for text in _split(section, page.language, room, embedder):
            chunks.append(Chunk(new_id(), len(chunks), section.path, text, "", section.anchor))
    searched = searched_texts(chunks, page.language)
    return tuple(
        replace(chunk, sha=_sha(page.title, chunk, text)) for chunk, text in zip(chunks, searched, strict=True)
    )


def _sha(title: str, chunk: Chunk, searched: str) -> str:
    """Of all that its vectors are made of."""
    return hashlib.sha256(f"{context_line(title, chunk.path)}{searched}".encode()).hexdigest()


def context_line(title: str, path: Sequence[str]) -> str:
    """What stands in front of a chunk's text when it is embedded."""
    return f"{title}: {PATH_SEPARATOR.join(path)}\n"


def _split(section: Section, language: str, room: int, embedder: Embedder) -> list[str]:
    """The whole section while it fits, else packed from paragraphs, and those too long from sentences."""
    if embedder.count(section.text) <= room:
        return [section.text]
    paragraphs = [part.strip() for part in section.text.splitlines() if part.strip()]
    return [
        text
        for paragraph in _merge_short(paragraphs, room, embedder)
        for text in (
            [paragraph] if embedder.count(paragraph) <= room else _split_paragraph(paragraph, language, room, embedder)
        )
    ]


def _split_paragraph(paragraph: str, language: str, room: int, embedder: Embedder) -> list[str]:
    """Runs of sentences that fit, of like length; each but the first starts with the sentence before it."""
    parts = [piece for part in sentences(paragraph, language) for piece in _fitting(part, room, embedder)]
    lengths = [embedder.count(part) for part in parts]
    runs = -(-sum(lengths) // room)
    target = min(room, sum(lengths) // runs + max(lengths) // 2)
    texts: list[str] = []
    current: list[int] = []
    for i, length in enumerate(lengths):
        if current and sum(lengths[j] for j in current) + length > target:
            texts.append(" ".join(parts[j] for j in current))
            overlap = [current[-1]] if lengths[current[-1]] + length <= target else []
            current = overlap
        current.append(i)
    return [*texts, " ".join(parts[j] for j in current)]


def _fitting(sentence: str, room: int, embedder: Embedder) -> list[str]:
    """The sentence, halved at blanks or anywhere until each part fits."""
    if embedder.count(sentence) <= room or len(sentence) < 2:
        return [sentence]
    middle = sentence.rfind(" ", 1, len(sentence) // 2 + 1)
    middle = middle if middle > 0 else len(sentence) // 2
    halves = sentence[:middle].strip(), sentence[middle:].strip()
    return [piece for half in halves if half for piece in _fitting(half, room, embedder)]


def _merge_short(texts: Sequence[str], room: int, embedder: Embedder) -> list[str]:
    """Neighbors joined while one of them is short and both fit: a heading's one-line paragraph says little alone."""
    merged: list[str] = []
    for text in texts:
        joined = f"{merged[-1]}\n{text}" if merged else text
        short = merged and min(len(merged[-1]), len(text)) < _SHORT
        if short and embedder.count(joined) <= room:
            merged[-1] = joined
        else:
            merged.append(text)
    return merged


_SHORT = 200  # characters


def _pieces(chunk: Chunk, searched: str, page: Page) -> list[_Piece]:
    """The chunk itself as it is searched, then its windows of two sentences."""
    section = PATH_SEPARATOR.join(chunk.path)
    whole = _Piece(chunk.id, context_line(page.title, chunk.path) + searched, {"kind": "chunk", "section": section})
    fields = {"kind": "window", "section": section}
    texts = windows(sentences(searched, page.language))
    return [whole, *(_Piece(window_id(chunk.id, n), text, fields) for n, text in enumerate(texts))]
