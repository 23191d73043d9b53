"""The small buttons under a turn, as one element: a hundred turns with eight widgets each would make a page slow."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import streamlit as st

Action = Literal["previous", "next", "copy", "edit", "again", "reply", "good", "bad"]
_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Tool:
    """One button; `pressed` only for what can be on and off."""

    name: Action
    label: str
    pressed: bool | None = None
    disabled: bool = False


def toolbar(key: str, tools: list[Tool], text: str, place: str, clicked: Callable[[Action], None]) -> None:
    """Draw it. Copying `text` is done in the browser; any other click calls `clicked`. `place` stands after the first."""

    def told() -> None:
        action = st.session_state[key].action
        if action:
            clicked(action)

    actions = [{name: value for name, value in asdict(tool).items() if value is not None} for tool in tools]
    # as a text, since streamlit looks through everything else for tables, which takes longer than all the rest
    data = json.dumps({"actions": actions, "text": text, "place": place})
    _component()(data=data, key=key, on_action_change=told)


@cache
def _component() -> Any:  # noqa: ANN401 - streamlit's own type of a mounted component is private
    return st.components.v2.component(
        "persona_toolbar",
        html='<div class="bar" role="group" aria-label="This answer"></div>',
        css=(_HERE / "toolbar.css").read_text("utf-8"),
        js=(_HERE / "toolbar.js").read_text("utf-8"),
    )
