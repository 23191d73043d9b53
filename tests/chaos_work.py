"""What `make chaos` kills, and what looks at the damage: both run in processes of their own over one data folder.

The worker loads pages and asks questions in threads, as the app does, and notes in a pipe what it has promised: a
question is kept once `submit` returned, an answer once it ended, a page once it is loaded. The check opens the folder
as the next start does and holds it to those promises.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path

from persona.adapters.database import Database
from persona.errors import PersonaError
from persona.ingest import Ingest
from persona.records import Page, Person, Turn
from persona.runner import Runner
from persona.talk import needs_no_model
from persona.wiring import Wiring
from tests.core import WordEmbedder, page, settings

for _late in (
    "alembic.autogenerate", "alembic.command", "chromadb.api.client", "chromadb.api.rust", "chromadb.db.impl.sqlite",
    "chromadb.telemetry.product.posthog", "h11", "httpcore", "llama_index.llms.openai_like", "openai.resources", "openai.resources.chat", "persona.adapters.openai_server",
    "sentencex", "sklearn.feature_extraction.text", "snowballstemmer",
):  # fmt: skip
    import_module(_late)  # a worker is forked with these, so that it is killed at work and not while it imports

PEOPLE = ("Mara Quill", "Tobin Ashlar", "Ines Varga")
PLACES = ("Saltwick", "Orme Head", "Cold Harbor", "Thorn Reach", "Larksea", "Dunmere", "Ebb Stack", "Fallow Point")
for _name in PEOPLE:
    needs_no_model("What is it?", _name, "en", living=True)  # compiles patterns, which would be most of a first turn

CHANGES = 40  # places whose passage changes from revision to revision, so that there is something to embed


@dataclass
class Promises:
    """What workers said was done."""

    asked: dict[str, str] = field(default_factory=dict)  # turn -> question
    ended: dict[str, str] = field(default_factory=dict)  # turn -> fingerprint of how it ended
    loaded: dict[str, int] = field(default_factory=dict)  # title -> the newest revision
    begun: int = 0  # loads


def question(place: str) -> str:
    return f"How many herrings did you buy in {place}?"


def answer(asked: str) -> str:
    """What the scripted model says: the page's own fact."""
    return next((f"I bought {herrings(place)} herrings in {place}." for place in PLACES if place in asked), "NOT FOUND")


def herrings(place: str) -> int:
    return 100 + 7 * PLACES.index(place)


def page_of(title: str, revision: int) -> Page:
    facts = {f"Markets / {place}": f"{title} bought {herrings(place)} herrings in {place}." for place in PLACES}
    weather = {
        f"Log / Day {day}": f"On day {day} of watch {revision % 5} {title} wrote of fog. The wind stood at {day * revision % 90}."
        for day in range(CHANGES)
    }
    lead = {"Introduction": f"{title} kept a lighthouse and a log."}
    return page(title, lead | facts | weather, revision=str(revision))


def fingerprint(turn: Turn) -> str:
    text = json.dumps([turn.state, turn.question.asked, asdict(turn.answer) if turn.answer else None, turn.partial])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def wire(home: Path, url: str) -> Wiring:
    return Wiring(settings(home, openai_url=url, model="tiny-chat"), embedder=WordEmbedder())


# --- the worker ---

Note = Callable[..., None]


def work(home: Path, url: str, seed: int, notes: Connection) -> None:
    """Load and ask until killed."""
    os.setpgrp()  # Ctrl-C is for whoever kills
    wiring, lock = wire(home, url), threading.Lock()

    def note(*words: object) -> None:
        with lock:
            notes.send(words)

    threading.excepthook = lambda failed: note("failed", f"{failed.exc_type.__name__}: {failed.exc_value}")
    note("opening")
    runner = Runner(wiring.interview, wiring.history)
    note("open")
    dice = random.Random(seed)
    busy = [threading.Thread(target=_ask, args=(wiring, runner, dice.random(), note)) for _ in range(2)]
    busy.append(threading.Thread(target=_load, args=(wiring.ingest, wiring.database, dice.random(), note)))
    for thread in busy:
        thread.start()
    for thread in busy:
        thread.join()


def _load(ingest: Ingest, database: Database, seed: float, note: Note) -> None:
    dice = random.Random(seed)
    while True:
        title = dice.choice(PEOPLE)
        known = next((int(person.revision) for person in database.people() if person.title == title), 0)
        note("loading", title)
        for _ in ingest.load(page_of(title, known + 1)):
            pass
        note("loaded", title, known + 1)
        time.sleep(dice.random() * 0.1)


def _ask(wiring: Wiring, runner: Runner, seed: float, note: Note) -> None:
    dice = random.Random(seed)
    while True:
        people = wiring.library.people()
        if not people:
            time.sleep(0.01)
            continue
        turn = _submit(wiring, runner, dice.choice(people), dice)
        note("asked", turn, _stored(wiring, turn).question.asked)
        while turn in runner.running():
            time.sleep(0.005)
        note("ended", turn, fingerprint(_stored(wiring, turn)))


def _submit(wiring: Wiring, runner: Runner, person: Person, dice: random.Random) -> str:
    """In a new thread, or after the last turn of one, or beside it."""
    threads = wiring.history.threads(person.id)
    if not threads or dice.random() < 0.3:
        return runner.submit(question(dice.choice(PLACES)), wiring.history.start(person.id).id)
    thread = dice.choice(threads).id
    done = [turn.id for turn in wiring.history.turns(thread) if turn.state == "done"]
    parent = dice.choice(done) if done and dice.random() < 0.7 else None
    return runner.submit(question(dice.choice(PLACES)), thread, parent)


def _stored(wiring: Wiring, turn: str) -> Turn:
    found = wiring.history.turn(turn)
    assert found, f"turn {turn} is not there though it was stored"
    return found


# --- the check ---


@dataclass
class Found:
    """What is wrong after a kill, in words; all three empty when all is well."""

    lost: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    by_hand: list[str] = field(default_factory=list)  # what a reader could not go on with
    interrupted: int = 0
    left_over: int = 0  # indexes that nobody points to; they go with a load an hour later


def check_in_child(home: Path, url: str, promises: Promises, notes: Connection) -> None:
    notes.send(check(home, url, promises))


def check(home: Path, url: str, promises: Promises) -> Found:
    """Open the folder as the next start does."""
    found = Found()
    try:
        wiring = wire(home, url)
        runner = Runner(wiring.interview, wiring.history)
        _check_file(home, found)
        _check_turns(wiring, promises, found)
        _check_people(wiring, promises, found)
        _go_on(wiring, runner, found)
        wiring.database.close()
    except PersonaError as error:
        found.by_hand.append(str(error))
    return found


def _check_file(home: Path, found: Found) -> None:
    with closing(sqlite3.connect(home / "persona.db")) as database:
        for pragma, fine in (("integrity_check", [("ok",)]), ("foreign_key_check", [])):
            if (said := database.execute(f"PRAGMA {pragma}").fetchall()) != fine:
                found.broken.append(f"{pragma}: {said[:3]}")


def _check_turns(wiring: Wiring, promises: Promises, found: Found) -> None:
    stored = {turn.id: turn for thread in wiring.history.threads() for turn in wiring.history.turns(thread.id)}
    for id_, asked in promises.asked.items():
        turn = stored.get(id_)
        if turn is None or turn.question.asked != asked:
            found.lost.append(f"the question of turn {id_}")
        elif id_ in promises.ended and fingerprint(turn) != promises.ended[id_]:
            found.lost.append(f"the answer of turn {id_}, which is {turn.state} now")
    found.by_hand += [f"turn {turn.id} runs for ever" for turn in stored.values() if turn.state == "running"]
    found.interrupted = sum(turn.state == "interrupted" for turn in stored.values())


def _check_people(wiring: Wiring, promises: Promises, found: Found) -> None:
    people = {person.title: person for person in wiring.library.people()}
    for title, revision in promises.loaded.items():
        if title not in people or int(people[title].revision) < revision:
            found.lost.append(f"{title} in revision {revision}")
    for person in people.values():
        build = wiring.library.build(person.build)
        if build is None or len(wiring.library.chunks(person.build)) != build.chunks:
            found.broken.append(f"the passages of {person.title}")
        elif not wiring.ingest.is_whole(person):
            found.broken.append(f"the vectors of {person.title}")
    found.left_over = len(wiring.store.builds()) - len(people)


def _go_on(wiring: Wiring, runner: Runner, found: Found) -> None:
    """Ask everybody, ask an interrupted turn again, load a page: nothing may need a hand."""
    for person in wiring.library.people():
        _ask_once(wiring, runner, wiring.history.start(person.id).id, question(PLACES[0]), None, found)
    turns = (turn for thread in wiring.history.threads()[:8] for turn in wiring.history.turns(thread.id))
    if again := next((turn for turn in turns if turn.state == "interrupted"), None):
        _ask_once(wiring, runner, again.thread, again.question.asked, again.parent, found)
    for _ in wiring.ingest.load(page_of("Oda Brandt", int(time.time()))):
        pass


def _ask_once(wiring: Wiring, runner: Runner, thread: str, asked: str, parent: str | None, found: Found) -> None:
    turn = runner.submit(asked, thread, parent)
    until = time.monotonic() + 60
    while turn in runner.running() and time.monotonic() < until:
        time.sleep(0.005)
    ended = wiring.history.turn(turn)
    if not (ended and ended.answer and ended.answer.text == answer(asked)):
        found.by_hand.append(
            f"“{asked}” came to {ended and (ended.state, ended.error, ended.answer and ended.answer.text)}"
        )
