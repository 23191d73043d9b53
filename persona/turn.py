"""The course of one turn: which stage is tried when, and what each came to.

Small talk and the rules fixed in code need no model. A question that neither the page nor the conversation supports
never reaches the answering model. Knows nothing of how turns are stored or shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace

from persona import talk
from persona.addressing import with_you
from persona.budget import trimmed
from persona.errors import ThoughtAloud
from persona.grounding import checked, whole_answer
from persona.records import (
    INTRODUCTION,
    PATH_SEPARATOR,
    STAGES,
    Answer,
    Attempt,
    Chunk,
    Event,
    Evidence,
    Message,
    ModelCall,
    Question,
    Stage,
    StageName,
    Text,
    Trace,
    Turn,
    Withdrawn,
    Working,
)
from persona.retrieval import Candidate, excerpt, rank_by_ngrams, stands_out
from persona.searching import Found, Subject
from persona.steps import RANK_FROM, Reply, Steps
from persona.text import base_language, harmless, is_foreign
from persona.told import as_sent, language_name, recalled
from persona.understanding import leans, standalone
from persona.voice import about_interviewer, as_known, asking_what_came_of_it, in_first_person, to_interviewer

FIRST = 4  # excerpts that are sent first, beside the lead
SENT = 3  # whole passages that a later stage sends
RANKED = 10  # passages the model scores
RECALLED = 8  # turns that a question on the conversation is answered from, beside the first


class TurnRun:
    """One question being answered. After `events()` is drained, `answer` and `trace()` are complete."""

    def __init__(
        self,
        subject: Subject,
        steps: Steps,
        turn: Turn,
        past: Sequence[Turn],
        cancelled: Callable[[], bool] | None = None,
        warmth: float = 0.0,
        stages: Sequence[StageName] = STAGES,
    ) -> None:
        """`stages` are tried in that order. `warmth` is how freely the answer is worded; more than nothing gives other answers to the same question."""
        self._person, self._build, self._searcher = subject.person, subject.build, subject.searcher
        self._past, self._stages = past, stages
        self.question: Question = turn.question
        self.answer: Answer | None = None
        self._calls: list[ModelCall] = []
        self._steps = steps.for_turn(cancelled, self._calls.append, warmth)
        self._attempts: list[Attempt] = []
        self._dropped: list[str] = []
        self._gate: dict[str, float] = {}
        self._timings: dict[str, float] = {}
        self._windows: Mapping[str, float] = {}
        self._tried: set[tuple[str, str]] = set()  # chunk and text that were sent and gave no answer
        self._lead = subject.searcher.index.lead
        self._english = base_language(self._person.language) == "en"
        self._began = time.monotonic()

    def trace(self) -> Trace:
        """What happened so far."""
        timings = self._timings | {"total": time.monotonic() - self._began}
        dropped = (*(what for call in self._calls for what in call.dropped), *self._dropped)
        return Trace(tuple(self._calls), tuple(self._attempts), dropped, self._gate, timings)

    def events(self) -> Iterator[Event]:
        """The whole turn."""
        asked, title, language = self.question.asked, self._person.title, self._person.language
        reply = talk.small_talk(asked, title, language)
        if reply:
            yield from self._say(reply, "greeting")
        elif talk.needs_real_help(asked):
            yield from self._refuse("this needs real help, not a persona", talk.phrases(language).help)
        elif self._build.living and talk.asks_private_fact(asked):
            yield from self._refuse("a private fact of a living person", talk.phrases(language).private)
        elif talk.orders_the_program(asked):
            yield from self._refuse("this is not a question to the persona")
        else:
            yield from self._search_and_answer()

    def _search_and_answer(self) -> Iterator[Event]:
        if talk.asks_to_go_on(self.question.asked):
            yield from self._go_on()
        if not self.answer and self._past and talk.about_conversation(self.question.asked):
            yield from self._conversation()
        if not self.answer:
            yield from self._rewrite()
        if not self.answer and talk.asks_for_introduction(self.question.asked):
            yield from self._introduction()
        if not self.answer:
            yield from self._page()

    def _rewrite(self) -> Iterator[Event]:
        if not leans(self._past):
            return
        yield Working("understanding the question")
        with self._timed("rewrite"):
            self.question, call = standalone(self._steps, self._person.title, self._past, self.question.asked)
        self._calls.append(call)

    def _conversation(self) -> Iterator[Event]:
        """What was said in this conversation, and evidence of nothing else."""
        turns = [*self._past[:1], *self._past[1:][-RECALLED:]]
        told = [recalled(number, turn, self._person.title) for number, turn in enumerate(turns, 1)]
        asked = self.question.asked
        yield Working("looking back at our conversation")
        yield from self._try_answer("conversation", (), told, about_interviewer(asked) if self._english else asked)

    def _go_on(self) -> Iterator[Event]:
        """The rest of an answer that was cut for its length, from the same passages."""
        parts = _cut_parts(self._past)
        evidence = parts[-1].trace.attempts[-1].evidence if parts else ()
        if not evidence:
            return
        first = parts[0].question.standalone
        self.question = Question(self.question.asked, first, tuple(turn.id for turn in parts))
        said = harmless(" ".join(turn.answer.text for turn in parts if turn.answer))
        further = (Message("assistant", said), Message("user", self.question.asked))
        yield Working("going on")
        passages = as_sent(evidence)
        yield from self._try_answer(evidence[0].stage, evidence, passages, self._to_you(first), further=further)

    def _introduction(self) -> Iterator[Event]:
        evidence = [Evidence("category", chunk, 1.0) for chunk in self._lead or self._searcher.index.chunks[:SENT]]
        yield from self._try_chunks("category", evidence, f"{INTRODUCTION}, as the question asks for it")

    def _page(self) -> Iterator[Event]:
        yield Working(f"searching the page of {self._person.title}")
        with self._timed("search"):
            found = self._searcher.search(self.question.standalone)
        if not self._passes_gate(found) and not self._passes_as_asked():
            self._attempts.append(Attempt("refused", (), "the gate found no tie to the page"))
            yield from self._refuse(self._no_tie())
            return
        with self._timed("search"):
            candidates = found.candidates
        self._windows = found.windows
        stages = dict(
            zip(STAGES, (self._leader, self._nearest, self._section, self._ranked, self._ngrams), strict=True)
        )
        for name in self._stages:
            yield from stages[name](candidates)
            if self.answer:
                return
        yield from self._refuse("the page speaks of related things but does not answer this")

    def _passes_as_asked(self) -> bool:
        """Whether the question as asked is about the page, where its rewrite is not: a place told with it leads away."""
        asked = self.question.asked
        if asked == self.question.standalone:
            return False
        with self._timed("search"):
            found = self._searcher.search(asked)
        return self._passes_gate(found)

    def _no_tie(self) -> str:
        if is_foreign(self.question.asked, self._person.language):
            language = language_name(self._person.language)
            return f"the page is in {language}: ask in {language}"
        return "nothing on the page is about this"

    def _passes_gate(self, found: Found) -> bool:
        gate = self._searcher.gate
        with self._timed("gate"):
            self._gate = {**found.features, "score": gate.score(found.features), "threshold": gate.threshold}
            return gate.passes(found.features)

    def _leader(self, candidates: list[Candidate]) -> Iterator[Event]:
        """One passage that stands out, whole and alone: a small model answers better from it than from many."""
        first = next(iter(candidates), None)
        if first and first.chunk not in self._lead and stands_out(candidates):
            evidence = [Evidence("leader", first.chunk, first.score)]
            yield from self._try_passages("leader", evidence, "one passage stands out")

    def _nearest(self, candidates: list[Candidate]) -> Iterator[Event]:
        """The passages that vectors and n-grams together put first, ranked by no model."""
        evidence = [Evidence("nearest", self._excerpt(c.chunk), c.score) for c in candidates[: FIRST + len(self._lead)]]
        while sum(item.chunk not in self._lead for item in evidence) > FIRST:
            evidence.pop()
        how = "vectors and n-grams agree" if candidates and candidates[0].agreed else "fused score"
        yield from self._try_chunks("nearest", evidence, how)

    def _excerpt(self, chunk: Chunk) -> Chunk:
        """The chunk cut to what is nearest to the question; the lead stays whole, as it is sent anyway."""
        if chunk in self._lead:
            return chunk
        text = excerpt(self._searcher.index, chunk, self.question.standalone, self._windows)
        return replace(chunk, text=text)

    def _section(self, _: list[Candidate]) -> Iterator[Event]:
        yield Working("choosing a section")
        with self._timed("categorize"):
            sections = self._searcher.index.sections
            path, call = self._steps.categorize(self._person.title, sections, self.question.standalone)
        self._calls.append(call)
        if path is None:
            self._attempts.append(Attempt("category", (), "no section was chosen", call.error))
            return
        yield Working(f"looking in “{PATH_SEPARATOR.join(path)}”")
        found = self._searcher.within(self.question.standalone, path, SENT)
        yield from self._try_chunks(
            "category", [Evidence("category", c.chunk, c.score) for c in found], PATH_SEPARATOR.join(path)
        )

    def _ranked(self, candidates: list[Candidate]) -> Iterator[Event]:
        fresh = [c.chunk for c in candidates if self._is_fresh(c.chunk)][:RANKED]
        if not fresh:
            self._attempts.append(Attempt("ranked", (), "no passage was left"))
            return
        yield Working(f"ranking {len(fresh)} passages")
        with self._timed("rank"):
            scores, call = self._steps.rank(self._person.title, fresh, self.question.standalone)
        self._calls.append(call)
        kept = sorted((c for c in fresh if scores.get(c.id, 0) >= RANK_FROM), key=lambda c: -scores[c.id])
        evidence = [Evidence("ranked", chunk, scores[chunk.id] / 10) for chunk in kept[:SENT]]
        how = f"{len(kept)} of {len(fresh)} scored {RANK_FROM} or more"
        yield from self._try_chunks("ranked", evidence, f"{how}; {call.error}" if call.error else how)

    def _ngrams(self, _: list[Candidate]) -> Iterator[Event]:
        found = rank_by_ngrams(self._searcher.index, self.question.standalone)
        fresh = [c for c in found if self._is_fresh(c.chunk)]
        evidence = [Evidence("ngram", c.chunk, c.score) for c in (fresh or found)[:SENT]]
        yield from self._try_chunks("ngram", evidence, "passages that share the rarest words")

    def _try_chunks(self, stage: Stage, evidence: Sequence[Evidence], detail: str) -> Iterator[Event]:
        fresh = [item for item in evidence if self._is_fresh(item.chunk)]
        if not fresh:
            outcome = "nothing new to send" if evidence else "no passage"
            self._attempts.append(Attempt(stage, tuple(evidence), outcome, detail))
            return
        self._tried |= {(chunk.id, chunk.text) for chunk in (*self._lead, *(item.chunk for item in fresh))}
        # the lead goes with each answer: it says who the persona is, and as a prompt's unchanging front it is read once
        lead = [Evidence(stage, chunk, 0.0) for chunk in self._lead]
        found = [item for item in fresh if item.chunk not in self._lead]
        scores = {item.chunk.id: item.score for item in fresh}
        sent = [replace(item, score=scores.get(item.chunk.id, 0.0)) for item in (*lead, *found)]
        yield from self._try_passages(stage, sent, detail)

    def _try_passages(self, stage: Stage, sent: Sequence[Evidence], detail: str) -> Iterator[Event]:
        yield Working("answering")
        asked = self._to_you(self.question.standalone)
        yield from self._try_answer(stage, sent, as_sent(sent), asked, detail)

    def _to_you(self, asked: str) -> str:
        """A question as it is put to the persona."""
        return asking_what_came_of_it(with_you(asked, self._person.title)) if self._english else asked

    def _is_fresh(self, chunk: Chunk) -> bool:
        return (chunk.id, chunk.text) not in self._tried

    def _try_answer(
        self,
        stage: Stage,
        evidence: Sequence[Evidence],
        passages: Sequence[str],
        asked: str,
        detail: str = "",
        further: Sequence[Message] = (),
    ) -> Iterator[Event]:
        """`further` is what followed the question, where an answer is gone on with."""
        reply, said = Reply(), ""
        told = stage, passages, asked, reply, further
        try:
            with closing(self._pieces(*told)) as pieces:
                for piece in pieces:
                    said += piece
                    yield Text(piece)
        except ThoughtAloud:  # once: the model's next reply is passed on only when it is whole
            yield Withdrawn("asking again, as the model thought aloud")
            said = "".join(self._pieces(*told))
            if said:
                yield Text(said)
        finally:
            self._dropped += reply.dropped
        sent = evidence[: len(evidence) - len(reply.dropped)] if evidence else ()
        outcome = "answered" if said else "not supported" if reply.found or reply.text else "not found"
        self._attempts.append(Attempt(stage, tuple(sent), outcome, detail))
        if said:
            whole = whole_answer(said, stage, sent, passages, self.question, self._build, self._person.language)
            cut = ("the answer was cut for length: say “Go on” for the rest",) if reply.cut else ()
            self.answer = replace(whole, cut=reply.cut, warnings=(*whole.warnings, *cut, *self._trimmed()))

    def _pieces(
        self, stage: Stage, passages: Sequence[str], asked: str, reply: Reply, further: Sequence[Message]
    ) -> Generator[str]:
        """The answer's pieces as they may be shown; the call is kept, however it ends."""
        answer = pieces = self._steps.answer(self._person.title, self._person.language, passages, asked, reply, further)
        if self._english:
            to_you = stage == "conversation"
            pieces = to_interviewer(answer) if to_you else in_first_person(answer, asked, self._person.title)
        begins = self._english and not further
        try:
            with self._timed("answer"), closing(answer), closing(pieces):
                for piece in checked(pieces, asked, passages, reply, self._build, self._person.language):
                    yield as_known(piece, "\n".join(passages)) if begins else piece
                    begins = False
        finally:
            if reply.call:
                self._calls.append(reply.call)

    def _say(self, text: str, stage: Stage) -> Iterator[Event]:
        self.answer = Answer(text, True, stage)
        self._attempts.append(Attempt(stage, (), "answered"))
        yield Text(text)

    def _refuse(self, reason: str, text: str = "") -> Iterator[Event]:
        text = text or talk.phrases(self._person.language).refusal
        if "page" in reason:
            reason += talk.hint(self._searcher.index.sections)
        self.answer = Answer(text, False, "refused", reason=reason, warnings=self._trimmed())
        yield Text(text)

    def _trimmed(self) -> tuple[str, ...]:
        """Warnings that a server did not read all that it was sent, each once."""
        return tuple(dict.fromkeys(warning for warning in map(trimmed, self._calls) if warning))

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self._timings[part] = self._timings.get(part, 0.0) + time.monotonic() - began


def _cut_parts(past: Sequence[Turn]) -> list[Turn]:
    """The turns that hold the last answer as far as it came, oldest first; none if it is whole."""
    parts: list[Turn] = []
    for turn in reversed(past):
        if not (turn.answer and turn.answer.cut):
            break
        parts.insert(0, turn)
        if not talk.asks_to_go_on(turn.question.asked):
            break
    return parts
