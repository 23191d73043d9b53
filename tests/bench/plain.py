"""The plain pipeline: what the stages come to when each is one model call and nothing is decided without the model.

A follow-up is rewritten. The model names a section, which is filtered by whatever it said, and answers from it; else it
scores the ten nearest sections, one call each, and answers from the best of those with 5 and more; else n-grams pick a
section, and it answers from that. Whole sections are the chunks, each called by its own heading alone; the Introduction
is one of them and goes with no other; there is no gate, no example and no schema. Whether a reply is NOT FOUND is asked
only once it is complete, so nothing is streamed. Each call is one user message; the rating one has the question first, as
LangChain's LLMChainFilter, the answering one has it last. With the text first, a server that keeps the prompts of all
sections would read less of the ratings, and with a small cache no less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from persona.cases import Case
from persona.ngrams import NgramIndex
from persona.ports import ChatModel, Embedder, Vectors
from persona.records import ChatRequest, Message, Page
from persona.replies import is_not_found, score
from tests.bench.contender import LONGEST, Measured, Pages, Said, turn

SCORED = 10  # sections, one call each
KEPT_FROM = 5

_REWRITE = """Given the conversation below and a follow-up question, rewrite the follow-up question so that it can be understood on its own.

{history}

Follow-up question: {question}
Standalone question:"""
_CATEGORIZE = """Here is a list of the sections of a page about {name}:

{names}

Which one of these sections would hold the answer to the following question? Reply with the name of the section exactly as it stands in the list and nothing else.

Question: {question}
Section:"""
_ANSWER = """You are {name} and you are being interviewed. Answer the question in the first person, in one or two short sentences, using only the context below. If the context does not hold the answer, reply NOT FOUND and nothing else.

Context:
{context}

Question: {question}
Answer:"""
_SCORE = """Rate from 0 to 10 how relevant the text is to the question. Reply with the number and nothing else.

Question: {question}
Text:
{context}

Score:"""


@dataclass(frozen=True)
class _Index:
    names: Sequence[str]
    texts: Sequence[str]
    vectors: Vectors
    ngrams: NgramIndex


class Plain:
    """Implements Contender over one chat model and embedder."""

    def __init__(self, model: ChatModel, embedder: Embedder, pages: Pages) -> None:
        self._model, self._embedder, self._pages = model, embedder, pages
        self._indexes: dict[str, _Index] = {}

    def ask(self, case: Case) -> Measured:
        """See Contender."""
        index = self._index(self._pages(case.page))
        measured: list[Measured] = []
        with turn(case, measured) as said:
            self._answer(case, index, said)
        return measured[0]

    def _answer(self, case: Case, index: _Index, said: Said) -> None:
        question = self._rewritten(case)
        nearest = [int(i) for i in np.argsort(-(index.vectors @ self._embedder.embed([question])[0]))]
        for stage in (self._category, self._ranked, self._ngrams):
            chosen = stage(case.page, question, index, nearest)
            if not chosen:
                continue
            context = "\n\n".join(index.texts[i] for i in chosen)
            reply = self._ask(_ANSWER.format(name=case.page, context=context, question=question))
            if not is_not_found(reply):
                said.text, said.passages, said.stage = reply, [context], stage.__name__.strip("_")
                return

    def _rewritten(self, case: Case) -> str:
        if not case.history:
            return case.question
        names = {"user": "Interviewer"}
        history = "\n".join(f"{names.get(who, case.page)}: {text}" for who, text in case.history)
        return self._ask(_REWRITE.format(history=history, question=case.question)) or case.question

    def _category(self, name: str, question: str, index: _Index, nearest: Sequence[int]) -> list[int]:
        """The nearest of the sections that are called what the model said: one or none."""
        names = "\n".join(index.names)
        named = self._ask(_CATEGORIZE.format(name=name, names=names, question=question))
        return [i for i in nearest if index.names[i] == named][:1]

    def _ranked(self, _: str, question: str, index: _Index, nearest: Sequence[int]) -> list[int]:
        """The best of the ten nearest."""
        scores = {
            i: score(self._ask(_SCORE.format(context=index.texts[i], question=question))) or 0 for i in nearest[:SCORED]
        }
        best = max(scores, key=lambda i: scores[i])
        return [best] if scores[best] >= KEPT_FROM else []

    def _ngrams(self, _: str, question: str, index: _Index, __: Sequence[int]) -> list[int]:
        """The section that shares most of the question's words."""
        scores = index.ngrams.scores(question)
        return [int(scores.argmax())] if scores.any() else []

    def _ask(self, text: str) -> str:
        request = ChatRequest((Message("user", text),), LONGEST)
        return "".join(delta.text for delta in self._model.chat(request)).strip()

    def _index(self, page: Page) -> _Index:
        if page.title not in self._indexes:
            names = [section.path[-1] for section in page.sections]
            texts = [f"{name}\n{section.text}" for name, section in zip(names, page.sections, strict=True)]
            ngrams = NgramIndex(texts, page.language)
            self._indexes[page.title] = _Index(names, texts, self._embedder.embed(texts), ngrams)
            ngrams.scores("ready")  # what is made when it is first needed is no turn's to pay
        return self._indexes[page.title]
