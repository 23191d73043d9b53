"""The model file comes out of its parts whole and checked, or not at all."""

import hashlib
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from persona.adapters.builtin_model import QWEN_CODER, SplitFile
from persona.errors import ModelError, ModelMissing
from tests.needs import need

Maker = Callable[..., SplitFile]
_ROOT = Path(__file__).parents[1]


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the import path."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture
def split(packages: Path, tmp_path: Path) -> Maker:
    """Makes packages that hold parts, and that cannot be imported."""

    def make(count: int = 11, size: int = 5000) -> SplitFile:
        whole = hashlib.sha256()
        parts = [(f"{tmp_path.name}_part{n}".replace("-", "_"), f"data/part{n:02}.bin") for n in range(1, count + 1)]
        for module, inner in parts:
            content = random.Random(module).randbytes(size)
            whole.update(content)
            file = packages / module / inner
            file.parent.mkdir(parents=True)
            file.write_bytes(content)
            (packages / module / "__init__.py").write_text("raise RuntimeError('this package was imported')")
        return SplitFile("small.gguf", tuple(parts), count * size, whole.hexdigest())

    return make


def _sha(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _left(folder: Path) -> set[str]:
    """What is in the folder, the lock aside."""
    return {file.name for file in folder.iterdir()} - {"small.gguf.lock"}


def test_parts_are_joined_in_order_without_running_their_packages(split: Maker, tmp_path: Path) -> None:
    source, file = split(), tmp_path / "models" / "small.gguf"
    progress = list(source.join(file))
    assert _sha(file) == source.sha256
    assert progress == sorted(progress)
    assert progress[0] == (5000, 55_000)
    assert progress[-1] == (55_000, 55_000)
    assert _left(file.parent) == {"small.gguf"}


def test_a_file_that_is_there_is_left_alone(split: Maker, tmp_path: Path) -> None:
    source, file = split(), tmp_path / "small.gguf"
    list(source.join(file))
    before = file.stat()
    assert list(source.join(file)) == [(55_000, 55_000)]
    assert file.stat() == before


@pytest.mark.parametrize("content", [b"", b"cut off"])
def test_a_file_of_the_wrong_size_is_joined_again(split: Maker, tmp_path: Path, content: bytes) -> None:
    source, file = split(), tmp_path / "small.gguf"
    file.write_bytes(content)
    assert not source.joined(file)
    list(source.join(file))
    assert _sha(file) == source.sha256


def test_a_damaged_part_is_refused_and_nothing_stays(split: Maker, packages: Path, tmp_path: Path) -> None:
    source, file = split(), tmp_path / "models" / "small.gguf"
    module, inner = source.parts[4]
    part = packages / module / inner
    part.write_bytes(b"x" + part.read_bytes()[1:])
    with pytest.raises(ModelError, match=r"checksum is wrong.*delete the folder \.venv"):
        list(source.join(file))
    assert _left(file.parent) == set()


def test_a_part_cut_short_is_refused_and_nothing_stays(split: Maker, packages: Path, tmp_path: Path) -> None:
    source, file = split(), tmp_path / "models" / "small.gguf"
    module, inner = source.parts[10]
    os.truncate(packages / module / inner, 10)
    with pytest.raises(ModelError, match="damaged"):
        list(source.join(file))
    assert _left(file.parent) == set()


def test_a_missing_part_is_named_with_what_to_do(split: Maker, packages: Path, tmp_path: Path) -> None:
    source, file = split(), tmp_path / "models" / "small.gguf"
    module, inner = source.parts[2]
    (packages / module / inner).unlink()
    assert source.missing() == [module]
    with pytest.raises(ModelMissing, match=rf"{module} is not installed.*make run"):
        list(source.join(file))
    assert _left(file.parent) == set()


def test_a_full_disk_is_named_and_nothing_stays(split: Maker, tmp_path: Path) -> None:
    need(Path("/dev/full").exists(), "no /dev/full, the device that is always full")
    source, file = split(), tmp_path / "models" / "small.gguf"
    file.parent.mkdir()
    (file.parent / "small.gguf.partial").symlink_to("/dev/full")
    with pytest.raises(ModelError, match=r"disk is too full.*PERSONA_HOME"):
        list(source.join(file))
    assert _left(file.parent) == set()


def test_a_folder_that_cannot_be_made_is_named(split: Maker, tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file, not a folder")
    with pytest.raises(ModelError, match=r"could not be written.*PERSONA_HOME"):
        list(split().join(tmp_path / "models" / "small.gguf"))


def test_a_join_that_is_given_up_leaves_nothing_and_holds_nobody_up(split: Maker, tmp_path: Path) -> None:
    source, file = split(), tmp_path / "models" / "small.gguf"
    joining = source.join(file)
    next(joining)
    joining.close()  # type: ignore[attr-defined]  # it is a generator
    assert _left(file.parent) == set()
    list(source.join(file))
    assert _sha(file) == source.sha256


_JOIN = """
import sys
from pathlib import Path
from persona.adapters.builtin_model import SplitFile
source, file = eval(sys.argv[1]), Path(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for done, _ in source.join(file):
    print(done, flush=True)
print(file.stat().st_ino, flush=True)
"""


def _joiner(source: SplitFile, file: Path, packages: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _JOIN, repr(source), str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": f"{_ROOT}{os.pathsep}{packages}"},
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    return process


def test_two_processes_at_once_join_once(split: Maker, packages: Path, tmp_path: Path) -> None:
    source, file = split(count=12, size=6 << 20), tmp_path / "models" / "small.gguf"
    processes = [_joiner(source, file, packages) for _ in range(2)]
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=60)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert _sha(file) == source.sha256
    # whoever joins anew replaces the file: both saw the same one, and it is still there
    assert {words[-1] for words in said} == {str(file.stat().st_ino)}
    assert _left(file.parent) == {"small.gguf"}


def test_a_join_that_was_killed_is_begun_again(split: Maker, packages: Path, tmp_path: Path) -> None:
    source, file = split(count=3, size=20 << 20), tmp_path / "models" / "small.gguf"
    process = _joiner(source, file, packages)
    assert process.stdin
    assert process.stdout
    process.stdin.write("go\n")
    process.stdin.flush()
    process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert not file.exists()
    list(source.join(file))
    assert _sha(file) == source.sha256
    assert _left(file.parent) == {"small.gguf"}


@pytest.mark.builtin
def test_the_real_parts_make_a_model_file(builtin_model: Path) -> None:
    assert builtin_model.stat().st_size == QWEN_CODER.size
    with builtin_model.open("rb") as file:
        assert file.read(4) == b"GGUF"
