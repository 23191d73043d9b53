"""An answer held to its passages: as it comes, and once it is whole.

What the passages do not support is not shown; what is shown gets its sources and warnings. Knows nothing of stages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from persona.records import Answer, Build, Evidence, Question, Stage
from persona.sources import invented_quotation, is_echo, is_supported, make_sources, unsupported
from persona.steps import Reply
from persona.text import sentences

_LONG_SENTENCE = 300  # characters after which a first sentence is judged as far as it came


def checked(
    pieces: Iterator[str], asked: str, passages: Sequence[str], reply: Reply, build: Build, language: str
) -> Iterator[str]:
    """The answer as it comes, once its first sentence is known to be supported; `reply.found` is put right.

    For a living person only when all of it has come, and is known to invent no quotation.
    """
    about = build.title, language
    first = _sentences(pieces, 1, language)
    if first and not is_supported(first, asked, passages, *about) and is_echo(first, asked, *about):
        first = _sentences(pieces, 2, language, first)  # "Yes, my hand healed." may go on to say how
    if not first or not is_supported(first, asked, passages, *about):
        reply.found = False
        return
    if not build.living:
        yield first
        yield from pieces
        return
    text = first + "".join(pieces)
    reply.found = not invented_quotation(text, passages)
    if reply.found:
        yield text


def whole_answer(
    said: str,
    stage: Stage,
    evidence: Sequence[Evidence],
    passages: Sequence[str],
    question: Question,
    build: Build,
    language: str,
) -> Answer:
    """The answer with its sources, and with a warning for each name and number that none of them holds."""
    ranked = sorted(evidence, key=lambda item: -item.score)
    missing = unsupported(said, passages, f"{question.standalone} {question.asked} {build.title}", language)
    warnings = tuple(f"“{name}” is in no source" for name in missing)
    sources = make_sources(build, ranked, said, language)
    return Answer(said, True, stage, sources=sources, warnings=warnings, unsupported=missing)


def _sentences(pieces: Iterator[str], count: int, language: str, held: str = "") -> str:
    """What came until so many sentences were whole, or very long."""
    for piece in pieces:
        held += piece
        if len(held) > count * _LONG_SENTENCE or len(sentences(held, language)) > count:
            break
    return held
