"""Vectors in Chroma, one collection a build, written once and never changed afterwards.

Two processes may share a folder only because of that: a collection that one process changes gives another stale ids.
Knows nothing of chunks' texts; they live in the database.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from persona.calls import logged
from persona.errors import MissingBuild, StoreError
from persona.ports import Vectors
from persona.records import Match

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

_log = logging.getLogger(__name__)
_PREFIX = "build-"
_FILE = "chroma.sqlite3"
_clients: dict[str, _Opened] = {}  # Chroma allows one client a folder and process
_clients_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Opened:
    """A client and the file that it opened; for a server there is none."""

    client: ClientAPI
    file: tuple[int, int] | None


class Chroma:
    """Implements ports.ChunkStore. `location` is a folder, or a server's address that starts with http."""

    def __init__(self, location: str) -> None:
        self._location = location

    @property
    def _client(self) -> ClientAPI:
        """Opened anew when the folder was moved away or replaced: a client goes on with the files that it opened."""
        with _clients_lock:
            opened = _clients.get(self._location)
            if opened is None or opened.file != _file(self._location):
                _forget(self._location)
                client = _connect(self._location)
                opened = _clients[self._location] = _Opened(client, _file(self._location))
            return opened.client

    def create(self, build: str, ids: Sequence[str], vectors: Vectors, fields: Sequence[Mapping[str, str]]) -> None:
        """Store all vectors of a build, in as many calls as Chroma's limit asks for."""
        with self._told("create", build):
            self._create(build, ids, vectors, fields)

    def _create(self, build: str, ids: Sequence[str], vectors: Vectors, fields: Sequence[Mapping[str, str]]) -> None:
        try:
            collection = self._client.create_collection(
                _PREFIX + build, configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
            )
            size = self._client.get_max_batch_size()
            for start in range(0, len(ids), size):
                part = slice(start, start + size)
                collection.add(
                    ids=list(ids[part]), embeddings=vectors[part], metadatas=[dict(field) for field in fields[part]]
                )
        except Exception as error:
            raise self._failed(error) from error
        _log.info("stored %d vectors of build %s", len(ids), build)

    def nearest(self, build: str, vector: Vectors, limit: int, where: Mapping[str, Sequence[str]]) -> list[Match]:
        """The nearest by cosine distance, nearest first."""
        with self._told("query", build):
            return self._nearest(build, vector, limit, where)

    def _nearest(self, build: str, vector: Vectors, limit: int, where: Mapping[str, Sequence[str]]) -> list[Match]:
        collection = self._collection(build)
        if not all(where.values()):  # Chroma takes no empty list
            return []
        try:
            found = collection.query(
                query_embeddings=vector[None, :], n_results=limit, where=_condition(where), include=["distances"]
            )
        except Exception as error:
            if _is_gone(error):
                raise MissingBuild("This index was replaced by a newer load. Ask again.") from error
            raise self._failed(error) from error
        distances = (found["distances"] or [[]])[0]
        return [Match(chunk, float(distance)) for chunk, distance in zip(found["ids"][0], distances, strict=True)]

    def vectors(self, build: str) -> dict[str, Vectors]:
        """All vectors of a build; an incomplete or missing one gives what there is."""
        with self._told("get", build):
            try:
                found = self._collection(build).get(include=["embeddings"])
            except Exception as error:
                if isinstance(error, MissingBuild) or _is_gone(error):
                    return {}
                raise self._failed(error) from error
        rows = np.asarray(found["embeddings"], dtype=np.float32)
        return dict(zip(found["ids"], rows, strict=True))

    def builds(self) -> list[str]:
        """The builds that are stored, complete or not."""
        with self._told("list"):
            try:
                names = [collection.name for collection in self._client.list_collections()]
            except Exception as error:
                raise self._failed(error) from error
        return [name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX)]

    def drop(self, build: str) -> None:
        """Delete a build's collection, if there is one."""
        with self._told("delete", build):
            try:
                self._client.delete_collection(_PREFIX + build)
            except Exception as error:
                if not _is_gone(error):
                    raise self._failed(error) from error

    def _told(self, what: str, build: str = "-") -> AbstractContextManager[object]:
        """A folder is nothing outside."""
        if not self._location.startswith("http"):
            return nullcontext()
        return logged("chroma", what, address=self._location, build=build)

    def _collection(self, build: str) -> Collection:
        try:
            return self._client.get_collection(_PREFIX + build, embedding_function=None)
        except Exception as error:
            if _is_gone(error):
                raise MissingBuild("This index was replaced by a newer load. Ask again.") from error
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> StoreError:
        """Whatever it was, the next call opens the store anew: no restart is needed once it is mended."""
        if isinstance(error, StoreError):
            return error
        with _clients_lock:
            _forget(self._location)
        return StoreError(f"The vector store at {self._location} failed ({error}). {_remedy(self._location)}")


def _condition(where: Mapping[str, Sequence[str]]) -> dict[str, Any] | None:
    """Chroma's filter: one operator at the top, `$and` for two or more, none at all for none."""
    terms: list[dict[str, Any]] = [{name: {"$in": list(values)}} for name, values in where.items()]
    if len(terms) > 1:
        return {"$and": terms}
    return terms[0] if terms else None


def _is_gone(error: Exception) -> bool:
    """Whether Chroma says that a collection does not exist, before or in the middle of a query, or has lost its files."""
    from chromadb.errors import NotFoundError

    gone = ("does not exist", "Error finding id", "not found", "Error loading hnsw index")
    return isinstance(error, NotFoundError) or any(words in str(error) for words in gone)


def _connect(location: str) -> ClientAPI:
    import chromadb
    from chromadb.config import Settings

    settings = Settings(anonymized_telemetry=False)
    try:
        if location.startswith("http"):
            address = urlsplit(location)
            secure = address.scheme == "https"
            port = address.port or (443 if secure else 8000)
            return chromadb.HttpClient(host=address.hostname or "", port=port, ssl=secure, settings=settings)
        Path(location).mkdir(parents=True, exist_ok=True)
        return chromadb.PersistentClient(location, settings=settings)
    except Exception as error:
        _forget(location)
        raise StoreError(f"The vector store at {location} cannot be opened ({error}). {_remedy(location)}") from error


def _forget(location: str) -> None:
    """Chroma keeps what it opened for a folder, also what it could only half open. Others' clients go on working."""
    from chromadb.api.shared_system_client import SharedSystemClient

    if _clients.pop(location, None) or not location.startswith("http"):
        SharedSystemClient.clear_system_cache()


def _file(location: str) -> tuple[int, int] | None:
    """Which file the folder's database is; None where there is none."""
    try:
        found = (Path(location) / _FILE).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _remedy(location: str) -> str:
    if location.startswith("http"):
        return "Check that the Chroma server runs there, or correct PERSONA_CHROMA."
    return (
        "If it is damaged, move that folder away: the indexes are made again from the database when they are needed. "
        "If it is the wrong one, correct PERSONA_CHROMA."
    )
