"""One turn, as a stream of events: rewrite, gate, the stages, refusal.

`Interview.ask` is the only way in. It stores the question before anything else and its last event is the stored turn,
whatever happened in between. Knows the order of the stages and no server, store or screen.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from threading import Lock

from persona.calls import serve
from persona.errors import Absent, InputError, MissingBuild, PersonaError
from persona.gate import Gate
from persona.late import LateInteraction
from persona.line import Line
from persona.ports import ChunkStore, Embedder, History, Library, TokenEmbedder
from persona.records import (
    STAGES,
    Asked,
    Event,
    Finished,
    Person,
    Progress,
    Question,
    StageName,
    Text,
    Thread,
    Turn,
    Visitor,
    Withdrawn,
    Working,
    new_id,
    now,
)
from persona.retrieval import PageIndex
from persona.searching import Searcher, Subject, knows
from persona.steps import Steps
from persona.stopping import Stopped
from persona.talk import needs_no_model
from persona.text import is_blank, storable
from persona.turn import TurnRun

LONGEST_QUESTION = 2000  # characters
_OTHER_ANSWER = 0.8  # temperature of another answer to the same question: at none it would be the same one
_INDEXES = 8  # pages kept ready
_log = logging.getLogger(__name__)


class Interview:
    """Questions in, events out. Usable from several threads at once; keeps no state of any thread."""

    def __init__(
        self,
        library: Library,
        history: History,
        line: Line,
        store: ChunkStore,
        embedder: Embedder,
        steps: Steps,
        gates: Callable[[str], Gate],
        mend: Callable[[Person], Iterator[Progress]],
        settings: dict[str, str],
        stages: Sequence[StageName] = STAGES,
    ) -> None:
        """`gates` gives the gate for a language, `mend` makes lost vectors again; `settings` is what each trace records."""
        self._library, self._history, self._line = library, history, line
        self._store, self._embedder, self._steps = store, embedder, steps
        self._late = LateInteraction(embedder) if isinstance(embedder, TokenEmbedder) else None
        self._gates, self._mend, self._settings, self._stages = gates, mend, settings, stages
        self._indexes: OrderedDict[str, PageIndex] = OrderedDict()
        self._lock = Lock()

    def use(self, steps: Steps, settings: dict[str, str]) -> None:
        """From the next question on other models answer; `settings` is what their traces record."""
        self._steps, self._settings = steps, settings

    def ask(
        self,
        question: str,
        thread: str,
        parent: str | None = None,
        request_id: str | None = None,
        cancelled: Callable[[], bool] | None = None,
        visitor: Visitor | None = None,
    ) -> Iterator[Event]:
        """Answer a question in a thread, after `parent` (None: at its root), when it is its turn at the model.

        The same request_id twice is one turn. Raises InputError and Busy before anything is stored; afterwards trouble
        ends in a turn whose state is "failed". Closing the iterator, or `cancelled`, ends in one whose state is
        "stopped"; one whose visitor does not wait for it any more is "interrupted".
        """
        asked = checked_question(question)
        found = self._history.thread(thread)
        if found is None:
            raise InputError("There is no such thread. Start a new one.")
        new = Turn(new_id(), thread, parent, request_id or new_id(), Question(asked, asked), "running", now())
        stored = self._line.enter(new, visitor, self._needs_model(asked, found.person))
        if stored.id != new.id:  # asked before under this request_id: that turn is the answer
            yield Asked(stored, known=True)
            yield Finished(stored)
        else:
            yield from self._answer(stored, found, cancelled)

    def _needs_model(self, asked: str, person: str) -> bool:
        """Whether the question has to wait for the model: not what code answers, and not what cannot be answered."""
        found = self._library.person(person)
        build = self._library.build(found.build) if found else None
        if found is None or build is None:
            return False
        return not needs_no_model(asked, found.title, found.language, build.living)

    def _answer(self, turn: Turn, thread: Thread, cancelled: Callable[[], bool] | None) -> Iterator[Event]:
        steps, settings = self._steps, self._settings  # of the whole turn, whatever is chosen meanwhile
        shown = ""
        runs: list[TurnRun] = []
        ended = replace(turn, state="stopped")
        try:
            yield Asked(turn)
            serve(turn.request_id)
            with closing(self._in_line(turn, thread.person, runs, steps, cancelled)) as events:
                for event in events:
                    if cancelled and cancelled():
                        break
                    shown += event.text if isinstance(event, Text) else ""
                    shown = "" if isinstance(event, Withdrawn) else shown
                    yield event
                else:
                    ended = replace(turn, state="done")
        except Stopped:
            _log.info("turn %s was stopped", turn.id)
        except Absent as error:
            _log.info("turn %s was not waited for", turn.id)
            ended = replace(turn, state="interrupted", error=str(error))
        except PersonaError as error:
            _log.warning("turn %s failed: %s", turn.id, error)
            ended = replace(turn, state="failed", error=str(error))
        except Exception as error:
            _log.exception("turn %s broke off", turn.id)
            what = f"Something went wrong here ({type(error).__name__}). Ask again; the log tells more."
            ended = replace(turn, state="failed", error=what)
        finally:
            try:  # also when the reader closed the iterator: what came so far is kept
                ended = self._history.finish(_as_it_ended(ended, runs, shown, settings))
            finally:
                self._line.leave(turn.id)
                serve()
        yield Finished(ended)

    def _in_line(
        self, turn: Turn, person: str, runs: list[TurnRun], steps: Steps, cancelled: Callable[[], bool] | None
    ) -> Generator[Event, None, None]:
        yield from self._line.wait(turn.id, cancelled)
        yield from self._events(turn, person, runs, steps, cancelled)

    def _events(
        self, turn: Turn, person: str, runs: list[TurnRun], steps: Steps, cancelled: Callable[[], bool] | None
    ) -> Generator[Event, None, None]:
        """The turn; from its start again if a load replaced the index meanwhile or its vectors are gone.

        Both come to light before any answer.
        """
        past = self._history.path(turn.parent) if turn.parent else []
        warmth = _OTHER_ANSWER if self._answered_before(turn) else 0.0
        for _ in range(3):  # a load and a loss may follow one another
            subject = self.subject(person)
            runs.append(TurnRun(subject, steps, turn, past, cancelled, warmth, self._stages))
            try:
                yield from runs[-1].events()
            except MissingBuild:
                _log.info("turn %s: build %s is gone", turn.id, subject.build.id)
                yield from self._mended(subject)
            else:
                return
        raise MissingBuild("The index of this page is gone from the vector store. Load the page again.")

    def _mended(self, subject: Subject) -> Iterator[Event]:
        """Make the vectors again, unless a load has replaced them."""
        current = self._library.person(subject.person.id)
        if current and current.build == subject.build.id:
            for progress in self._mend(current):
                yield Working(f"making the index again, {progress.done} of {progress.total} passages")

    def _answered_before(self, turn: Turn) -> bool:
        """Whether the same was asked at the same place: then another answer is wanted."""
        others = (other for other in self._history.turns(turn.thread) if other.parent == turn.parent)
        return any(other.question.asked == turn.question.asked and other.answer for other in others)

    def warm(self, person: str, model: bool) -> None:
        """Make ready what the first question to a person would else wait for: page, vectors, and with `model` its prompt.

        Questions come first: it stops while one is answered. Raises PersonaError; nothing is stored.
        """
        self._line.until_quiet()
        subject = self.subject(person)
        found = subject.searcher.search("Who are you?")
        _ = found.features, found.candidates  # the n-grams are made ready, too
        if model:
            front = [chunk.text for chunk in subject.searcher.index.lead]
            self._steps.warm(subject.person.title, subject.person.language, front)
        subject.searcher.warm(self._line.until_quiet)

    def subject(self, person: str) -> Subject:
        """Everything that a turn needs to know of a person. Raises InputError, IndexMismatch."""
        found = self._library.person(person)
        build = self._library.build(found.build) if found else None
        if found is None or build is None:
            raise InputError("This person is no longer loaded. Load the page again; the thread is kept.")
        index = self._index(build.id, build.title, found.language)
        late = self._late if knows(self._embedder, found.language) else None
        searcher = Searcher(index, self._store, self._embedder, build, self._gates(found.language), late)
        return Subject(found, build, searcher)

    def _index(self, build: str, title: str, language: str) -> PageIndex:
        with self._lock:
            if build in self._indexes:
                self._indexes.move_to_end(build)
                return self._indexes[build]
        index = PageIndex(title, language, self._library.chunks(build))
        with self._lock:
            self._indexes[build] = index
            while len(self._indexes) > _INDEXES:
                self._indexes.popitem(last=False)
        return index


def checked_question(question: str) -> str:
    """The question without blanks around it and control characters in it. Raises InputError if there is none, or far too much."""
    asked = storable(question).strip()
    if is_blank(asked):
        raise InputError("Type a question first.")
    if len(asked) > LONGEST_QUESTION:
        raise InputError(
            f"A question may have {LONGEST_QUESTION:,} characters; this one has {len(asked):,}. Shorten it."
        )
    return asked


def _as_it_ended(turn: Turn, runs: Sequence[TurnRun], shown: str, settings: dict[str, str]) -> Turn:
    """The turn with what the last run came to, and the calls and attempts of all."""
    if not runs:
        return turn
    run, traces = runs[-1], [run.trace() for run in runs]
    trace = replace(
        traces[-1],
        calls=tuple(call for trace in traces for call in trace.calls),
        attempts=tuple(attempt for trace in traces for attempt in trace.attempts),
        settings=settings,
    )
    answer = run.answer if turn.state == "done" else None
    partial = shown if turn.state in {"stopped", "failed"} else ""
    return replace(turn, question=run.question, answer=answer, trace=trace, partial=partial)
