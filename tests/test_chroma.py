"""The contract of ChunkStore: Chroma in a folder, Chroma's own server on loopback, and what only Chroma does."""

import multiprocessing
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from persona.adapters.chroma import Chroma
from persona.errors import MissingBuild, StoreError
from persona.ports import ChunkStore, Vectors
from persona.records import new_id


@pytest.fixture(params=["folder", "server"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ChunkStore:
    if request.param == "server":
        return Chroma(request.getfixturevalue("chroma_server"))
    return Chroma(str(tmp_path / "chroma"))


def unit(*rows: tuple[float, ...]) -> Vectors:
    vectors = np.array(rows, dtype=np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


FIELDS = [
    {"kind": "chunk", "section": "Life"},
    {"kind": "window", "section": "Life"},
    {"kind": "chunk", "section": "Life -> The storm"},
    {"kind": "chunk", "section": "Death"},
]
IDS = ["a", "a:0", "b", "c"]
VECTORS = unit((1, 0, 0), (1, 0.2, 0), (0, 1, 0), (-1, 0, 0))


@pytest.fixture
def build(store: ChunkStore) -> str:
    name = new_id()
    store.create(name, IDS, VECTORS, FIELDS)
    return name


def nearest(store: ChunkStore, build: str, limit: int = 9, **where: list[str]) -> list[str]:
    return [match.chunk for match in store.nearest(build, unit((1, 0.05, 0))[0], limit, where)]


# --- the contract ---


def test_the_nearest_come_first_by_cosine(store, build):
    found = store.nearest(build, unit((0, 1, 0))[0], 2, {})
    assert [match.chunk for match in found] == ["b", "a:0"]
    assert found[0].distance == pytest.approx(0, abs=1e-5)
    (farthest,) = store.nearest(build, unit((1, 0, 0))[0], 1, {"section": ["Death"]})
    assert farthest.distance == pytest.approx(2, abs=1e-5)


def test_a_longer_vector_is_no_nearer(store):
    name = new_id()
    store.create(name, ["near", "long"], np.array([[1, 0.1, 0], [50, 40, 0]], dtype=np.float32), FIELDS[:2])
    assert nearest(store, name) == ["near", "long"]


def test_fewer_than_asked_for_are_all_there_are(store, build):
    assert sorted(nearest(store, build, 100)) == sorted(IDS)


def test_matches_can_be_had_by_one_field_or_two_and_by_several_values(store, build):
    assert nearest(store, build, kind=["window"]) == ["a:0"]
    assert nearest(store, build, kind=["chunk"], section=["Life", "Life -> The storm"]) == ["a", "b"]
    assert nearest(store, build, section=["Death", "Life -> The storm"]) == ["b", "c"]


def test_values_that_no_vector_has_match_nothing(store, build):
    assert nearest(store, build, section=["Nowhere"]) == []
    assert nearest(store, build, section=[]) == []


def test_vectors_come_back_as_they_went_in(store, build):
    found = store.vectors(build)
    assert set(found) == set(IDS)
    assert np.allclose(np.stack([found[id_] for id_ in IDS]), VECTORS, atol=1e-6)


def test_builds_are_listed_and_dropped(store, build):
    other = new_id()
    store.create(other, IDS[:1], VECTORS[:1], FIELDS[:1])
    assert {build, other} <= set(store.builds())
    store.drop(build)
    assert build not in store.builds()
    assert nearest(store, other) == ["a"]
    store.drop(build)


def test_a_build_that_is_not_there_is_missing_and_not_empty(store, build):
    with pytest.raises(MissingBuild, match="Ask again"):
        store.nearest(new_id(), VECTORS[0], 3, {})
    store.drop(build)
    with pytest.raises(MissingBuild):
        store.nearest(build, VECTORS[0], 3, {})
    assert store.vectors(build) == {}


def test_the_same_build_twice_is_an_error_and_changes_nothing(store, build):
    with pytest.raises(StoreError):
        store.create(build, ["z"], VECTORS[:1], FIELDS[:1])
    assert sorted(nearest(store, build, 100)) == sorted(IDS)


def test_a_vector_of_another_dimension_is_a_store_error(store, build):
    with pytest.raises(StoreError) as caught:
        store.nearest(build, np.ones(5, dtype=np.float32), 3, {})
    assert not isinstance(caught.value, MissingBuild)


def test_odd_section_names_can_be_searched_in(store):
    name = new_id()
    odd = ['A "quoted" -> \\ name', "$and", "林淑如", "x" * 3000, ""]
    store.create(name, list("abcde"), np.eye(5, dtype=np.float32), [{"section": path} for path in odd])
    for id_, path in zip("abcde", odd, strict=True):
        assert [m.chunk for m in store.nearest(name, np.ones(5, dtype=np.float32), 9, {"section": [path]})] == [id_]


# --- Chroma ---


def test_more_vectors_than_chroma_takes_in_one_call_go_in(tmp_path):
    store, name, count = Chroma(str(tmp_path)), new_id(), 6000
    vectors = np.random.default_rng(1).normal(size=(count, 8)).astype(np.float32)
    store.create(name, [f"c{n}" for n in range(count)], vectors, [{"kind": "chunk"}] * count)
    assert len(store.vectors(name)) == count
    assert store.nearest(name, vectors[5999], 1, {})[0].chunk == "c5999"


def test_another_start_finds_its_data(tmp_path):
    name, folder = new_id(), str(tmp_path)
    code = (
        "import sys, numpy as np; from persona.adapters.chroma import Chroma; "
        f"Chroma({folder!r}).create({name!r}, ['a'], np.eye(1, 3, dtype='float32'), [{{'kind': 'chunk'}}])"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert nearest(Chroma(folder), name) == ["a"]


def test_two_clients_of_a_folder_in_one_process_share_it(tmp_path):
    name = new_id()
    Chroma(str(tmp_path)).create(name, IDS, VECTORS, FIELDS)
    assert nearest(Chroma(str(tmp_path)), name, 1) == ["a"]


def test_a_folder_is_one_however_it_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = new_id()
    Chroma("chroma").create(name, IDS, VECTORS, FIELDS)
    assert nearest(Chroma(str(tmp_path / "chroma")), name, 1) == ["a"]
    assert nearest(Chroma(str(tmp_path / "other" / ".." / "chroma")), name, 1) == ["a"]


def test_threads_may_open_a_folder_at_once(tmp_path):
    name = new_id()
    Chroma(str(tmp_path)).create(name, IDS, VECTORS, FIELDS)
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(nearest(Chroma(str(tmp_path)), name, 1))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == [["a"]] * 4


def _write_and_drop(folder: str, count: int) -> None:
    store = Chroma(folder)
    for _ in range(count):
        name = new_id()
        store.create(name, IDS, VECTORS, FIELDS)
        store.drop(name)


def test_a_reader_is_not_disturbed_by_a_process_that_writes_other_builds(tmp_path):
    store, name = Chroma(str(tmp_path)), new_id()
    store.create(name, IDS, VECTORS, FIELDS)
    writer = multiprocessing.get_context("spawn").Process(target=_write_and_drop, args=(str(tmp_path), 5))
    writer.start()
    try:
        asked = 0
        while writer.is_alive() or asked < 3:
            assert nearest(store, name, 1) == ["a"]
            asked += 1
            time.sleep(0.02)
    finally:
        writer.join(60)
    assert writer.exitcode == 0
    assert store.builds() == [name]


def test_a_build_dropped_by_another_process_is_missing(tmp_path):
    store, name = Chroma(str(tmp_path)), new_id()
    store.create(name, IDS, VECTORS, FIELDS)
    assert nearest(store, name, 1) == ["a"]
    code = f"from persona.adapters.chroma import Chroma; Chroma({str(tmp_path)!r}).drop({name!r})"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(MissingBuild):
        nearest(store, name)


def test_a_server_that_is_not_there_is_told_with_its_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{probe.getsockname()[1]}"
        with pytest.raises(StoreError, match=f"{address}.*PERSONA_CHROMA"):
            Chroma(address).builds()


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError, match="PERSONA_CHROMA"):
        Chroma(str(tmp_path / "file" / "chroma")).builds()


def test_a_damaged_folder_is_told(tmp_path):
    (tmp_path / "chroma.sqlite3").write_bytes(b"this is no database" * 100)
    with pytest.raises(StoreError):
        Chroma(str(tmp_path)).builds()


def test_importing_it_loads_nothing_and_opening_it_sends_nothing(tmp_path):
    code = f"""
import socket, sys
def refuse(*a): raise SystemExit("a socket was asked for")
socket.socket.connect = refuse
from persona.adapters.chroma import Chroma
assert "chromadb" not in sys.modules
assert Chroma({str(tmp_path)!r}).builds() == []
from chromadb.config import Settings
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
