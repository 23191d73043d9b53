"""What stands in a bubble: every text as text, every source under its number."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest

from persona.records import Answer, Attempt, Chunk, Evidence, Question, Source, Trace, Turn, now
from persona.ui.bubbles import ended, looked_at, progress, said, sources

HOSTILE = "$5 <b>b</b> <img src=http://127.0.0.1:9/x> :red[x] ![x](http://127.0.0.1:9/x) </div> &amp; \" '"


def a_turn(answer: Answer | None = None, **fields: object) -> Turn:
    made = Turn("t", "h", None, "r", Question("Who?", "Who?"), "done", now(), answer)
    return replace(made, **fields)  # type: ignore[arg-type]


def a_source(number: int = 1, section: str = "Life", url: str = "https://wiki.test/wiki/Ada?oldid=7#Life") -> Source:
    return Source(number, section, url, "7", "She kept the light. It was hers.", 0.5, ((0, 19),))


def shown(body: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", body))


def tags(body: str) -> set[str]:
    return set(re.findall(r"<(\w+)", body))


def test_what_is_said_is_shown_as_it_is() -> None:
    assert shown(said(HOSTILE)) == HOSTILE
    assert tags(said(HOSTILE)) == {"div"}


def test_words_that_no_source_holds_are_marked_whole_and_nothing_else() -> None:
    body = said("In 1899 I went to New York & York, not to Yorkshire. <1899>", ["York", "New York", "1899"])
    assert re.findall(r'class="doubtful"[^>]*>(.*?)</span>', body) == ["1899", "New York", "York", "1899"]
    assert shown(body) == "In 1899 I went to New York & York, not to Yorkshire. <1899>"


def test_three_sources_are_three_with_page_section_revision_and_link() -> None:
    found = [a_source(1), a_source(2, "Life -> *Work*"), a_source(3, HOSTILE, "")]
    body = sources(found, "Ada <Marsh>")
    headings = [unescape(text) for text in re.findall(r"<summary>(.*?)</summary>", body)]
    assert headings == ["1. Life", "2. Life › *Work*", f"3. {HOSTILE}"]
    assert body.count('href="https://wiki.test/wiki/Ada?oldid=7#Life"') == 2
    assert shown(body).count("Open this section of Ada <Marsh>, as of revision 7") == 2
    assert "From Ada <Marsh>, a text on this computer, version 7." in shown(body)
    assert re.findall(r"<mark[^>]*>(.*?)</mark>", body) == ["She kept the light."] * 3
    assert sources([], "Ada") == ""


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "//elsewhere.example", ""])
def test_only_addresses_of_the_web_become_links(url: str) -> None:
    assert "<a " not in sources([a_source(url=url)], "Ada")


def test_an_address_cannot_leave_its_attribute() -> None:
    body = sources([a_source(url='https://wiki.test/"onmouseover="x')], "Ada")
    assert 'href="https://wiki.test/%22onmouseover=%22x"' in body


def test_a_refusal_has_its_reason_what_was_looked_at_and_no_sources() -> None:
    chunks = [Chunk(f"c{n}", n, ("Life", f"Part {n}"), "text", "") for n in range(6)]
    attempt = Attempt("ranked", tuple(Evidence("ranked", chunk, 0.1) for chunk in chunks), "not found")
    answer = Answer("My page doesn't tell.", False, "refused", reason="the page is silent")
    body = ended(a_turn(answer, trace=Trace(attempts=(attempt, attempt))), "Ada")
    assert "Why there is no answer: The page is silent." in shown(body)
    assert "Looked at: 6 passages, in “Part 0”, “Part 1”, “Part 2”, “Part 3” and 2 more." in shown(body)
    assert "<details" not in body


def test_what_the_gate_refused_was_looked_for_on_the_whole_page_and_small_talk_nowhere() -> None:
    assert looked_at(a_turn(trace=Trace(gate={"score": 0.1}))).startswith("Looked at: the whole page")
    assert looked_at(a_turn()) == ""


def test_the_steps_are_listed_and_the_last_is_being_done() -> None:
    body = progress(a_turn(step="searching\nlooking in “<b>”", partial="I kept"), 3.2)
    assert [unescape(text) for text in re.findall(r'<li class="done">(.*?)</li>', body)] == ["Searching"]
    assert "Looking in “<b>” … 3.2 s" in shown(body)
    assert "I kept ▌" in shown(body)
    assert "Starting … 0.1 s" in shown(progress(a_turn(), 0.1))


@pytest.mark.parametrize(
    ("state", "partial", "says"),
    [
        ("stopped", "I kept", "Stopped. What had come until then is kept."),
        ("stopped", "", "Stopped before an answer had come."),
        ("failed", "I kept", "This answer broke off; what had come until then is kept."),
        ("failed", "", ""),
    ],
)
def test_a_turn_that_broke_off_keeps_what_came_and_says_so(state: str, partial: str, says: str) -> None:
    body = ended(a_turn(state=state, partial=partial), "Ada")
    assert shown(body) == partial + says
    assert ('class="said"' in body) == bool(partial), "no bubble is empty"
