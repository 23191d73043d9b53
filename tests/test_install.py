"""The real install command against a package index of this machine: it takes what the locks name, on any day."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from persona.setup.space import ROOMS
from tests.needs import need
from tests.package_index import ROOT, PackageIndex, Project, wheel

PINNED = {"answers": "1.0", "server": "1.0", "wires": "1.0", "tiny": "1.0"}


@pytest.fixture
def index() -> Iterator[PackageIndex]:
    """`answers` needs `server[standard]`, which needs `wires`; of the server there is a version that no lock names."""
    with PackageIndex() as index:
        index.put("answers", "1.0", wheel("answers", "1.0", ["server[standard]>=0.5"]))
        for version in ("1.0", "2.0"):
            index.put("server", version, wheel("server", version, ["wires>=0.5"], extra="standard"))
        index.put("wires", "1.0", wheel("wires", "1.0", size=1_500_000))
        index.put("proofs", "1.0", wheel("proofs", "1.0"))
        yield index


@pytest.fixture
def project(index: PackageIndex, tmp_path: Path) -> Project:
    project = Project(tmp_path, index)
    project.lock("answers==1.0", "server==1.0", "wires==1.0")
    project.lock("proofs==1.0", extra="dev")
    return project


def test_the_pinned_version_is_taken_though_a_newer_one_with_the_extra_was_published(project: Project) -> None:
    done = project.make("install", "EXTRAS=")
    assert done.returncode == 0, done.stdout + done.stderr
    assert project.versions() == PINNED
    assert "server-2.0-py3-none-any.whl" not in project.index.fetched


def test_without_the_guard_what_no_lock_names_would_break_the_install(project: Project) -> None:
    """Old pips fail for the newer server alone, new ones once the lock lacks what the extra needs."""
    project.lock("answers==1.0", "server==1.0")
    assert project.make("install", "EXTRAS=").returncode == 0

    steps = project.folder / "persona" / "setup" / "steps.py"
    guarded = steps.read_text()
    assert guarded.count('"--no-deps", "--require-hashes"') == 1
    steps.write_text(guarded.replace('"--no-deps", "--require-hashes"', '"--require-hashes"'))
    shutil.rmtree(project.venv)
    assert project.make("install", "EXTRAS=").returncode != 0
    assert "all requirements must have their versions pinned" in (project.venv / "install.log").read_text()


def test_a_lock_with_extras_can_be_installed_by_pip_alone(project: Project) -> None:
    project.lock("answers==1.0", "server[standard]==1.0", "wires==1.0")
    words = ["install", "--require-hashes", "--target", str(project.folder / "there"), "-r", "requirements.lock"]
    command = [sys.executable, "-m", "pip", *words]
    done = subprocess.run(
        command, check=False, cwd=project.folder, env=project.environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert (project.folder / "there" / "server-1.0.dist-info").is_dir()


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-builtin.lock", "requirements-dev.lock"])
def test_the_locks_name_a_hash_for_every_package_and_no_place_to_fetch_from(lock: str) -> None:
    text = (ROOT / lock).read_text()
    pins = re.findall(r"^[^\s#].*?(?=\n\S|\Z)", text, re.MULTILINE | re.DOTALL)
    assert pins
    assert [pin for pin in pins if "==" not in pin or "--hash=sha256:" not in pin] == []
    assert "://" not in text


def test_the_locks_keep_extras_and_hold_what_builds_the_project() -> None:
    text = (ROOT / "requirements.lock").read_text()
    for pin in ("uvicorn[standard]==", "httptools==", "watchfiles==", "pip==", "hatchling==", "editables=="):
        assert re.search(rf"^{re.escape(pin)}", text, re.MULTILINE), pin


def test_once_all_is_there_nothing_is_done_and_nothing_said(project: Project) -> None:
    assert project.install()[0] == 0
    project.index.stop()
    began = time.monotonic()
    assert project.install() == (0, "")
    assert time.monotonic() - began < 3


def test_what_is_missing_is_added_and_what_changed_is_made_anew(project: Project) -> None:
    assert project.install()[0] == 0
    assert project.index.fetched
    assert project.make("develop", "EXTRAS=").returncode == 0
    assert project.index.fetched == ["proofs-1.0-py3-none-any.whl"]
    assert project.versions() == PINNED | {"proofs": "1.0"}

    (project.folder / "pyproject.toml").write_text(
        (project.folder / "pyproject.toml").read_text() + 'description = "changed"\n'
    )
    assert project.install()[0] == 0
    assert project.index.fetched == []

    project.index.put("server", "1.1", wheel("server", "1.1", ["wires>=0.5"], extra="standard"))
    project.lock("answers==1.0", "server==1.1", "wires==1.0")
    code, said = project.install()
    assert code == 0, said
    assert project.versions() == PINNED | {"proofs": "1.0", "server": "1.1"}


def test_what_pip_has_against_the_packages_is_shown(project: Project) -> None:
    project.index.put("answers", "1.1", wheel("answers", "1.1", ["server>=3"]))
    project.lock("answers==1.1", "server==1.0")
    code, said = project.install()
    assert code == 0
    assert "Note: pip finds" in said
    assert "answers 1.1 has requirement server>=3, but you have server 1.0." in said


def test_where_there_is_no_terminal_a_line_a_package_says_how_much_of_how_much(project: Project) -> None:
    code, said = project.install()
    assert code == 0
    numbered = [line for line in said.splitlines() if line.startswith("[")]
    assert [line.split(",")[0] for line in numbered][:3] == [
        "[1 of 3] answers 1.0",
        "[2 of 3] server 1.0",
        "[3 of 3] wires 1.0",
    ]
    assert re.fullmatch(r"\[3 of 3\] wires 1\.0, 0\.0 of 1\.5 MB; 0 of about 310 MB in all", numbered[2])
    assert "\r" not in said
    assert re.search(r"Installed in .*\.venv in \d+ s\.", said)
    assert "Successfully installed" in (project.venv / "install.log").read_text()


def test_on_a_terminal_one_line_is_drawn_again(project: Project) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(project.command(), env=project.environment, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    while True:
        try:
            said += os.read(ours, 10_000)
        except OSError:  # the other end is closed
            break
    assert process.wait(60) == 0
    os.close(ours)
    lines = said.decode().replace("\r\n", "\n").splitlines()
    assert re.search(r"\r\[3 of 3\] wires 1\.0, 1\.5 of 1\.5 MB; 2 of about", said.decode())
    assert len([line for line in said.decode().split("\n") if "wires" in line]) == 1, lines


def test_the_real_environment_takes_no_more_than_is_promised() -> None:
    venv = Path(sys.prefix)
    stamp = venv / "installed.json"
    need(stamp.is_file(), "the tests run in an environment that the installer made")
    rooms = [ROOMS[lock] for lock in json.loads(stamp.read_text())["locks"]]
    promised = sum(room.unpacked for room in rooms)
    blocks = {found.st_ino: found.st_blocks for path in venv.rglob("*") if (found := path.lstat())}
    taken = sum(blocks.values()) * 512 / 1e6
    assert 0.8 * promised < taken <= promised


def test_the_real_locks_fetch_about_what_is_promised() -> None:
    log = Path(sys.prefix) / "install.log"
    need(log.is_file(), "the tests run in an environment that the installer made")
    locks = json.loads((Path(sys.prefix) / "installed.json").read_text())["locks"]
    sizes = re.findall(r"(?:Downloading|Using cached) (\S+\.whl) \(([\d.]+) (MB|kB)\)", log.read_text())
    fetched = sum(size for _, size in {(name, float(size) * {"MB": 1, "kB": 1e-3}[unit]) for name, size, unit in sizes})
    promised = sum(ROOMS[lock].fetched for lock in locks)
    assert 0.9 * promised < fetched <= promised
