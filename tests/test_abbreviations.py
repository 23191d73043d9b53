"""Abbreviations that a page spells out."""

from __future__ import annotations

import pytest

from persona.abbreviations import abbreviations, spelled_out


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("He built a mill for alternating current (AC) in town.", {"AC": "alternating current"}),
        ("the Office of Sea Marks (OSM)", {"OSM": "Office of Sea Marks"}),
        (
            "the Guild of Lamp Makers (GLM) and the Deutsche Bahn (DB)",
            {"GLM": "Guild of Lamp Makers", "DB": "Deutsche Bahn"},
        ),
        ("the school for the long-lived union (SLU)", {}),
        ("She met Ole (OLE) and Anna (a nurse) in May (1850)", {}),
        ("", {}),
    ],
)
def test_the_words_whose_first_letters_they_are_made_of(text: str, found: dict[str, str]) -> None:
    assert abbreviations([text]) == found


def test_a_question_is_told_what_they_stand_for() -> None:
    known = {"AC": "alternating current"}
    assert spelled_out("What does AC stand for?", known) == "What does AC (alternating current) stand for?"
    assert spelled_out("Who made the ACME machine?", known) == "Who made the ACME machine?"
    assert spelled_out("", known) == ""
