"""Each way in which installing goes wrong, with the real installer: one sentence that says what to do, and no traceback."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from persona.setup.space import ROOMS
from tests.loopback import Exchange
from tests.needs import need
from tests.package_index import ROOT, PackageIndex, Project, press_ctrl_c, wheel

BIG = "big-1.0-py3-none-any.whl"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with PackageIndex() as index:
        index.put("big", "1.0", wheel("big", "1.0", size=2_000_000))
        project = Project(tmp_path, index)
        project.lock("big==1.0")
        yield project


def python_that(does: str, folder: Path) -> Path:
    """A real interpreter that runs this line of Python when it starts."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "as_it_starts.pth").write_text(f"import sys; {does}\n")
    return folder / "bin" / "python"


def sentence(said: str) -> str:
    """What was said besides progress. Fails unless it is one line."""
    assert "Traceback" not in said
    lines = [line for line in said.splitlines() if line and not line.startswith(("[", "unpacking", "make"))]
    assert len(lines) == 1, said
    return lines[0]


def completes(project: Project) -> None:
    """The next run mends it, and says so."""
    code, said = project.install()
    assert code == 0, said
    assert "it is made anew" in said
    assert project.versions() == {"big": "1.0", "tiny": "1.0"}


def test_a_python_that_is_too_old_says_which_is_wanted(project: Project, tmp_path: Path) -> None:
    old = python_that("sys.version_info = (3, 9, 2)", tmp_path / "old")
    code, said = project.install(python=old)
    assert code == 1
    assert sentence(said).startswith(f"persona needs Python 3.11 or newer, and this is 3.9.2 ({old}). Name a newer one")
    assert not project.venv.exists()


def test_the_entry_is_written_so_that_an_old_python_can_read_it() -> None:
    source = (ROOT / "persona" / "setup" / "install.py").read_text()
    ast.parse(source, feature_version=(3, 4))
    assert 'f"' not in source  # which that does not look at


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_a_python_without_environments_names_the_package_to_install(
    project: Project, tmp_path: Path, module: str
) -> None:
    poor = python_that(f"sys.modules[{module!r}] = None", tmp_path / "poor")
    code, said = project.install(python=poor)
    assert code == 1
    assert "install python3-venv" in sentence(said)


def test_too_little_disk_is_said_before_anything_is_fetched(project: Project, tmp_path: Path) -> None:
    project.lock("big==1.0", extra="builtin")
    one_gigabyte = "lambda path: __import__('types').SimpleNamespace(free=10**9)"
    full = python_that(f"__import__('shutil').disk_usage = {one_gigabyte}", tmp_path / "full")
    done = project.make("install", f"PYTHON={full}")
    assert done.returncode != 0
    said = sentence(done.stdout + done.stderr)
    rooms = (ROOMS["requirements.lock"], ROOMS["requirements-builtin.lock"])
    fetched, unpacked = sum(room.fetched for room in rooms), sum(room.unpacked for room in rooms)
    assert f"installing needs {2 * fetched + unpacked:,} MB on the disk of " in said  # pip's cache and its own copies
    assert "and 1,000 MB are free" in said
    assert "make run EXTRAS=" in said
    assert project.index.received == []

    code, said = project.install(python=full)
    assert code == 1
    assert "EXTRAS=" not in sentence(said)


def test_without_a_network_it_says_so(project: Project) -> None:
    project.index.stop()
    code, said = project.install()
    assert code == 1
    assert sentence(said).startswith("The package index cannot be reached. Connect to the network")


def test_an_altered_download_is_not_installed(project: Project) -> None:
    whole = wheel("big", "1.0", size=2_000_000)
    project.index.instead[BIG] = lambda exchange, _: exchange.data(200, whole, "application/octet-stream")
    code, said = project.install()
    assert code == 1
    assert sentence(said).startswith("What was fetched (big 1.0) is not what the lock names")
    project.index.instead.clear()
    completes(project)


def test_a_connection_that_is_cut_is_said_and_the_next_run_completes_it(project: Project) -> None:
    def cut(exchange: Exchange, data: bytes) -> None:
        exchange.data(200, data[: len(data) // 2], "application/octet-stream", whole=len(data))
        exchange.hang_up()

    project.index.instead[BIG] = cut
    code, said = project.install()
    assert code == 1
    assert sentence(said).startswith("A download (big 1.0) broke off. Run this again")
    project.index.instead.clear()
    completes(project)


def test_a_version_that_is_not_there_is_said(project: Project) -> None:
    del project.index.files[BIG]
    code, said = project.install()
    assert code == 1
    assert sentence(said).startswith("There is no package (big) for this system and Python")


def test_a_package_index_that_is_out_of_order_is_said(project: Project) -> None:
    project.index.instead[BIG] = lambda exchange, _: exchange.text(500, "out of order", "text/plain")
    code, said = project.install()
    assert code == 1
    assert "Run this again" in sentence(said)


@pytest.fixture
def half_fetched(project: Project) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Starts the installer and returns when half of a package has come; the rest never does."""
    half, over = threading.Event(), threading.Event()

    def stop_at_half(exchange: Exchange, data: bytes) -> None:
        exchange.data(200, data[: len(data) // 2], "application/octet-stream", whole=len(data))
        half.set()
        over.wait(60)

    def start() -> subprocess.Popen[str]:
        project.index.instead[BIG] = stop_at_half
        process = project.start()
        assert half.wait(60)
        return process

    yield start
    over.set()


def test_ctrl_c_ends_it_with_a_sentence_and_the_next_run_completes_it(
    project: Project, half_fetched: Callable[[], subprocess.Popen[str]]
) -> None:
    process = half_fetched()
    press_ctrl_c(process)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert sentence(said) == "Broken off. Run this again: it begins anew and completes the installation."
    project.index.instead.clear()
    completes(project)


def test_what_was_killed_is_completed_by_the_next_run(
    project: Project, half_fetched: Callable[[], subprocess.Popen[str]]
) -> None:
    process = half_fetched()
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    project.index.instead.clear()
    completes(project)


def test_what_could_not_be_added_leaves_what_was_there(project: Project) -> None:
    assert project.install()[0] == 0
    project.index.put("proofs", "1.0", wheel("proofs", "1.0"))
    project.lock("proofs==1.0", extra="dev")
    project.index.stop()
    code, said = project.install("dev")
    assert code == 1
    assert "cannot be reached" in sentence(said)
    assert project.install() == (0, "")


def test_a_folder_that_may_not_be_written_is_named(project: Project) -> None:
    obey = []
    if os.geteuid() == 0:  # root may write everywhere, unless it gives that right away
        need(Path("/usr/bin/setpriv").exists(), "setpriv")
        obey = ["/usr/bin/setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    project.folder.chmod(0o555)
    try:
        code, said = project.install(before=obey)
    finally:
        project.folder.chmod(0o755)
    assert code == 1
    assert sentence(said).startswith(f"{project.folder} may not be written (Permission denied). Allow it, or copy")


def test_a_folder_that_is_no_environment_is_left_alone(project: Project) -> None:
    project.venv.mkdir()
    (project.venv / "letters").write_text("mine")
    code, said = project.install()
    assert code == 1
    assert "is there and is no virtual environment" in sentence(said)
    assert (project.venv / "letters").read_text() == "mine"


def test_an_extra_that_does_not_exist_is_said(project: Project) -> None:
    code, said = project.install("biultin")
    assert code == 1
    assert "There is no requirements-biultin.lock" in sentence(said)
