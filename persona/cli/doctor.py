"""`doctor`: what is set up, what is not, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from persona.cli import session
from persona.cli.output import Waiting, line, say, write_json

if TYPE_CHECKING:
    from persona.checkup import Check

_MARKS = {"ok": ("✓", "green"), "off": ("–", "dim"), "warning": ("!", "yellow"), "error": ("✗", "red")}


def doctor(as_json: bool) -> bool:
    """Look at everything and tell; whether somebody can answer and the stores are sound."""
    from persona.checkup import CHECKS, in_words, is_sound, look

    wiring = session.make_wiring()
    checks: list[Check] = []
    with Waiting(quiet=as_json) as waiting:
        for name in CHECKS:
            waiting.at(f"looking at the {name}")
            checks += look(wiring, [name])
    sound = is_sound(checks)
    if as_json:
        write_json({"ok": sound, "state": in_words(sound), "checks": [_as_data(check) for check in checks]})
    else:
        _tell(checks)
        say(f"\n{in_words(sound)}", style="bold")
    return sound


def _as_data(check: Check) -> dict[str, Any]:
    return {
        "name": check.name,
        "state": check.state,
        "message": check.message,
        "remedy": check.remedy,
        "details": dict(check.details),
    }


def _tell(checks: list[Check]) -> None:
    for check in checks:
        mark, style = _MARKS[check.state]
        say(f"{mark} {check.name}: {line(check.message)}", style=style)
        if check.remedy:
            say(f"    {line(check.remedy)}")
