"""The command line as real processes: killed, interrupted, unread, on a terminal, side by side, and a real wiki."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from persona.adapters.database import Database
from persona.records import Turn
from tests.cli_fixture import ILSE, PAID, PAID_ANSWER, SKY, Line, command, environment, line, run, start, wired
from tests.loopback import WireReply
from tests.openai_style import OpenAIStyleServer

__all__ = ["line"]
_HEAVY = {"chromadb", "llama_index", "onnxruntime", "sklearn", "sqlalchemy", "streamlit", "numpy", "httpx", "pydantic"}
_SENTENCE = (
    "In letter {n} Körvin wrote of glass and of salt, " + "of the tide, of the price of sand, " * 12 + "and of {n}. "
)


def page_of_letters(count: int) -> str:
    """The page with as many long sections more: two sentences each, so that one vector does for each."""
    return ILSE + "".join(f"\n## Letter {n}\n{_SENTENCE.format(n=n) * 2}\n" for n in range(count))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def loaded(line: Line) -> Line:
    """Ilse Körvin is loaded, in the folder `home`."""
    line.load()
    return line


def read_until(process: subprocess.Popen[str], words: str) -> str:
    """What a process says on stderr, up to the line that holds the words."""
    said = ""
    for text in process.stderr or ():
        said += text
        if words in text:
            return said
    pytest.fail(f"it never said {words!r}, but: {said}")


def turns(home: Path) -> list[Turn]:
    database = Database(f"sqlite:///{home / 'persona.db'}")
    try:
        return [turn for thread in database.threads() for turn in database.turns(thread.id)]
    finally:
        database.close()


def wait_for(condition: object, seconds: float = 100) -> None:
    until = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.05)


# --- starting ---


def test_help_imports_nothing_heavy(home: Path) -> None:
    code = (
        "import runpy, sys\n"
        "sys.argv = ['persona', '--help']\n"
        "try:\n    runpy.run_module('persona', run_name='__main__')\n"
        "except SystemExit as end:\n    assert not end.code\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment(home), timeout=60
    )
    assert "ask" in done.stdout
    assert {"typer", "persona"} <= set(done.stderr.split())
    assert not _HEAVY & set(done.stderr.split())
    assert not home.exists()


def test_without_a_command_the_help_is_shown(home: Path) -> None:
    done = run(home)
    assert done.returncode == 2
    assert "doctor" in done.stdout + done.stderr


@pytest.mark.parametrize("wrong", [{"PERSONA_LANGUAGE": "Klingon!"}, {"PERSONA_DATABASE": "nonsense"}])
def test_a_wrong_setting_is_a_sentence_and_no_traceback(home: Path, wrong: dict[str, str]) -> None:
    done = run(home, "people", "--json", **wrong)
    assert done.returncode == 1
    assert next(iter(wrong)) in json.loads(done.stdout)["error"]
    assert "Traceback" not in done.stderr


def test_an_argument_that_is_no_text_is_no_traceback(home: Path) -> None:
    process = subprocess.run(
        [*command("people"), b"\xff\xfe"], check=False, capture_output=True, env=environment(home), timeout=60
    )
    assert process.returncode == 2
    found = subprocess.run(
        [*command("ask"), b"\xff\xfe", b"\xff", b"--json"],
        check=False,
        capture_output=True,
        env=environment(home),
        timeout=60,
    )
    assert found.returncode == 1
    assert b"Traceback" not in found.stderr
    assert json.loads(found.stdout)["error"].startswith("Nobody is loaded yet.")


def test_verbose_tells_of_outside_calls_on_stderr_only(home: Path) -> None:
    done = run(home, "-v", "people", "--json")
    assert (done.returncode, json.loads(done.stdout)) == (0, [])
    assert "persona.adapters" in done.stderr


# --- no network ---

_NOTING = """
import os, sys

def note(event, details):
    far = event == "socket.getaddrinfo" and details[0] not in (None, "", "localhost", "127.0.0.1", "::1")
    if event == "socket.connect" and isinstance(details[1], tuple):
        far = not str(details[1][0]).startswith(("127.", "::1", "localhost"))
    if far:
        with open(os.environ["NOTES"], "a") as notes:
            print(event, *details[-5:], file=notes)

sys.addaudithook(note)
"""


def test_without_a_network_a_page_is_loaded_and_asked_and_nothing_tries_to_download(home: Path) -> None:
    alone = ["unshare", "--map-root-user", "--net"]  # not even loopback is up
    works = shutil.which("unshare") and subprocess.run([*alone, "true"], check=False).returncode == 0
    if not works:  # nothing that could be installed: a container may forbid it
        pytest.skip("no network namespace can be made here")
    folder = home.parent
    (folder / "ilse.md").write_text(ILSE, "utf-8")
    (folder / "noting").mkdir()
    (folder / "noting" / "sitecustomize.py").write_text(_NOTING, "utf-8")
    notes, user = folder / "notes", folder / "user"
    user.mkdir()
    caches = {name: str(user / name) for name in ("XDG_CACHE_HOME", "HF_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    env = environment(home, HOME=str(user), NOTES=str(notes), **caches)
    env["PYTHONPATH"] = f"{folder / 'noting'}{os.pathsep}{env['PYTHONPATH']}"
    for name in ("CI", "GITHUB_ACTIONS"):  # onnxruntime reports from anywhere but there
        env.pop(name, None)

    def ended(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*alone, *words], check=False, capture_output=True, text=True, env=env, cwd=folder, timeout=120
        )

    def told(*words: str) -> Any:
        done = ended(*command(*words, "--json"))
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    assert ended(sys.executable, "-c", "import socket; socket.create_connection(('192.0.2.1', 9))").returncode == 1
    assert "192.0.2.1" in notes.read_text("utf-8"), "what goes out is noted"
    notes.unlink()

    assert told("load", "ilse.md")["title"] == "Ilse Körvin"
    off_topic = told("ask", "Ilse Körvin", SKY)
    assert (off_topic["found"], off_topic["stage"], off_topic["sources"]) == (False, "refused", [])
    greeted = told("ask", "Ilse Körvin", "Hello!")
    assert (greeted["found"], greeted["stage"]) == (True, "greeting")
    assert not notes.exists(), notes.read_text("utf-8")
    assert list(user.iterdir()) == []


# --- a question off the page ---


def test_a_question_off_the_page_is_refused_without_an_answer_call(
    loaded: Line, openai_server: OpenAIStyleServer
) -> None:
    home, served = loaded.wiring.settings.home, {"PERSONA_MODEL": "", "PERSONA_OPENAI_URL": openai_server.url}
    openai_server.replies += [PAID_ANSWER]
    assert json.loads(run(home, "ask", "Ilse Körvin", PAID, "--json", **served).stdout)["answer"] == PAID_ANSWER
    (answered,) = openai_server.chats
    told = json.loads(run(home, "ask", "Ilse Körvin", SKY, "--json", **served).stdout)
    assert (told["found"], told["sources"]) == (False, [])
    assert openai_server.chats == [answered]


# --- readers that go away ---


@pytest.mark.parametrize("words", [["people", "--json"], ["people"]])
def test_output_that_nobody_reads_ends_quietly(loaded: Line, words: list[str]) -> None:
    process = start(loaded.wiring.settings.home, *words)
    assert process.stdout
    process.stdout.close()
    assert process.wait(60) == 141
    assert process.stderr
    assert process.stderr.read() == ""


def test_ctrl_c_in_a_load_is_quiet_and_loads_nobody(home: Path) -> None:
    home.parent.joinpath("long.md").write_text(page_of_letters(40), "utf-8")
    process = start(home, "load", "long.md")
    read_until(process, "embedding 0 of ")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert json.loads(run(home, "people", "--json").stdout) == []


def test_ctrl_c_stops_an_answer_of_a_chat_and_keeps_what_came(loaded: Line, openai_server: OpenAIStyleServer) -> None:
    home = loaded.wiring.settings.home
    go_on = threading.Event()
    openai_server.replies += [WireReply(PAID_ANSWER + " And then " * 20, go_on=go_on)]
    process = start(home, "chat", "Ilse Körvin", PERSONA_MODEL="", PERSONA_OPENAI_URL=openai_server.url)
    assert process.stdin
    process.stdin.write(f"{PAID}\n")
    process.stdin.flush()
    wait_for(lambda: openai_server.chats)
    time.sleep(0.3)  # its first piece is on the way
    process.send_signal(signal.SIGINT)
    wait_for(lambda: [turn.state for turn in turns(home)] == ["stopped"])
    go_on.set()
    out, said = process.communicate("Thank you!\n", timeout=60)
    assert process.returncode == 0
    assert "Stopped; what came so far is kept." in said
    assert "You are welcome." in out
    stopped, thanks = turns(home)
    assert (stopped.state, stopped.question.asked, stopped.answer) == ("stopped", PAID, None)
    assert (thanks.state, thanks.parent) == ("done", stopped.id)


# --- loads that are killed, and loads beside answers ---


def test_a_load_that_is_killed_leaves_the_old_index_and_the_next_one_succeeds(loaded: Line) -> None:
    home = loaded.wiring.settings.home
    before = loaded.wiring.library.people()
    loaded.write(page_of_letters(70))
    process = start(home, "load", "ilse.md")
    read_until(process, "embedding 0 of ")
    read_until(process, "embedding ")  # the second batch begins: the first is embedded
    process.kill()
    assert process.wait(30) == -signal.SIGKILL
    assert loaded.wiring.library.people() == before

    loaded.model.replies += [PAID_ANSWER]
    told = loaded.json("ask", "Ilse Körvin", PAID)
    assert told["answer"] == PAID_ANSWER
    assert {source["revision"] for source in told["sources"]} == {before[0].revision}

    done = run(home, "load", "ilse.md", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["person"] == before[0].id
    assert loaded.json("people")[0]["sections"] == 74
    loaded.model.replies += [PAID_ANSWER]
    assert loaded.json("ask", "Ilse Körvin", PAID)["sources"][0]["revision"] != before[0].revision


def test_a_load_and_answers_at_the_same_time_disturb_neither(loaded: Line) -> None:
    home = loaded.wiring.settings.home
    old = loaded.wiring.library.people()[0]
    loaded.write(page_of_letters(40))
    process = start(home, "load", "ilse.md")
    revisions = []
    while process.poll() is None or not revisions:
        loaded.model.replies += [PAID_ANSWER]
        told = loaded.json("ask", old.id, PAID)
        assert told["answer"] == PAID_ANSWER
        revisions.append(told["sources"][0]["revision"])
    assert process.returncode == 0, process.communicate()
    process.communicate()
    assert revisions[0] == old.revision
    loaded.model.replies += [PAID_ANSWER]
    new = loaded.json("ask", old.id, PAID)["sources"][0]["revision"]
    assert new == loaded.wiring.library.people()[0].revision != old.revision
    assert set(revisions) <= {old.revision, new}


# --- a real wiki ---


@pytest.fixture
def wiki(mediawiki: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Line:
    wiring, model = wired(tmp_path / "home", wiki_api=mediawiki)
    monkeypatch.setattr("persona.cli.session.make_wiring", lambda: wiring)
    return Line(wiring, model, tmp_path)


@pytest.mark.wiki
def test_a_page_of_the_wiki_is_loaded_and_a_redirect_says_where_it_led(wiki: Line) -> None:
    result = wiki.run("load", "Keeper of Gull Rock")
    assert result.exit_code == 0, result.output
    assert "“Keeper of Gull Rock” leads to Cornelius Vane." in result.stdout
    assert "4 sections" in result.stdout
    assert "  Notes and references (reference matter)" in result.stdout
    told = wiki.json("load", "Keeper of Gull Rock")
    assert (told["title"], told["asked_for"], told["embedded"]) == ("Cornelius Vane", "Keeper of Gull Rock", 0)
    assert wiki.json("load", "Cornelius Vane")["asked_for"] == "Cornelius Vane"


@pytest.mark.wiki
def test_of_a_page_of_the_wiki_the_lead_is_stored_and_the_references_are_not(wiki: Line) -> None:
    build = wiki.wiring.library.person(wiki.json("load", "Cornelius Vane")["person"]).build
    chunks = wiki.wiring.database.chunks(build)
    assert [chunk.path for chunk in chunks] == [
        ("Introduction",),
        ("Life", "Youth"),
        ("Life", "On Gull Rock"),
        ("Diary",),
    ]
    assert chunks[0].text.startswith("Cornelius Vane (2 May 1790 – 11 June 1861) was the keeper")
    stored = "\n".join(chunk.text for chunk in chunks)
    assert not [words for words in ("Harbor log", "volume 1", "parish register", "lighthouse today") if words in stored]
    assert wiki.wiring.store.builds() == [build]


@pytest.mark.wiki
def test_of_two_sections_of_one_name_a_source_opens_the_right_one(wiki: Line) -> None:
    person = wiki.json("load", "Unruly Headings")["person"]
    wiki.model.replies += ["The second echo came from the sea."]
    told = wiki.json("ask", person, "Which echo came from the sea?")
    opens = {source["text"]: source["url"].partition("#")[2] for source in told["sources"]}
    assert opens["The second echo came from the sea."] == "Echo_2"
    assert opens.get("The first echo came from the hill.", "Echo") == "Echo"


@pytest.mark.wiki
def test_a_page_that_lists_others_gives_a_choice_and_loads_nothing(wiki: Line) -> None:
    options = ["Tobias Halloway", "Mirela Tordesan"]
    assert wiki.json("load", "Quill", code=1) == {
        "choice": {"reason": "disambiguation", "asked_for": "Quill", "options": options}
    }
    result = wiki.run("load", "Quill")
    assert result.exit_code == 1
    assert result.stdout.split("\n")[:2] == [f"  {option}" for option in options]
    assert wiki.json("people") == []
    assert wiki.wiring.store.builds() == []


@pytest.mark.wiki
def test_a_page_that_is_missing_gives_suggestions_or_says_that_nothing_is_like_it(wiki: Line) -> None:
    told = wiki.json("load", "Cornelius Vain", code=1)["choice"]
    assert told["reason"] == "missing"
    assert "Cornelius Vane" in told["options"]
    result = wiki.run("load", "Xqzzkj Wvbbp")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "nothing is like it" in result.stderr


@pytest.mark.wiki
@pytest.mark.parametrize("title", ["", "de:Foo", "x" * 300, "http://example.org/"])
def test_what_can_be_no_title_is_one_sentence(wiki: Line, title: str) -> None:
    assert set(wiki.json("load", title, code=1)) == {"error"}


@pytest.mark.wiki
def test_the_doctor_reaches_the_wiki(wiki: Line) -> None:
    told = wiki.json("doctor")
    assert {check["name"]: check["state"] for check in told["checks"]}["wiki"] == "ok"


@pytest.mark.wiki
def test_on_a_terminal_the_reader_picks_from_the_choice(mediawiki: str, home: Path) -> None:
    shown = on_terminal(home, ["load", "Quill"], ["7", "2"], PERSONA_WIKI_API=mediawiki)
    assert "   2. Mirela Tordesan" in shown
    assert "Type a number from 1 to 2." in shown
    assert "Mirela Tordesan (en), revision" in shown
    assert json.loads(run(home, "people", "--json").stdout)[0]["title"] == "Mirela Tordesan"


@pytest.mark.wiki
def test_on_a_terminal_the_reader_may_leave_the_choice(mediawiki: str, home: Path) -> None:
    on_terminal(home, ["load", "Quill"], [""], code=1, PERSONA_WIKI_API=mediawiki)
    assert json.loads(run(home, "people", "--json").stdout) == []


# --- a terminal ---


def test_on_a_terminal_a_deletion_is_asked_for(loaded: Line) -> None:
    home = loaded.wiring.settings.home
    on_terminal(home, ["delete", "Ilse Körvin"], ["n"], code=1)
    assert len(loaded.json("people")) == 1
    on_terminal(home, ["delete", "Ilse Körvin"], ["y"])
    assert loaded.json("people") == []


def test_a_chat_on_a_terminal_ends_with_ctrl_d(loaded: Line) -> None:
    shown = on_terminal(loaded.wiring.settings.home, ["chat", "Ilse Körvin"], [SKY, "Goodbye", "\x04"])
    assert "Goodbye, and thank you" in shown
    assert "No answer: " in shown
    assert "Go on with --thread" in shown


def on_terminal(home: Path, words: list[str], typed: list[str], code: int = 0, **more: str) -> str:
    """Run a command on a terminal, type a line whenever it waits for one, and give what it showed."""
    leader, follower = pty.openpty()
    env = environment(home, TERM="xterm", **more)
    process = subprocess.Popen(
        command(*words),
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=env,
        cwd=home.parent,
        start_new_session=True,
    )
    os.close(follower)
    shown = b""
    with contextlib.suppress(OSError):  # how Linux tells that the other end is closed
        while piece := os.read(leader, 4096):
            shown += piece
            if typed and shown.endswith((b"> ", b"leave it: ", b"[y/N]: ")):
                said = typed.pop(0)
                os.write(leader, said.encode() if said == "\x04" else f"{said}\n".encode())
    os.close(leader)
    assert process.wait(60) == code, shown.decode()
    assert not typed
    return shown.decode()
