"""People come, are read again, and go: from the wiki, from Markdown files, and the samples that come along.

Knows which source a person is from and what belongs to a person: index, vectors, portrait. Knows no screen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from persona.adapters.markdown import read_markdown, samples
from persona.errors import InputError
from persona.ingest import Ingest
from persona.lookup import Lookup
from persona.ports import ChunkStore, Library, PageSource
from persona.records import Choice, Loaded, Page, Person, Picture, Progress


class Loader:
    """Loads into one library."""

    def __init__(self, library: Library, store: ChunkStore, wiki: PageSource, lookup: Lookup, ingest: Ingest) -> None:
        self._library, self._store = library, store
        self._wiki, self._lookup, self._ingest = wiki, lookup, ingest

    def page(self, page: Page) -> Iterator[Progress | Loaded]:
        """Index a page, and keep its picture. Raises PageError, StoreError, EmbedderError."""
        if page.picture and page.sections:
            self._lookup.keep(page.picture)
        yield from self._ingest.load(page)

    def title(self, title: str, language: str) -> Iterator[Progress | Loaded | Choice]:
        """Load a page of the wiki; a Choice is the only event where there is no such page, or several."""
        yield from self._found(self._wiki.fetch(title, language))

    def _found(self, found: Page | Choice) -> Iterator[Progress | Loaded | Choice]:
        if isinstance(found, Choice):
            yield found
        else:
            yield from self.page(found)

    def again(self, person: Person) -> Iterator[Progress | Loaded | Choice]:
        """Read a person's text again where it came from. Raises InputError if it is no longer there."""
        if person.source == "sample":
            yield from self.page(_sample(person))
        elif person.source == "markdown":
            yield from self.page(self._file(person))
        else:
            found = self._wiki.fetch(person.title, person.language)
            if isinstance(found, Page) and found.api != person.api:
                raise InputError(
                    f"{person.title} was read at {person.api}, and now {found.api} is the wiki. Set PERSONA_WIKI_API "
                    "back to read the page again."
                )
            yield from self._found(found)

    def samples(self) -> Iterator[Progress | Loaded]:
        """Load the samples that are not there yet, that changed, or whose index is no longer of use."""
        for path in samples():
            page = read_markdown(path, "sample")
            person = self._library.find(page.source, page.api, page.language, page.title)
            if person is None or person.revision != page.revision or not self._ingest.is_current(person):
                yield from self.page(page)

    def delete(self, person: Person) -> None:
        """Forget a person's page, index and portrait; the threads stay readable."""
        build = self._library.build(person.build)
        self._library.delete(person.id)
        self._store.drop(person.build)
        self._library.forget(person.build)
        if build and build.picture and not self._is_shown(build.picture):
            self._lookup.drop(build.picture)

    def _is_shown(self, picture: Picture) -> bool:
        """Whether it is somebody's portrait: pages of two languages mostly show the same."""
        builds = (self._library.build(person.build) for person in self._library.people())
        return any(build and build.picture and build.picture.address == picture.address for build in builds)

    def _file(self, person: Person) -> Page:
        build = self._library.build(person.build)
        if build is None or not build.origin:
            raise InputError(
                f"Where the file {person.api} lies was not kept when it was loaded. Load it again: `persona load FILE`."
            )
        path = Path(build.origin)
        if not path.is_file():
            raise InputError(
                f"The file {path} is no longer there. Put it back to read it again; until then "
                f"{person.title} answers from what was read before."
            )
        page = read_markdown(path)
        if page.title != person.title:
            raise InputError(
                f"The file {path} is now about “{page.title}”, not “{person.title}”. Load it as somebody new: "
                f"`persona load {path}`."
            )
        return replace(page, language=person.language)  # which may have been named when it was loaded


def _sample(person: Person) -> Page:
    for path in samples():
        page = read_markdown(path, "sample")
        if (page.title, page.language) == (person.title, person.language):
            return page
    raise InputError(f"The sample “{person.title}” no longer comes with the program.")
