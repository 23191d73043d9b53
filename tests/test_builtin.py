"""The built-in model's child process: one per data folder, found, shared, replaced and ended."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest

from persona.adapters.builtin import BuiltinServer
from persona.adapters.builtin_child import Places, Record, read_record, write_record
from persona.adapters.builtin_model import SplitFile
from persona.errors import ModelMissing, ModelUnreachable
from tests.needs import need

_ROOT = Path(__file__).parents[1]
_WINDOW = 2048
_NOT_INSTALLED = SplitFile("none.gguf", (("no_such_package_part1", "data/part01.bin"),), 10, "")


@contextmanager
def _server(home: Path, *, window: int = _WINDOW, idle_minutes: float = 10) -> Iterator[BuiltinServer]:
    server = BuiltinServer(home, "", window, idle_minutes)
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def home(builtin_model: Path, tmp_path: Path) -> Path:
    """A data folder of the test's own, with the real model's file."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "models").symlink_to(builtin_model.parent)
    return folder


@pytest.fixture(scope="module")
def shared(builtin_home: Path) -> Iterator[BuiltinServer]:
    """One child for the tests that leave it as it was."""
    with _server(builtin_home, window=8192) as server:
        yield server


def _ask(address: str, text: str = "Name three colors.", **more: Any) -> dict[str, Any]:
    body = {"messages": [{"role": "user", "content": text}], "max_tokens": 24, "temperature": 0} | more
    reply = httpx.post(f"{address}/chat/completions", json=body, timeout=300)
    assert reply.status_code == 200, reply.text
    return reply.json()


@contextmanager
def _long_reply(address: str, tokens: int = 1500) -> Iterator[Iterator[str]]:
    """The lines of a streamed reply that would take minutes; its first piece has come."""
    body = {
        "messages": [{"role": "user", "content": "Count from one to a thousand, in words."}],
        "max_tokens": tokens,
        "stream": True,
        "ignore_eos": True,
    }
    with httpx.stream("POST", f"{address}/chat/completions", json=body, timeout=300) as reply:
        lines = (line for line in reply.iter_lines() if line)
        next(lines)
        yield lines


def _pid(home: Path) -> int:
    record = read_record(Places(home))
    assert record
    return record.pid


def _gone(pid: int, seconds: float) -> bool:
    """Whether the process ends in time; a zombie has ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(OSError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


# --- nothing has to run for these ---


def test_status_says_what_is_not_installed_and_touches_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    status = BuiltinServer(home, "", _WINDOW, 1, source=_NOT_INSTALLED).status()
    assert (status.kind, status.ready, status.details["running"]) == ("builtin", False, False)
    assert "not installed" in status.problem
    assert "make run" in status.remedy
    assert not home.exists()


def test_status_in_a_folder_that_takes_no_lock_says_that_nothing_runs(tmp_path: Path) -> None:
    (tmp_path / "builtin.alive.lock").mkdir()
    status = BuiltinServer(tmp_path, "", _WINDOW, 1, source=_NOT_INSTALLED).status()
    assert status.details["running"] is False


def test_without_the_runner_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)  # as Python itself marks what cannot be imported
    server = BuiltinServer(tmp_path, "", _WINDOW, 1)
    with pytest.raises(ModelMissing, match=r"make run.*Ollama"):
        server.address()
    assert "xllamacpp" in server.status().problem


def test_a_model_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    need(find_spec("xllamacpp"), "xllamacpp is not installed")
    server = BuiltinServer(tmp_path, str(tmp_path / "absent.gguf"), _WINDOW, 1)
    with pytest.raises(ModelMissing, match=r"absent\.gguf.*PERSONA_MODEL"):
        server.address()
    assert "absent.gguf" in server.status().problem
    assert not server.status().ready


def test_stop_without_a_child_does_nothing(tmp_path: Path) -> None:
    BuiltinServer(tmp_path / "home", "", _WINDOW, 1).stop()


def test_a_child_that_dies_at_the_start_is_quoted(tmp_path: Path) -> None:
    need(find_spec("xllamacpp"), "xllamacpp is not installed")
    (tmp_path / "damaged.gguf").write_bytes(b"this is no model" * 100)
    server = BuiltinServer(tmp_path / "home", str(tmp_path / "damaged.gguf"), _WINDOW, 1)
    for _ in range(2):  # and again, with a log of its own each time
        with pytest.raises(ModelUnreachable, match=r"invalid magic.*builtin\.log") as caught:
            server.address()
        assert "\n" not in str(caught.value)
    assert (tmp_path / "home" / "builtin.log").read_text().count("srv          init: initializing") == 1
    assert not server.status().details["running"]


# --- the real model ---


@pytest.mark.builtin
def test_it_answers_in_one_piece_and_streamed(shared: BuiltinServer) -> None:
    address = shared.address()
    whole = _ask(address)
    assert whole["choices"][0]["message"]["content"].strip()
    assert whole["timings"]["prompt_n"] + whole["timings"]["cache_n"] == whole["usage"]["prompt_tokens"]
    with _long_reply(address, tokens=8) as lines:
        events = [json.loads(line.removeprefix("data: ")) for line in lines if line != "data: [DONE]"]
    assert len(events) > 5
    assert events[-1]["timings"]["predicted_n"] == 8


@pytest.mark.builtin
def test_a_schema_binds_the_reply(shared: BuiltinServer) -> None:
    schema = {
        "type": "object",
        "properties": {"section": {"type": "integer", "enum": [0, 4, 7]}},
        "required": ["section"],
        "additionalProperties": False,
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "choice", "strict": True, "schema": schema}}
    said = _ask(shared.address(), "Tell me a story about a dragon.", response_format=wanted)
    assert json.loads(said["choices"][0]["message"]["content"])["section"] in (0, 4, 7)


@pytest.mark.builtin
def test_what_two_prompts_share_at_the_front_is_read_once(shared: BuiltinServer) -> None:
    rules = "You are a lighthouse keeper. " * 12
    for question in ("Who are you?", "Where do you live?"):
        messages = [{"role": "system", "content": rules}, {"role": "user", "content": question}]
        timings = _ask(shared.address(), messages=messages, max_tokens=4)["timings"]
    assert timings["cache_n"] > 60
    assert timings["prompt_n"] < 20


@pytest.mark.builtin
def test_closing_a_stream_frees_the_server(shared: BuiltinServer) -> None:
    with _long_reply(shared.address()):
        pass
    closed = time.monotonic()
    _ask(shared.address(), max_tokens=1)  # would wait minutes for the long one's end
    assert time.monotonic() - closed < 30


@pytest.mark.builtin
def test_giving_up_while_the_prompt_is_read_frees_the_server(shared: BuiltinServer) -> None:
    address = shared.address()
    numbers = " ".join(str(n * 7919 % 1000) for n in range(1800))
    body = {"messages": [{"role": "user", "content": numbers}], "max_tokens": 5, "stream": True}
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{address}/chat/completions", json=body, timeout=2)
    given_up = time.monotonic()
    _ask(address, max_tokens=1)
    assert time.monotonic() - given_up < 30


@pytest.mark.builtin
def test_steps_that_take_turns_keep_what_was_read_of_each(shared: BuiltinServer) -> None:
    timings = []
    for who in ("lighthouse keeper", "baker", "lighthouse keeper"):
        messages = [{"role": "system", "content": f"A {who} speaks. You are the {who}. " * 12}]
        messages.append({"role": "user", "content": "Who are you?"})
        timings.append(_ask(shared.address(), messages=messages, max_tokens=4)["timings"])
    assert timings[1]["cache_n"] < 20
    assert timings[2]["cache_n"] > 100


@pytest.mark.builtin
def test_status_tells_of_the_running_child(shared: BuiltinServer) -> None:
    address = shared.address()
    status = shared.status()
    assert (status.address, status.ready, status.problem) == (address, True, "")
    assert status.details["joined"]
    assert status.details["pid"] == _pid(Path(status.details["file"]).parents[1])
    assert status.details["memory_bytes"] > 500 << 20


@pytest.mark.builtin
def test_nobody_gets_in_without_the_secret_path(shared: BuiltinServer) -> None:
    bare = shared.address().split("/")[2]
    for path in ("/v1/models", "/health", "/slots", "/"):
        assert httpx.get(f"http://{bare}{path}", timeout=10).status_code == 404


_ADDRESS = """
import sys
from pathlib import Path
from persona.adapters.builtin import BuiltinServer
print(BuiltinServer(Path(sys.argv[1]), "", int(sys.argv[2]), 10).address())
"""


@pytest.mark.builtin
def test_two_processes_share_one_child_that_outlives_them(home: Path) -> None:
    command = [sys.executable, "-c", _ADDRESS, str(home), str(_WINDOW)]
    with _server(home) as server:
        starters = [
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(_ROOT)})
            for _ in range(2)
        ]
        told = {starter.communicate(timeout=300)[0].strip() for starter in starters}
        assert told == {server.address()}
        assert _ask(server.address(), max_tokens=2)["choices"]
    assert (home / "builtin.log").read_text().count("model loaded") == 1


@pytest.mark.builtin
def test_a_killed_child_is_replaced(home: Path) -> None:
    with _server(home) as server:
        first, pid = server.address(), _pid(home)
        os.kill(pid, signal.SIGKILL)
        assert _gone(pid, 5)
        second = server.address()
        assert second != first
        assert _pid(home) != pid
        assert _ask(second, max_tokens=2)["choices"]


class _Stranger(BaseHTTPRequestHandler):
    """Says yes to everything, as another program at a reused port might."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None: ...


@pytest.mark.builtin
def test_a_stale_record_misleads_nobody_and_harms_no_stranger(home: Path, builtin_model: Path) -> None:
    bystander = subprocess.Popen(["sleep", "600"])
    stranger = HTTPServer(("127.0.0.1", 0), _Stranger)
    threading.Thread(target=stranger.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{stranger.server_port}"
    write_record(Places(home), Record(bystander.pid, str(home / "models" / builtin_model.name), _WINDOW, address))
    try:
        with _server(home) as server:
            assert not server.status().details["running"]
            assert not server.address().startswith(address)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
        stranger.shutdown()
        stranger.server_close()


@pytest.mark.builtin
def test_other_settings_replace_the_child_but_not_in_mid_reply(home: Path) -> None:
    with _server(home, window=2048) as small, _server(home, window=4096) as large:
        first = small.address()
        with ThreadPoolExecutor(1) as pool:
            with _long_reply(first) as lines:
                waiting = pool.submit(large.address)
                for _ in range(20):
                    next(lines)
                assert not waiting.done()
            second = waiting.result(timeout=300)
        assert second != first
        assert httpx.get(f"{second}/models", timeout=10).json()["data"][0]["meta"]["n_ctx"] == 4096


@pytest.mark.builtin
def test_it_ends_when_idle_and_not_before_a_long_reply_is_over(home: Path) -> None:
    with _server(home, idle_minutes=2 / 60) as server:
        with _long_reply(server.address()) as lines:
            pid, started = _pid(home), time.monotonic()
            while time.monotonic() - started < 7:
                assert next(lines) != "data: [DONE]", "too quick to show anything"
        assert _gone(pid, 30)
        assert not server.status().details["running"]
        assert _ask(server.address(), max_tokens=2)["choices"]


@pytest.mark.builtin
def test_asking_for_the_address_keeps_it_from_ending(home: Path) -> None:
    with _server(home, idle_minutes=3 / 60) as server:
        first = server.address()
        for _ in range(16):
            time.sleep(0.5)
            assert server.address() == first


@pytest.mark.builtin
@pytest.mark.parametrize("busy", [False, True])
def test_a_polite_signal_ends_it_at_once(home: Path, busy: bool) -> None:
    with _server(home) as server:
        address, pid = server.address(), _pid(home)
        with _long_reply(address) if busy else nullcontext():
            os.kill(pid, signal.SIGTERM)
            assert _gone(pid, 3)
        assert not server.status().details["running"]


@pytest.mark.builtin
def test_one_that_hangs_is_replaced(home: Path) -> None:
    with _server(home) as server:
        first, pid = server.address(), _pid(home)
        os.kill(pid, signal.SIGSTOP)
        second = server.address()
        assert second != first
        assert _gone(pid, 5)
