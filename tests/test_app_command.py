"""`persona app` as it is installed from a wheel: from any folder, with our settings, until Ctrl-C."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import NewSession
from websockets.sync.client import connect

from tests.app_server import _free_port
from tests.cli_fixture import ROOT, environment, run


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel holds, as pip lays it into an environment."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, check=True, cwd=ROOT, capture_output=True, timeout=120)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder in which other things of our names lie."""
    folder = tmp_path / "elsewhere"
    (folder / "prompts").mkdir(parents=True)
    for name in ("streamlit.py", "persona.py", "app.py"):
        (folder / name).write_text("raise SystemExit('not this one')")
    return folder


@contextmanager
def serving(site: Path, folder: Path, home: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """`persona app` in that folder, once it answers; and its port."""
    port = _free_port()
    words = [sys.executable, "-P", "-m", "persona", "app", "--port", str(port), "--no-browser"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        words, cwd=folder, env=environment(home, PYTHONPATH=str(site)), stdout=pipe, stderr=pipe, text=True
    )
    try:
        deadline = time.monotonic() + 120
        while not answers(port):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield process, port
    finally:
        process.kill()
        process.communicate()


def answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/_stcore/health", timeout=2).status_code == 200
    except httpx.TransportError:
        return False


def new_session(port: int) -> NewSession:
    """What a browser is told first."""
    with connect(f"ws://127.0.0.1:{port}/_stcore/stream", subprotocols=["streamlit"]) as socket_:  # type: ignore[list-item]
        socket_.send(BackMsg(rerun_script={"query_string": ""}).SerializeToString())  # type: ignore[arg-type]
        while True:
            message = ForwardMsg.FromString(socket_.recv(timeout=30))  # type: ignore[arg-type]
            if message.WhichOneof("type") == "new_session":
                return message.new_session


def test_the_wheel_holds_all_that_the_app_needs(installed: Path) -> None:
    def files(folder: Path) -> list[str]:
        return sorted(path.name for path in folder.iterdir())

    package = installed / "persona"
    assert files(package / "_prompts") == files(ROOT / "prompts")
    assert files(package / "samples") == files(ROOT / "persona" / "samples")
    settings = Path(".streamlit") / "config.toml"
    assert (package / "_app" / settings).read_text() == (ROOT / settings).read_text()


def test_from_another_folder_the_app_is_served_with_our_settings(
    installed: Path, elsewhere: Path, tmp_path: Path
) -> None:
    with serving(installed, elsewhere, tmp_path / "home") as (process, port):
        assert "<title>" in httpx.get(f"http://127.0.0.1:{port}/").text
        with pytest.raises(OSError, match="refused"):  # another address of this machine
            socket.create_connection(("127.0.0.2", port), timeout=5)
        session = new_session(port)
        assert not session.config.gather_usage_stats
        assert session.main_script_path.startswith(str(installed))
        # the command has become the server: what ends the one ends the other
        assert Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")[2].endswith(b"serve.py")

        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Marie Curie is ready to be interviewed." in err
    assert "Sherlock Holmes is ready to be interviewed." in err
    assert "Traceback" not in out + err
    assert "Aborted" not in out + err


def test_from_a_checkout_its_own_files_are_used(elsewhere: Path, tmp_path: Path) -> None:
    with serving(ROOT, elsewhere, tmp_path / "home") as (_, port):
        session = new_session(port)
    assert not session.config.gather_usage_stats
    assert session.main_script_path == str(ROOT / "persona" / "ui" / "script.py")


def test_the_installed_program_reads_its_own_prompts(installed: Path, elsewhere: Path, tmp_path: Path) -> None:
    code = "from persona.settings import load_settings; print(load_settings().prompts)"
    env = environment(tmp_path / "home", PYTHONPATH=str(installed))
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        check=True,
        cwd=elsewhere,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == str(installed / "persona" / "_prompts")


def test_a_port_that_is_taken_is_said_before_anything_is_made_ready(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run(tmp_path / "home", "app", "--port", str(port), "--no-browser")
    assert done.returncode == 1
    assert done.stderr == f"Port {port} is taken by another program. Name a free one, as in: persona app --port 8600\n"
    assert not (tmp_path / "home" / "persona.db").exists()
