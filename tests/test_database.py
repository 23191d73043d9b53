"""The contract of Library and History, and what only the database promises.

The contract runs over the fixture `store`: SQLite in a file and in memory, and a real PostgreSQL server.
"""

import logging
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from persona.adapters import connections, migrations, tables, workers
from persona.adapters.database import Database
from persona.errors import StoreError
from persona.ports import History, Library
from persona.records import (
    Answer,
    Attempt,
    Build,
    Chunk,
    Evidence,
    LeftOut,
    Message,
    ModelCall,
    Page,
    Person,
    Picture,
    Question,
    Rating,
    Section,
    Source,
    Thread,
    Trace,
    Turn,
    new_id,
    now,
)

FIRST_ROWS = (  # as the first version wrote them
    "INSERT INTO people VALUES ('p', 'wikipedia', '', 'en', 'Ada Marsh', NULL)",
    "INSERT INTO threads VALUES ('h', 'p', 'Who?', '2025-01-01 10:00:00', '2025-01-01 10:00:00')",
    """INSERT INTO turns VALUES ('t1', 'h', 1, NULL, 'r1', 'done', 'host:1:2', '2025-01-01 10:00:00', '', '', '',
    '{"asked": "Who fells trees?", "standalone": "Who?", "turns": []}',
    '{"text": "A na\u00efve man.", "found": true, "stage": "ranked"}', '{}')""",
    """INSERT INTO turns VALUES ('t2', 'h', 2, 't1', 'r2', 'stopped', 'host:1:2', '2025-01-01 10:00:00', 'A copper', '',
    '', '{"asked": "And then?", "standalone": "", "turns": []}', NULL, '{}')""",
)

# --- makers ---


def a_page(title: str = "Ada Marsh", **fields: object) -> Page:
    known = {"language": "en", "source": "wikipedia", "api": "", "url": f"http://wiki.test/{title}", "revision": "7"}
    sections = (Section(("Introduction",), "Ada Marsh kept the lighthouse."),)
    return Page(**({"title": title, "fetched_at": now(), "sections": sections} | known | fields))  # type: ignore[arg-type]


def a_build(page: Page, count: int = 2) -> Build:
    return Build(
        id=new_id(),
        person="ignored",
        title=page.title,
        url=page.url,
        revision=page.revision,
        fetched_at=page.fetched_at,
        embedder="minilm",
        dimension=384,
        chunker="sections-1",
        sections=(("Introduction",), ("Life", "The storm of '71")),
        chunks=count,
        left_out=(LeftOut(("See also",), "reference matter"), LeftOut(("Life", "Notes"), "no text")),
        living=True,
        description="keeper of a lighthouse",
        created_at=now(),
        origin="/somewhere/ada.md",
        picture=Picture("http://wiki.test/ada.jpg", "http://wiki.test/File:Ada.jpg"),
        revised_at=now(),
    )


def some_chunks(count: int = 2) -> list[Chunk]:
    return [
        Chunk(new_id(), n, ("Life", f"Part {n}"), f"Text {n}, “quoted” 🌊", f"sha{n}", f"Part_{n}")
        for n in range(count)
    ]


def load(library: Library, page: Page | None = None, pieces: list[Chunk] | None = None) -> tuple[Person, Build]:
    page = page or a_page()
    pieces = some_chunks() if pieces is None else pieces
    build = a_build(page, len(pieces))
    library.begin(build.id)
    return library.publish(page, build, pieces), build


def a_turn(thread: Thread, asked: str = "Who are you?", parent: Turn | None = None, **fields: object) -> Turn:
    known = {"id": new_id(), "thread": thread.id, "parent": parent and parent.id, "request_id": new_id()}
    known |= {"question": Question(asked, ""), "state": "running", "created_at": now()}
    return Turn(**(known | fields))  # type: ignore[arg-type]


def ended(turn: Turn, text: str = "I kept the light.") -> Turn:
    """The turn as an answered one, with something in every field of every record."""
    chunk = Chunk("c1", 3, ("Life", "Work"), "She kept the light.", "sha")
    source = Source(1, "Life -> Work", "http://wiki.test/Ada#Work", "7", chunk.text, 0.75, ((0, 8), (9, 19)))
    messages = (Message("system", "You are Ada."), Message("user", "Who\0 are you? \u2028 é"))
    call = ModelCall("answer", "m", "f00", messages, text, 120, 9, 100, 1.25, 2, "slow")
    trace = Trace(
        calls=(call,),
        attempts=(Attempt("category", (Evidence("category", chunk, 0.5),), "answered", "by number"),),
        dropped=("chunk 4",),
        gate={"cosine": 0.61, "lost": float("inf")},
        timings={"answer": 1.25},
        settings={"context_window": "8192"},
    )
    answer = Answer(text, True, "category", "", (source,), ("1871 is in no source",))
    question = Question(turn.question.asked, "Who is Ada Marsh?", ("t0",))
    return replace(turn, state="done", question=question, answer=answer, trace=trace)


# --- the store ---


class Store(Library, History):
    """Both ports at once, as the contract needs them."""


@pytest.fixture(params=["file", "memory", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres").database()
    else:
        url = "sqlite://" if request.param == "memory" else f"sqlite:///{tmp_path / 'deep' / 'er' / 'persona.db'}"
    opened = Database(url)
    yield opened
    opened.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "persona.db"


@pytest.fixture
def opened(file: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{file}")
    yield database
    database.close()


# --- contract: people and builds ---


def test_a_published_person_is_found_by_id_by_page_and_in_the_list(store: Store) -> None:
    person, build = load(store)
    assert (person.title, person.language, person.source, person.revision) == ("Ada Marsh", "en", "wikipedia", "7")
    assert person.build == build.id
    assert store.person(person.id) == person
    assert store.find("wikipedia", "", "en", "Ada Marsh") == person
    assert store.people() == [person]


def test_who_was_never_loaded_is_none(store: Store) -> None:
    load(store)
    assert store.person(new_id()) is None
    assert store.find("wikipedia", "", "de", "Ada Marsh") is None
    assert store.build(new_id()) is None
    assert store.chunks(new_id()) == []


def test_a_build_comes_back_field_by_field(store: Store) -> None:
    person, build = load(store)
    assert store.build(build.id) == replace(build, person=person.id)


def test_times_come_back_in_utc_whatever_zone_they_had(store: Store) -> None:
    east = datetime(2026, 3, 1, 1, 30, tzinfo=timezone(timedelta(hours=5)))
    _, build = load(store, a_page(fetched_at=east))
    kept = store.build(build.id)
    assert kept is not None
    assert kept.fetched_at == east
    assert kept.fetched_at.tzinfo is UTC


def test_chunks_come_back_by_position(store: Store) -> None:
    pieces = some_chunks(5)
    _, build = load(store, pieces=pieces[::-1])
    assert store.chunks(build.id) == pieces


def test_a_page_without_chunks_can_be_published(store: Store) -> None:
    _, build = load(store, pieces=[])
    assert store.chunks(build.id) == []


def test_6000_chunks_go_into_one_build(store: Store) -> None:
    pieces = some_chunks(6000)
    _, build = load(store, pieces=pieces)
    assert store.chunks(build.id) == pieces


@pytest.mark.parametrize("title", ["Björk", "U2", "林淑如", "O'Brien; DROP TABLE people", "x" * 600, "%_\\ 🌊"])
def test_any_title_is_kept_and_found(store: Store, title: str) -> None:
    person, _ = load(store, a_page(title))
    assert store.find("wikipedia", "", "en", title) == person
    assert person.title == title


def test_titles_that_differ_only_in_case_or_accents_are_two_people(store: Store) -> None:
    ids = {load(store, a_page(title))[0].id for title in ("Björk", "björk", "Bjork")}
    assert len(ids) == 3


def test_people_are_listed_by_title_whatever_its_case(store: Store) -> None:
    for title in ("zoë", "Berta", "anna"):
        load(store, a_page(title))
    assert [person.title for person in store.people()] == ["anna", "Berta", "zoë"]


def test_the_same_title_elsewhere_is_someone_else(store: Store) -> None:
    one, _ = load(store)
    other, _ = load(store, a_page(language="de"))
    third, _ = load(store, a_page(api="http://127.0.0.1/api.php"))
    assert len({one.id, other.id, third.id}) == 3


def test_loading_again_keeps_the_person_and_moves_the_pointer(store: Store) -> None:
    first, old = load(store)
    second, new = load(store, a_page(revision="8"))
    assert second == replace(first, build=new.id, revision="8")
    assert store.build(old.id) is not None  # a reader may be in the middle of it
    assert store.people() == [second]


def test_the_same_page_published_from_many_threads_at_once_is_one_person(store: Store) -> None:
    together = threading.Barrier(5)

    def publish(_n: int) -> str:
        together.wait(20)
        return load(store)[0].id

    with ThreadPoolExecutor(5) as pool:
        ids = set(pool.map(publish, range(5)))
    assert {person.id for person in store.people()} == ids
    assert len(ids) == 1
    assert len(store.outdated(timedelta(0))) == 4


def test_a_build_that_was_only_begun_shows_nowhere(store: Store) -> None:
    build = new_id()
    store.begin(build)
    store.begin(build)
    assert store.build(build) is None
    assert store.people() == []


def test_a_failure_in_mid_publication_leaves_the_old_pointer(store: Store) -> None:
    person, old = load(store)
    page, pieces = a_page(revision="8"), some_chunks(3)
    broken = [*pieces, replace(pieces[0], position=9)]  # an id twice, noticed at the last row
    new = a_build(page)
    store.begin(new.id)
    with pytest.raises(StoreError):
        store.publish(page, new, broken)
    assert store.people() == [person]
    assert store.build(new.id) is None
    assert store.chunks(new.id) == []
    assert len(store.chunks(old.id)) == 2


def test_a_published_build_is_never_published_again(store: Store) -> None:
    _, build = load(store)
    with pytest.raises(StoreError):
        store.publish(a_page(), replace(build, title="Other"), some_chunks())
    assert store.build(build.id).title == "Ada Marsh"  # type: ignore[union-attr]


def test_a_page_can_be_published_without_having_been_begun(store: Store) -> None:
    page = a_page()
    person = store.publish(page, a_build(page), some_chunks())
    assert store.people() == [person]


def test_who_is_deleted_can_no_longer_be_found(store: Store) -> None:
    person, build = load(store)
    other, _ = load(store, a_page("Bo Reed"))
    store.delete(person.id)
    assert store.people() == [other]
    assert store.person(person.id) is None
    assert store.find("wikipedia", "", "en", "Ada Marsh") is None
    assert store.build(build.id) is None
    assert store.chunks(build.id) == []


def test_who_was_deleted_is_still_known_by_name(store: Store) -> None:
    person, _ = load(store)
    assert store.known(person.id) == person
    store.delete(person.id)
    assert store.known(person.id) == replace(person, revision="", build="")
    assert store.known(new_id()) is None


def test_deleting_nobody_changes_nothing(store: Store) -> None:
    person, _ = load(store)
    store.delete(new_id())
    assert store.people() == [person]


def test_who_is_loaded_again_after_deletion_has_the_same_id_and_threads(store: Store) -> None:
    person, _ = load(store)
    thread = store.start(person.id)
    store.delete(person.id)
    again, _ = load(store)
    assert again.id == person.id
    assert store.threads(again.id) == [thread]


def test_the_vectors_of_who_was_deleted_are_still_named_as_outdated(store: Store) -> None:
    person, build = load(store)
    store.delete(person.id)
    assert store.outdated(timedelta(0)) == [build.id]
    store.forget(build.id)
    assert store.outdated(timedelta(0)) == []


def test_outdated_builds_are_those_begun_before_which_nobody_points_to(store: Store) -> None:
    _, old = load(store)
    _, current = load(store)
    killed = new_id()
    store.begin(killed)
    assert store.outdated(timedelta(hours=1)) == []
    assert store.outdated(timedelta(0)) == [old.id, killed]
    assert current.id not in store.outdated(timedelta(0))


def test_a_forgotten_build_is_gone_with_its_chunks(store: Store) -> None:
    _, old = load(store)
    load(store)
    store.forget(old.id)
    assert store.build(old.id) is None
    assert store.chunks(old.id) == []
    assert store.outdated(timedelta(0)) == []
    store.forget(old.id)


def test_a_build_that_somebody_points_to_is_not_forgotten(store: Store) -> None:
    person, build = load(store)
    store.forget(build.id)
    assert store.person(person.id) == person
    assert len(store.chunks(build.id)) == 2


# --- contract: threads and turns ---


def a_thread(store: Store) -> Thread:
    return store.start(load(store)[0].id)


def test_a_new_thread_is_empty_and_found(store: Store) -> None:
    thread = a_thread(store)
    assert thread.title == ""
    assert store.thread(thread.id) == thread
    assert store.turns(thread.id) == []
    assert store.thread(new_id()) is None


def test_a_thread_takes_the_id_it_is_given_once(store: Store) -> None:
    person, _ = load(store)
    wanted = new_id()
    thread = store.start(person.id, wanted)
    assert thread.id == wanted
    assert store.start(person.id, wanted) == thread
    assert store.threads() == [thread]


def test_a_thread_of_one_person_is_not_given_to_another(store: Store) -> None:
    thread = a_thread(store)
    other, _ = load(store, a_page("Bo Reed"))
    with pytest.raises(StoreError, match="start a new one"):
        store.start(other.id, thread.id)


def test_a_thread_with_nobody_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="no such person"):
        store.start(new_id())


def test_the_first_question_becomes_the_title_and_stays_it(store: Store) -> None:
    thread = a_thread(store)
    first = store.add(a_turn(thread, "  Where were\nyou born? "))
    store.add(a_turn(thread, "And when?", first))
    assert store.thread(thread.id).title == "Where were you born?"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ("word " * 40, ("word " * 15).strip() + "…"),
        ("燈" * 200, "燈" * 79 + "…"),
        ("x" * 80, "x" * 80),
    ],
)
def test_a_long_question_is_shortened_to_a_title(store: Store, asked: str, title: str) -> None:
    thread = a_thread(store)
    store.add(a_turn(thread, asked))
    assert store.thread(thread.id).title == title  # type: ignore[union-attr]


def test_threads_come_latest_first_and_move_with_each_turn(store: Store) -> None:
    person, _ = load(store)
    other, _ = load(store, a_page("Bo Reed"))
    old, new, elsewhere = store.start(person.id), store.start(person.id), store.start(other.id)
    assert [thread.id for thread in store.threads()] == [elsewhere.id, new.id, old.id]
    store.add(a_turn(old))
    assert [thread.id for thread in store.threads(person.id)] == [old.id, new.id]
    moved = store.thread(old.id)
    assert moved is not None
    assert moved.updated_at > old.updated_at
    assert moved.created_at == old.created_at


def test_a_turn_comes_back_field_by_field_at_every_stage(store: Store) -> None:
    turn = a_turn(a_thread(store))
    assert store.add(turn) == turn
    assert store.turn(turn.id) == turn
    store.progress(turn.id, "I kept", "answering")
    assert store.turn(turn.id) == replace(turn, partial="I kept", step="answering")
    done = ended(turn)
    assert store.finish(done) == done
    assert store.turn(turn.id) == done
    assert store.turn(new_id()) is None


def test_the_first_end_stands(store: Store) -> None:
    turn = a_turn(a_thread(store))
    store.add(turn)
    stopped = replace(turn, state="stopped", partial="I ke")
    assert store.finish(stopped) == stopped
    assert store.finish(ended(turn)) == stopped
    store.progress(turn.id, "late", "late")
    assert store.turn(turn.id) == stopped


def test_a_turn_that_was_never_stored_cannot_end(store: Store) -> None:
    with pytest.raises(StoreError, match="never stored"):
        store.finish(ended(a_turn(a_thread(store))))


def test_the_same_request_twice_is_one_turn(store: Store) -> None:
    thread = a_thread(store)
    turn = store.add(a_turn(thread))
    moved = store.thread(thread.id)
    again = replace(turn, id=new_id(), question=Question("Something else?", ""))
    assert store.add(again) == turn
    assert store.turns(thread.id) == [turn]
    assert store.thread(thread.id) == moved


def test_the_same_request_from_many_threads_at_once_is_one_turn(store: Store) -> None:
    thread = a_thread(store)
    together = threading.Barrier(6)

    def ask(_n: int) -> Turn:
        together.wait(20)
        return store.add(a_turn(thread, request_id="the same"))

    with ThreadPoolExecutor(6) as pool:
        got = list(pool.map(ask, range(6)))
    assert len({turn.id for turn in got}) == 1
    assert len(store.turns(thread.id)) == 1


def test_turns_added_from_many_threads_are_all_there_in_the_order_stored(store: Store) -> None:
    thread = a_thread(store)
    root = store.add(a_turn(thread))
    with ThreadPoolExecutor(8) as pool:
        added = list(pool.map(lambda n: store.add(a_turn(thread, f"Question {n}?", root)), range(40)))
    kept = store.turns(thread.id)
    assert kept[0] == root
    assert {turn.id for turn in kept[1:]} == {turn.id for turn in added}


def test_turns_come_oldest_first_though_the_clock_went_back(store: Store) -> None:
    thread = a_thread(store)
    first = store.add(a_turn(thread))
    second = store.add(a_turn(thread, "And?", first, created_at=first.created_at - timedelta(hours=1)))
    third = store.add(a_turn(thread, "So?", second, created_at=first.created_at))
    assert [turn.id for turn in store.turns(thread.id)] == [first.id, second.id, third.id]


def test_a_path_holds_its_own_branch_and_no_other(store: Store) -> None:
    thread = a_thread(store)
    root = store.add(a_turn(thread, "Root?"))
    left = store.add(a_turn(thread, "Left?", root))
    right = store.add(a_turn(thread, "Right?", root))
    leaf = store.add(a_turn(thread, "Leaf?", left))
    store.add(a_turn(thread, "Other root?"))
    assert store.path(leaf.id) == [root, left, leaf]
    assert store.path(right.id) == [root, right]
    assert store.path(root.id) == [root]
    assert store.path(new_id()) == []
    assert len(store.turns(thread.id)) == 5


def test_a_path_of_three_hundred_turns_is_in_order(store: Store) -> None:
    thread = a_thread(store)
    last = None
    for n in range(300):
        last = store.add(a_turn(thread, f"{n}?", last))
    assert last is not None
    assert [turn.question.asked for turn in store.path(last.id)] == [f"{n}?" for n in range(300)]


def test_two_threads_never_see_each_others_turns(store: Store) -> None:
    person, _ = load(store)
    one, two = store.start(person.id), store.start(person.id)
    first, second = store.add(a_turn(one)), store.add(a_turn(two))
    assert store.turns(one.id) == [first]
    assert store.turns(two.id) == [second]
    with pytest.raises(StoreError, match="not in its thread"):
        store.add(a_turn(one, parent=second))


def test_a_turn_needs_its_thread_and_its_parent(store: Store) -> None:
    thread = a_thread(store)
    with pytest.raises(StoreError, match="no such thread"):
        store.add(a_turn(replace(thread, id=new_id())))
    with pytest.raises(StoreError, match="not in its thread"):
        store.add(a_turn(thread, parent=a_turn(thread)))
    assert store.turns(thread.id) == []


def test_a_thread_shows_its_newest_turn_until_another_is_shown(store: Store) -> None:
    thread = a_thread(store)
    assert store.thread(thread.id).shown is None  # type: ignore[union-attr]
    first = store.add(a_turn(thread))
    second = store.add(a_turn(thread, "And then?", first))
    assert store.thread(thread.id).shown == second.id  # type: ignore[union-attr]
    store.show(thread.id, first.id)
    assert [one.shown for one in store.threads()] == [first.id]


def test_a_thread_shows_no_turn_of_another(store: Store) -> None:
    thread, other = a_thread(store), a_thread(store)
    turn = store.add(a_turn(other))
    with pytest.raises(StoreError, match="not in this thread"):
        store.show(thread.id, turn.id)


def test_a_renamed_thread_keeps_its_name(store: Store) -> None:
    thread = a_thread(store)
    store.rename(thread.id, "  The storm,\n and after ")
    store.add(a_turn(thread, "Who are you?"))
    store.rename(thread.id, " ")
    assert store.thread(thread.id).title == "The storm, and after"  # type: ignore[union-attr]


def test_a_removed_thread_is_found_nowhere_until_it_is_restored(store: Store) -> None:
    thread, other = a_thread(store), a_thread(store)
    turn = store.add(a_turn(thread, "Who mends nets?"))
    store.remove(thread.id)
    assert store.thread(thread.id) is None
    assert store.threads() == [other]
    assert store.search("nets") == []
    with pytest.raises(StoreError, match="no such thread"):
        store.add(a_turn(thread, "And then?", turn))
    store.restore(thread.id)
    assert store.search("nets") == [store.thread(thread.id)]
    assert store.turns(thread.id) == [turn]


def test_a_thread_removed_long_ago_is_deleted_for_good_and_no_other(store: Store) -> None:
    thread, recent, kept = a_thread(store), a_thread(store), a_thread(store)
    first = store.add(a_turn(thread))
    second = store.add(a_turn(thread, "And then?", first))
    store.rate(Rating(second.id, False, "wrong", now()))
    store.add(a_turn(kept))
    store.remove(thread.id)
    assert store.purge(timedelta(0)) == 1
    store.remove(recent.id)
    assert store.purge(timedelta(hours=1)) == 0
    store.restore(thread.id)
    store.restore(recent.id)
    assert store.turns(thread.id) == []
    assert {one.id for one in store.threads()} == {recent.id, kept.id}


def test_a_search_finds_all_words_in_questions_answers_and_titles(store: Store) -> None:
    thread, other = a_thread(store), a_thread(store)
    store.finish(ended(store.add(a_turn(thread, "Where is Café Müller?")), "On the 100% quiet_quay."))
    store.add(a_turn(other, "Who are you?"))
    store.rename(other.id, "Ölmalerei")

    def found(words: str) -> list[str]:
        return [one.id for one in store.search(words)]

    assert found("cafe QUAY") == [thread.id]
    assert found("quay olmalerei") == []
    assert found("OLMAL") == [other.id]
    assert found("100%") == found("quiet_") == [thread.id]
    assert found("1%0") == found("quiet.quay") == []
    assert set(found(" ")) == {thread.id, other.id}
    assert store.search("cafe", person=new_id()) == []


def test_a_rating_replaces_the_one_before_and_can_be_taken_back(store: Store) -> None:
    thread = a_thread(store)
    first = store.add(a_turn(thread))
    second = store.add(a_turn(thread, "And then?", first))
    ratings = [Rating(second.id, False, "too short", now()), Rating(first.id, True, "", now())]
    for rating in (Rating(first.id, False, "no", now()), *ratings):
        store.rate(rating)
    assert store.ratings(thread.id) == ratings[::-1]
    store.unrate(first.id)
    assert store.ratings(thread.id) == ratings[:1]
    with pytest.raises(StoreError, match="no such turn"):
        store.rate(Rating(new_id(), True, "", now()))


def test_turns_keep_their_sources_after_the_person_is_deleted(store: Store) -> None:
    person, build = load(store)
    thread = store.start(person.id)
    turn = store.add(a_turn(thread))
    done = store.finish(ended(turn))
    store.delete(person.id)
    store.forget(build.id)
    assert store.turns(thread.id) == [done]
    assert [kept.id for kept in store.threads(person.id)] == [thread.id]
    assert done.answer is not None
    assert done.answer.sources[0].text == "She kept the light."


@pytest.mark.parametrize("asked", ["what\0?", "half a pair \ud83d", "line\r\nline", "'; --", "🌊" * 5000])
def test_any_question_can_be_stored(store: Store, asked: str) -> None:
    thread = a_thread(store)
    turn = store.add(a_turn(thread, asked))
    store.progress(turn.id, asked, asked)
    kept = store.finish(ended(turn, asked))
    assert kept.state == "done"
    if asked.isprintable():
        assert kept.question.asked == asked


def test_a_turn_that_this_process_is_at_work_on_is_not_abandoned(store: Store) -> None:
    turn = store.add(a_turn(a_thread(store)))
    assert store.abandon() == 0
    assert store.turn(turn.id) == turn


def test_readers_and_writers_in_many_threads_do_not_disturb_each_other(store: Store) -> None:
    person, _ = load(store)

    def converse(n: int) -> int:
        thread = store.start(person.id)
        last = None
        for m in range(5):
            last = store.add(a_turn(thread, f"{n}.{m}?", last))
            store.progress(last.id, "I", "answering")
            store.threads(person.id)
            store.finish(ended(last))
        assert last is not None
        return len(store.path(last.id))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(converse, range(8))) == [5] * 8


# --- what only the database promises ---


def test_ids_are_128_random_bits(opened: Database, file: Path) -> None:
    person, _ = load(opened)
    thread = opened.start(person.id)
    for made in (person.id, thread.id):
        assert len(made) == 32
        assert int(made, 16).bit_length() > 64
    assert len({opened.start(person.id).id for _ in range(20)}) == 20


def test_a_second_start_finds_its_data(opened: Database, file: Path) -> None:
    person, build = load(opened)
    thread = opened.start(person.id)
    turn = opened.finish(ended(opened.add(a_turn(thread))))
    opened.close()
    again = Database(f"sqlite:///{file}")
    assert again.people() == [person]
    assert len(again.chunks(build.id)) == 2
    assert again.turns(thread.id) == [turn]
    again.close()


def test_the_file_is_kept_as_wal_with_foreign_keys_on(opened: Database, file: Path) -> None:
    with closing(sqlite3.connect(file)) as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert other.execute("SELECT version_num FROM alembic_version").fetchone() == (migrations.HEAD,)
    with opened._reading() as connection:
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() >= 15_000


def child(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def outcome(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert err == ""
    return out


OPEN = "import sys; from persona.adapters.database import Database; database = Database('sqlite:///' + sys.argv[1]);"


def test_two_processes_that_open_a_fresh_database_at_once_both_succeed(file: Path) -> None:
    wait = "import sys; from persona.adapters.database import Database; import alembic.command; print(flush=True);"
    code = wait + "sys.stdin.readline(); database = Database('sqlite:///' + sys.argv[1]); print(database.people())"
    processes = [child(code, file) for _ in range(3)]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    assert [outcome(process) for process in processes] == ["[]\n"] * 3


def test_many_threads_that_open_a_fresh_database_at_once_all_succeed(file: Path) -> None:
    together = threading.Barrier(5)

    def begin(_n: int) -> Database:
        together.wait(20)
        return Database(f"sqlite:///{file}")

    with ThreadPoolExecutor(5) as pool:
        for database in pool.map(begin, range(5)):
            assert database.people() == []
            database.close()


def test_another_process_writes_while_this_one_reads(opened: Database, file: Path) -> None:
    person, _ = load(opened)
    with opened._reading() as connection:
        before = connection.exec_driver_sql("SELECT count(*) FROM threads").scalar()
        outcome(child(OPEN + "database.start(sys.argv[2])", file, person.id))
        assert connection.exec_driver_sql("SELECT count(*) FROM threads").scalar() == before == 0
    assert len(opened.threads()) == 1


def test_two_processes_write_at_once_without_an_error(opened: Database, file: Path) -> None:
    person, _ = load(opened)
    code = OPEN + "[database.start(sys.argv[2]) for _ in range(60)]"
    others = [child(code, file, person.id) for _ in range(2)]
    for _ in range(60):
        opened.start(person.id)
    for other in others:
        outcome(other)
    assert len(opened.threads()) == 180


ASK = (
    OPEN
    + """
from persona.records import *
thread = database.start(sys.argv[2])
database.add(Turn("of the child", thread.id, None, new_id(), Question("Who are you?", ""), "running", now()))
database.progress("of the child", "I kept", "answering")
print("stored", flush=True)
sys.stdin.read()
"""
)


def test_a_turn_whose_process_was_killed_is_interrupted_and_keeps_its_part(opened: Database, file: Path) -> None:
    person, _ = load(opened)
    process = child(ASK, file, person.id)
    assert process.stdout is not None
    assert process.stdout.readline() == "stored\n"
    mine = opened.add(a_turn(opened.start(person.id)))
    assert opened.abandon() == 0  # it is still at work
    process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while not opened.abandon():  # before anyone has taken note of its death, too
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.communicate()
    turn = opened.turn("of the child")
    assert turn is not None
    assert (turn.state, turn.partial, turn.step) == ("interrupted", "I kept", "")
    assert "ask again" in turn.error
    assert opened.turn(mine.id) == mine
    assert opened.abandon() == 0


def test_a_process_that_got_the_number_of_a_dead_one_is_told_from_it() -> None:
    host, pid, started = workers.this_worker().split(":")
    assert not workers.is_gone(f"{host}:{pid}:{started}")
    if started:
        assert workers.is_gone(f"{host}:{pid}:{int(started) - 1}")
    assert not workers.is_gone(f"{host}:{pid}:")
    assert not workers.is_gone("another-machine:1:1")
    assert not workers.is_gone("garbled")


# --- errors ---


def test_a_file_that_may_only_be_read_still_shows_everyone(opened: Database, file: Path) -> None:
    person, _ = load(opened)
    reader = Database(f"sqlite:///file:{file}?mode=ro&uri=true")
    assert reader.people() == [person]
    for write in (reader.check, lambda: reader.start(person.id)):
        with pytest.raises(StoreError, match="may only be read: make the file and its folder writable"):
            write()
    reader.close()


def test_a_locked_database_says_so(opened: Database, file: Path) -> None:
    person, _ = load(opened)
    hasty = Database(f"sqlite:///{file}?timeout=0.1")
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked by another program: wait"):
            hasty.start(person.id)
        assert hasty.people() == [person]
        other.execute("ROLLBACK")
    assert hasty.start(person.id).person == person.id
    hasty.close()


def test_a_folder_in_place_of_the_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened: see that it is a file"):
        Database(f"sqlite:///{tmp_path}")


def test_a_file_in_place_of_the_folder_says_so(file: Path) -> None:
    file.write_text("in the way")
    with pytest.raises(StoreError, match="PERSONA_DATABASE"):
        Database(f"sqlite:///{file / 'persona.db'}")


def test_a_file_that_is_no_database_says_so_and_is_left_as_it_is(file: Path) -> None:
    file.write_text("Dear diary, " * 500)
    with pytest.raises(StoreError, match="is not a database: move that file away"):
        Database(f"sqlite:///{file}")
    assert file.read_text() == "Dear diary, " * 500


def fill_up(database: Database) -> None:
    more = "INSERT INTO threads (id, person, title, created_at, updated_at) SELECT hex(randomblob(16)), id, hex(randomblob(2000)), '', '' FROM people"
    with database._writing() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1")  # SQLite makes of it what is used already
        for _ in range(1000):
            connection.exec_driver_sql(more)


def test_a_full_disk_says_so(opened: Database) -> None:
    load(opened)
    with pytest.raises(StoreError, match="does not fit on the disk"):
        fill_up(opened)
    assert opened.threads() == []


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("no url at all", "PERSONA_DATABASE"),
        ("nosuch://host/name", "PERSONA_DATABASE"),
        ("postgresql+nosuch://host/name", "PERSONA_DATABASE"),
    ],
)
def test_a_url_that_leads_nowhere_says_what_to_correct(url: str, says: str) -> None:
    with pytest.raises(StoreError, match=says):
        Database(url)


def test_no_password_is_shown() -> None:
    with pytest.raises(StoreError) as caught:
        Database("nosuch://me:secret@host/name")
    assert "secret" not in str(caught.value)


def test_a_record_that_cannot_be_read_is_a_store_error(opened: Database, file: Path) -> None:
    turn = opened.add(a_turn(a_thread(opened)))  # type: ignore[arg-type]
    with closing(sqlite3.connect(file)) as other, other:
        other.execute('UPDATE turns SET question = \'{"from": "the future"}\'')
    with pytest.raises(StoreError, match="update persona"):
        opened.turn(turn.id)


# --- migrations ---


def test_a_database_of_a_newer_version_is_refused_and_left_alone(opened: Database, file: Path) -> None:
    opened.close()
    with closing(sqlite3.connect(file)) as other, other:
        other.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreError, match=r"newer version .* update persona"):
        Database(f"sqlite:///{file}")
    with closing(sqlite3.connect(file)) as other:
        assert other.execute("SELECT version_num FROM alembic_version").fetchone() == ("9999",)


@pytest.fixture
def a_later_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This version as its successor will be: with one more revision, which replaces a table that others point to."""
    folder = tmp_path / "later"
    folder.mkdir()
    (folder / "later.py").write_text(
        f"import sqlalchemy as sa\nfrom alembic import op\nrevision = 'later'\ndown_revision = '{migrations.HEAD}'\n"
        "def upgrade():\n"
        "    with op.batch_alter_table('people', recreate='always') as people:\n"
        "        people.add_column(sa.Column('motto', sa.Text))\n"
        "    with op.batch_alter_table('builds', recreate='always') as builds:\n"
        "        builds.add_column(sa.Column('motto', sa.Text))\n"
    )
    ours = Path(migrations.__file__).parent / "versions"
    real = migrations.migrate
    monkeypatch.setattr(connections, "HEAD", "later")
    versions = os.pathsep.join(map(str, (ours, folder)))
    monkeypatch.setattr(connections, "migrate", lambda *given: real(*given, head="later", versions=versions))


def test_an_older_database_is_copied_beside_itself_and_then_migrated(
    opened: Database, file: Path, a_later_version: None
) -> None:
    person, build = load(opened)
    opened.close()
    newer = Database(f"sqlite:///{file}")
    assert newer.people() == [person]
    assert len(newer.chunks(build.id)) == 2
    (copy,) = file.parent.glob(f"persona.db.{migrations.HEAD}-*.copy")
    with closing(sqlite3.connect(copy)) as other:
        assert other.execute("SELECT version_num FROM alembic_version").fetchone() == (migrations.HEAD,)
        assert other.execute("SELECT title FROM people").fetchall() == [(person.title,)]
    newer.close()
    Database(f"sqlite:///{file}").close()
    assert len(list(file.parent.glob("*.copy"))) == 1


def test_people_loaded_before_pictures_and_origins_were_kept_are_still_there(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = migrations.migrate
    with monkeypatch.context() as earlier:
        earlier.setattr(connections, "HEAD", "0001")
        earlier.setattr(connections, "migrate", lambda *given: real(*given, head="0001"))
        Database(f"sqlite:///{file}").close()
    with closing(sqlite3.connect(file)) as other, other:
        other.execute(
            "INSERT INTO builds (id, state, worker, created_at, person, title, url, revision, fetched_at, embedder,"
            " dimension, chunker, sections, chunks, left_out, living, description) VALUES ('b', 'ready', '', "
            "'2026-01-02', 'p', 'Ada', '', '7', '2026-01-02', 'minilm', 384, 'c', '[]', 0, '[]', 0, 'keeper')"
        )
        other.execute("INSERT INTO people VALUES ('p', 'wikipedia', '', 'en', 'Ada', 'b')")
    opened = Database(f"sqlite:///{file}")
    assert [person.title for person in opened.people()] == ["Ada"]
    build = opened.build("b")
    assert build
    assert (build.description, build.origin, build.picture) == ("keeper", "", None)
    opened.close()


def test_what_the_first_version_stored_can_be_read_searched_and_gone_on_with(file: Path) -> None:
    first = create_engine(f"sqlite:///{file}")
    with first.begin() as connection:
        migrations.migrate(connection, lambda _: None, head="0001")
        for statement in FIRST_ROWS:
            connection.exec_driver_sql(statement)
    first.dispose()
    database = Database(f"sqlite:///{file}")
    (thread,) = database.search("FELLS naive")
    assert thread.shown == "t2"
    assert database.search("copper") == [thread]
    assert [turn.id for turn in database.path("t2")] == ["t1", "t2"]
    assert database.ratings(thread.id) == []
    database.close()


def test_a_fresh_database_leaves_no_copy(opened: Database, file: Path) -> None:
    assert sorted(path.name for path in file.parent.iterdir() if path.suffix == ".copy") == []


def test_the_migrations_make_just_the_tables_that_the_code_uses(store: Database) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with store._reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), tables.metadata) == []


def a_config(**attributes: object) -> object:
    from alembic.config import Config

    config = Config(attributes=attributes)
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.set_main_option("path_separator", "os")
    return config


def test_the_newest_revision_is_the_one_that_the_code_asks_for() -> None:
    from alembic.script import ScriptDirectory

    assert ScriptDirectory.from_config(a_config()).get_heads() == [migrations.HEAD]  # type: ignore[arg-type]


def test_the_migrations_can_be_written_for_postgresql(capsys: pytest.CaptureFixture[str]) -> None:
    from alembic.command import upgrade

    upgrade(a_config(dialect="postgresql"), "head", sql=True)  # type: ignore[arg-type]
    written = capsys.readouterr().out
    assert "CREATE TABLE turns" in written
    assert "TIMESTAMP WITH TIME ZONE" in written


def test_opening_leaves_logging_and_the_screen_alone(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before = (root.level, list(root.handlers), logging.getLogger("persona").disabled)
    Database(f"sqlite:///{file}").close()
    assert (root.level, list(root.handlers), logging.getLogger("persona").disabled) == before
    assert capfd.readouterr() == ("", "")


def test_a_database_that_is_up_to_date_opens_without_alembic(opened: Database, file: Path) -> None:
    assert outcome(child(OPEN + "print('alembic' in sys.modules)", file)) == "False\n"


# --- speed ---


def test_the_list_of_threads_does_not_read_turns(opened: Database) -> None:
    from sqlalchemy import event

    a_thread(opened)  # type: ignore[arg-type]
    seen: list[str] = []
    event.listen(opened._connections._engine, "before_cursor_execute", lambda *given: seen.append(given[2]))
    opened.threads()
    assert any("FROM threads" in statement for statement in seen)
    assert not any("turns" in statement for statement in seen)


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("SELECT * FROM turns WHERE thread = 'x' ORDER BY number", "sqlite_autoindex_turns"),
        ("SELECT * FROM turns WHERE request_id = 'x'", "sqlite_autoindex_turns"),
        ("SELECT worker FROM turns WHERE state = 'running'", "turns_by_state"),
        ("SELECT * FROM threads WHERE person = 'x' ORDER BY updated_at DESC", "threads_by_person"),
        ("SELECT * FROM threads ORDER BY updated_at DESC", "threads_by_time"),
        ("SELECT * FROM chunks WHERE build = 'x' ORDER BY position", "sqlite_autoindex_chunks"),
        (
            "SELECT * FROM people WHERE source = '' AND api = '' AND language = '' AND title = ''",
            "sqlite_autoindex_people",
        ),
    ],
)
def test_what_is_asked_often_has_an_index(opened: Database, query: str, index: str) -> None:
    with opened._reading() as connection:
        plan = " ".join(row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}"))
    assert index in plan
    assert "TEMP B-TREE" not in plan
