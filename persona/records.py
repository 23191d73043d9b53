"""The frozen data that flows between modules.

Knows nothing of where it came from or where it is kept. Identifiers are 128 random bits in hexadecimal; times are
aware and in UTC; a section's path holds all headings from the top.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, get_args

PATH_SEPARATOR = " -> "
INTRODUCTION = "Introduction"

Role = Literal["system", "user", "assistant"]
Step = Literal["rewrite", "categorize", "rank", "answer"]
Stage = Literal["greeting", "conversation", "leader", "nearest", "category", "ranked", "ngram", "refused"]
# the stages that search the page, in the order in which they are tried, as settings name them
StageName = Literal["leader", "nearest", "section", "ranked", "ngrams"]
STAGES: tuple[StageName, ...] = get_args(StageName)
TurnState = Literal["running", "done", "stopped", "failed", "interrupted"]


_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,12}){0,2}|simple")


def is_language(code: str) -> bool:
    """Whether this can be the code of a Wikipedia's language; it becomes part of a host's name."""
    return bool(_LANGUAGE.fullmatch(code))


def new_id() -> str:
    """128 random bits, 32 hexadecimal digits."""
    return secrets.token_hex(16)


def now() -> datetime:
    """The time, aware, in UTC."""
    return datetime.now(UTC)


# --- pages and what becomes of them ---


@dataclass(frozen=True, slots=True)
class Section:
    """A heading's own text, without that of its subsections."""

    path: tuple[str, ...]
    text: str
    anchor: str = ""  # its heading's name in the page's address; the lead has none


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A section that is not indexed, and why ("no text" or "reference matter")."""

    path: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A small picture at a wiki; `about` is the address that names who made it and under which license."""

    address: str
    about: str


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it was read; the lead is the section "Introduction" and comes first, if there is one."""

    title: str
    language: str
    source: str  # "wikipedia", "markdown" or "sample"
    api: str  # the API's address, or the file's name
    url: str  # where a reader can open it
    revision: str
    fetched_at: datetime
    sections: tuple[Section, ...]
    left_out: tuple[LeftOut, ...] = ()
    living: bool = False  # a real person who is alive
    description: str = ""  # one line, may be empty
    asked_for: str = ""  # the title asked for, where a redirect or a search led elsewhere
    origin: str = ""  # the path of the file it was read from
    picture: Picture | None = None
    revised_at: datetime | None = None  # when that revision was written


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A page of the wiki that may be meant by what was typed; `picture` is the address of a small one, or empty."""

    title: str
    description: str = ""
    picture: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """No page, but titles to choose from; `options` may be empty."""

    asked_for: str
    reason: Literal["disambiguation", "missing"]
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of one section that fits the embedder. `sha` is of the text that is embedded, path and title included."""

    id: str
    position: int  # within the page, from 0
    path: tuple[str, ...]
    text: str
    sha: str
    anchor: str = ""  # its section's; also empty where it was loaded before anchors were kept


@dataclass(frozen=True, slots=True)
class Build:
    """One load of a page: what was read and how it was indexed. Never changed once it is published."""

    id: str
    person: str
    title: str
    url: str
    revision: str
    fetched_at: datetime
    embedder: str
    dimension: int
    chunker: str
    sections: tuple[tuple[str, ...], ...]  # the paths, in the page's order
    chunks: int
    left_out: tuple[LeftOut, ...]
    living: bool
    description: str
    created_at: datetime
    origin: str = ""  # the path of the file it was read from
    picture: Picture | None = None
    revised_at: datetime | None = None  # when that revision was written


@dataclass(frozen=True, slots=True)
class Person:
    """Someone who can be interviewed. (source, api, language, title) is unique; `build` is the current index."""

    id: str
    source: str
    api: str
    language: str
    title: str
    revision: str
    build: str


@dataclass(frozen=True, slots=True)
class Match:
    """A chunk found by vector; `distance` is the cosine distance, 0 to 2."""

    chunk: str
    distance: float


# --- model calls ---


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What is sent to a chat model. `schema` is a JSON schema that the reply should satisfy."""

    messages: tuple[Message, ...]
    max_tokens: int
    schema: Mapping[str, Any] | None = None
    stop: tuple[str, ...] = ()
    stream: bool = False
    temperature: float = 0.0


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call cost, by the server's count; `cached_tokens` of the prompt were not read anew."""

    prompt_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply, thinking already taken out. The last one of a reply carries `usage` and `finish`."""

    text: str = ""
    usage: Usage | None = None
    finish: Literal["", "stop", "length"] = ""


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """What a model server says of itself; `problem` and `remedy` are empty when all is well."""

    kind: str  # "builtin", "ollama", "openai"
    address: str
    model: str
    ready: bool
    problem: str = ""
    remedy: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One model call as it happened. `prompt` is the fingerprint of the prompt file."""

    step: Step
    model: str
    prompt: str
    messages: tuple[Message, ...]
    reply: str
    prompt_tokens: int
    output_tokens: int
    cached_tokens: int
    seconds: float
    tries: int
    error: str = ""
    dropped: tuple[str, ...] = ()  # what did not fit the context
    temperature: float = 0.0


# --- a turn ---


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who asks over the web. `network` is the address, or the part of it, that a household or office shares."""

    id: str
    network: str


@dataclass(frozen=True, slots=True)
class Standing:
    """The line in front of the model as a newcomer finds it; the latest comes last everywhere."""

    moment: datetime
    began: tuple[datetime, ...]  # when the answers that are being given began
    waiting: int
    took: tuple[float, ...]  # seconds of the latest answers
    own: int = 0  # the newcomer's own questions among those in line
    by_network: tuple[datetime, ...] = ()  # when questions came from the newcomer's network
    by_visitor: tuple[datetime, ...] = ()  # and from the newcomer


@dataclass(frozen=True, slots=True)
class Place:
    """One turn's place in line; `before` are all who come first, those that are being answered among them."""

    before: int
    began: tuple[datetime, ...]
    took: tuple[float, ...]
    seen_at: datetime | None  # when its visitor was last here; None where nobody knows


@dataclass(frozen=True, slots=True)
class Thread:
    """An interview with one person, a tree of turns; `shown` is the turn that ends the path which is read."""

    id: str
    person: str
    title: str
    created_at: datetime
    updated_at: datetime
    shown: str | None = None
    visitor: str = ""  # who began it, where that is known


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked, and how it reads on its own; `turns` are the ids of the earlier turns it leans on."""

    asked: str
    standalone: str
    turns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """A chunk that a stage put forward; `score` is the stage's own, 0 to 1."""

    stage: Stage
    chunk: Chunk
    score: float


@dataclass(frozen=True, slots=True)
class Attempt:
    """One stage's try at answering. `outcome` is a word or a plain sentence."""

    stage: Stage
    evidence: tuple[Evidence, ...]
    outcome: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A passage that was sent for an answer, copied so that it outlives the index."""

    number: int
    section: str  # the path, joined
    url: str
    revision: str
    text: str
    score: float
    supports: tuple[tuple[int, int], ...] = ()  # spans of `text` that support the answer


@dataclass(frozen=True, slots=True)
class Answer:
    """What the reader gets. A refusal has found=False, a reason and no sources."""

    text: str
    found: bool
    stage: Stage
    reason: str = ""
    sources: tuple[Source, ...] = ()
    warnings: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()  # names and numbers of the text that no source holds; warned of too
    cut: bool = False  # for its length; "Go on" asks for the rest


@dataclass(frozen=True, slots=True)
class Trace:
    """How an answer came about. `gate` holds the gate's features and score; `timings` seconds by part."""

    calls: tuple[ModelCall, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    dropped: tuple[str, ...] = ()
    gate: Mapping[str, float] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Turn:
    """A question and what became of it. `partial` is the text so far while it is running, or when it was stopped."""

    id: str
    thread: str
    parent: str | None
    request_id: str
    question: Question
    state: TurnState
    created_at: datetime
    answer: Answer | None = None
    trace: Trace = field(default_factory=Trace)
    partial: str = ""
    step: str = ""  # what was done so far and is being done, in words, a step a line
    error: str = ""


@dataclass(frozen=True, slots=True)
class Rating:
    """What a reader thinks of an answer, and in a few words why."""

    turn: str
    good: bool
    why: str
    created_at: datetime


# --- events ---


@dataclass(frozen=True, slots=True)
class Asked:
    """The question is stored; `known` is whether it was already, under the same request_id."""

    turn: Turn
    known: bool = False


@dataclass(frozen=True, slots=True)
class Working:
    """Something began: `step` in plain words."""

    step: str


@dataclass(frozen=True, slots=True)
class Waiting(Working):
    """Nothing is done yet, since others come first; what is said next takes the place of this."""


@dataclass(frozen=True, slots=True)
class Withdrawn(Working):
    """All Text until now was no answer; another may follow."""


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the answer that will stand, unless it is Withdrawn."""

    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The turn as it is stored; always the last event."""

    turn: Turn


Event = Asked | Working | Text | Finished


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a load has come: "fetched", "embedding" (done of total chunks), "stored"."""

    step: Literal["fetched", "embedding", "stored"]
    done: int = 0
    total: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The end of a load. `embedded` chunks were new, `reused` came from the build before."""

    person: Person
    build: Build
    embedded: int
    reused: int
    seconds: float
    advice: str = ""  # for instance that the embedder does not know the page's language
