"""Whom a reader may mean while typing, and portraits: asked of the wiki once, then read from the data folder.

Suggestions are kept for a day, and longer where the wiki cannot be reached; their pictures lie beside them and go when
they are old. The portraits of people who were loaded lie in a folder of their own and stay. Knows no screen.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from persona.adapters.pictures import Pictures
from persona.errors import PageError, PersonaError
from persona.ports import PageSource
from persona.records import Picture, Suggestion

_FRESH = 24 * 3600.0  # seconds
_OLD = 30 * 24 * 3600.0
_PATIENCE = 4.0  # seconds for the pictures of one list
_AT_ONCE = 4
_SHORTEST = 2  # characters; one is a word in Chinese, but finds too much elsewhere
_stored: TypeAdapter[tuple[Suggestion, ...]] = TypeAdapter(tuple[Suggestion, ...])
_log = logging.getLogger(__name__)


class Lookup:
    """Suggestions and pictures of one wiki, kept in `home`. Usable from any thread."""

    def __init__(self, wiki: PageSource, api: str, home: Path) -> None:
        """`api` tells this wiki's suggestions from those of another."""
        self._wiki, self._api = wiki, api
        self._folder = home / "cache"
        self._seen = Pictures(self._folder)
        self._kept = Pictures(home / "pictures")
        self._none: set[str] = set()  # addresses that gave no picture
        _drop_old(self._folder)

    def suggest(self, begun: str, language: str) -> tuple[Suggestion, ...]:
        """Pages of the wiki for what was typed so far. Raises PageError where it can be asked neither now nor before."""
        text = " ".join(begun.split())
        if len(text) < _SHORTEST and text.isascii():
            return ()
        file = self._folder / f"{sha256(repr((self._api, language, text)).encode()).hexdigest()[:32]}.json"
        known = _read(file)
        if known is not None and time.time() - file.stat().st_mtime < _FRESH:
            return known
        try:
            found = self._wiki.suggest(text, language)
        except PageError:
            if known is None:
                raise
            return known
        with suppress(OSError):  # a full disk costs the next request, nothing else
            self._folder.mkdir(parents=True, exist_ok=True)
            file.write_bytes(_stored.dump_json(found))
        return found

    def pictures(self, addresses: Iterable[str]) -> Iterator[tuple[str, Path]]:
        """The files of these pictures, each as soon as it is there; those that cannot be had in time are left out."""
        wanted = list(dict.fromkeys(address for address in addresses if address and address not in self._none))
        pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="pictures")
        try:
            coming: dict[Future[Path | None], str] = {}
            for address in wanted:
                if file := self._seen.path(address) or self._kept.path(address):
                    yield address, file
                else:
                    coming[pool.submit(self._fetch, address, self._seen)] = address
            with suppress(TimeoutError):
                for done in as_completed(coming, _PATIENCE):
                    if file := done.result():
                        yield coming[done], file
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def portrait(self, picture: Picture | None) -> Path | None:
        """The file of a loaded person's picture."""
        return self._kept.path(picture.address) if picture else None

    def keep(self, picture: Picture) -> None:
        """Have a portrait in the data folder from now on; a picture that cannot be had is done without."""
        if not self._kept.path(picture.address):
            self._fetch(picture.address, self._kept)

    def drop(self, picture: Picture) -> None:
        """A portrait goes with its person."""
        if file := self._kept.path(picture.address):
            file.unlink(missing_ok=True)

    def _fetch(self, address: str, into: Pictures) -> Path | None:
        try:
            return into.keep(address, self._wiki.picture(address))
        except PersonaError as error:
            _log.warning("a picture is left out: %s", error)
            self._none.add(address)
            return None


def _read(file: Path) -> tuple[Suggestion, ...] | None:
    try:
        return _stored.validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return None


def _drop_old(folder: Path) -> None:
    for file in folder.glob("*"):
        with suppress(OSError):
            if time.time() - file.stat().st_mtime > _OLD:
                file.unlink()
