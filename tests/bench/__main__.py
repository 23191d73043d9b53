"""The contest on the command line: `python -m tests.bench CASES OUT [--against plain,llamaindex]`.

Exit codes: 0 done, 1 an error or a plain pipeline that is not the yardstick it should be, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from persona.adapters.markdown import read_markdown, samples
from persona.cases import read_cases
from persona.errors import InputError, PersonaError
from persona.records import Choice, Page
from persona.wiring import Wiring
from tests.bench import report
from tests.bench.chart import chart
from tests.bench.contender import Pages
from tests.bench.contest import NAMES, OURS, Contest, Server, builtin, read_report, write_report


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments ask for; the exit code."""
    options = _options(arguments)
    try:
        return _run(options)
    except PersonaError as error:
        _tell(str(error))
        return 1
    except KeyboardInterrupt:
        _tell(f"Interrupted. What was measured is in {options.out}; the same command goes on there.")
        return 130


def _run(options: argparse.Namespace) -> int:
    limits = report.Limits.read(options.plain_calls), report.Limits.read(options.plain_tokens)
    names = _names(options.against)
    cases = read_cases([options.cases])[: options.limit or None]
    if not cases:
        raise InputError(f"{options.cases} holds no case.")
    wiring = Wiring()
    server = _given(options.server) if options.server else builtin(wiring)
    model = "" if options.server else wiring.builtin.model.stem
    contest = Contest(cases, options.out, wiring, _pages(wiring), server, _tell, model)
    contest.described["server"] = options.server or "builtin"
    turns = contest.run(names)
    written = _finished(options.out, report.summary(turns))
    drawing = options.out.with_suffix(".svg")
    drawing.write_text(chart(written), "utf-8")
    print(report.table(written), report.parts_table(written), sep="\n\n")
    _tell(f"The report is {options.out}, its plot {drawing}.")
    complaints = report.complaints(turns["plain"], *limits) if "plain" in turns else []
    for complaint in complaints:
        _tell(f"Not a fair yardstick: {complaint}.")
    return 1 if complaints else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("cases", type=Path, help="one case, a JSON object, a line")
    parser.add_argument("out", type=Path, help="the report (JSON); its plot is written beside it")
    parser.add_argument("--against", default="plain,llamaindex", help=f"of {', '.join(n for n in NAMES if n != OURS)}")
    parser.add_argument("--limit", type=int, default=0, help="only the first so many cases")
    parser.add_argument(
        "--server", default="", help="an OpenAI-style server's address with /v1, not the built-in model"
    )
    parser.add_argument(
        "--plain-calls", default="", metavar="LOW-HIGH", help="model calls a turn of the plain pipeline"
    )
    parser.add_argument("--plain-tokens", default="", metavar="LOW-HIGH", help="prompt tokens that it sends a turn")
    return parser.parse_args(arguments)


def _names(against: str) -> list[str]:
    """Ours, then the others from the quickest to the slowest."""
    wanted = {name.strip() for name in against.split(",") if name.strip()}
    if unknown := wanted - set(NAMES):
        raise InputError(f"There is no contender {', '.join(sorted(unknown))}. AGAINST takes plain and llamaindex.")
    return [name for name in (OURS, "llamaindex", "plain") if name == OURS or name in wanted]


def _given(address: str) -> Server:
    """Somebody else's server: whether it was started afresh is theirs to see to."""

    @contextmanager
    def served(_: str) -> Iterator[str]:
        yield address.rstrip("/")

    return served


def _pages(wiring: Wiring) -> Pages:
    """A page is fetched once; the samples need no network."""

    @cache
    def page(title: str) -> Page:
        for path in samples():
            sample = read_markdown(path, "sample")
            if sample.title == title:
                return sample
        found = wiring.wiki.fetch(title, wiring.settings.language)
        if isinstance(found, Choice):
            raise InputError(f"The cases speak of “{title}”, and there is no such page. Correct them.")
        return found

    return page


def _finished(out: Path, figures: dict[str, Any]) -> dict[str, Any]:
    """The report with the figures in it, as it is written."""
    written = read_report(out)
    for name, stored in written["contenders"].items():  # of those not asked for now, the turns are kept
        turns = {"run": stored["run"], "turns": stored["turns"]}
        written["contenders"][name] = figures["contenders"].get(name, {}) | turns
    written |= {"ratios": figures["ratios"], "ratios_of_medians": figures["ratios_of_medians"], "complete": True}
    write_report(out, written)
    return written


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the model's server is ended then, too
    sys.exit(main())
