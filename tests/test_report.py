"""The report of a run: figures, plots, cases with their traces, failures first, nothing unescaped, nothing remote."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from markupsafe import escape
from playwright.sync_api import Browser

from persona.cases import Case
from persona.evaluation import Outcome, Passage, figures
from persona.plots import Axis, Series, mirrored, stacked
from persona.records import Attempt, Chunk, Evidence, Message, ModelCall, Trace
from persona.report import Results, as_html, marked
from persona.rewriting import RewriteOutcome, judged
from persona.rewriting import figures as rewrite_figures
from tests.test_browser import browser

__all__ = ["browser"]
HOSTILE = "<script>alert(1)</script>&\"'{{ 7 * 7 }}<img src=https://evil.test/x.png>"
RUN = {"mode": "turns", "files": ["cases.jsonl"], "only": "", "pages": {"Ada Marsh": "12"}, "settings": {"model": "m-1", "rewrite_model": "m-2"}}  # fmt: skip
FATHER = Case("father", "Ada Marsh", "Who was your father?", answers=("Josiah Marsh",), section=("Early life",))
SKY = Case("sky", "Ada Marsh", "Why is the sky blue?", answerable=False, tags=("off-topic",))
CHUNK = Chunk("c1", 0, ("Early life",), "Her father was Josiah Marsh.", "")
OTHER = Chunk("c2", 1, ("Career",), "She kept the lamp.", "")


def call(text: str, reply: str) -> ModelCall:
    return ModelCall("answer", "m-1", "abc123", (Message("user", text),), reply, 10, 5, 0, 1.0, 1)


TRACE = Trace(
    calls=(call("Passages: …", "NOT FOUND"),),
    attempts=(Attempt("ranked", (Evidence("ranked", CHUNK, 0.9), Evidence("ranked", OTHER, 0.4)), "not found"),),
)
RIGHT = Outcome(
    "father", FATHER.question, (), answerable=True, off_topic=False, answer="It was Josiah Marsh, I think.", found=True,
    stage="ranked", right=True, right_first=True, gate=0.97, threshold=0.48, kept=True, first_person=True, calls=1,
    passages=(Passage("Early life", CHUNK.text, 0.9, True),), trace=TRACE,
)  # fmt: skip
WRONG = replace(RIGHT, id="wrong", answer="It was Enoch Pike.", right=False, fault="it holds no accepted answer")
REFUSED = Outcome(
    "sky", SKY.question, SKY.tags, answerable=False, off_topic=True, answer="My page doesn't tell.", stage="refused",
    refused_right=True, gate=0.02, threshold=0.48, kept=False,
)  # fmt: skip


def html(*made: Outcome, **given: object) -> str:
    cases = [replace(SKY if one.off_topic else FATHER, id=one.id) for one in made]
    return as_html(
        Results(**({"run": RUN, "made": made, "figures": {"figures": figures(made)}, "cases": cases} | given))
    )  # type: ignore[arg-type]


def plot(page: str, title: str) -> str:
    (found,) = re.findall(rf"<strong>{title}</strong>.*?(<svg.*?</svg>)", page, re.DOTALL)
    return found


def test_failures_come_first_and_each_case_says_what_became_of_it():
    page = html(RIGHT, REFUSED, WRONG)
    assert re.findall(r'class="verdict \w+">([^<]+)<', page) == ["wrong", "right", "refused rightly"]
    assert "1 failed" in page
    assert "it holds no accepted answer" in page


def test_figures_are_shown_with_their_counts_and_shares():
    page = html(RIGHT, WRONG, REFUSED)
    assert re.search(r"answered right</td><td[^>]*>1 of 2</td><td[^>]*>0\.500</td>", page)
    assert "width:50.0%" in page


def test_the_gates_scores_are_plotted_on_either_side_of_the_threshold():
    svg = plot(html(RIGHT, WRONG, REFUSED), "The gate’s scores")
    assert "threshold 0.480" in svg
    bound = float(re.search(r'class="bound" x1="([\d.]+)"', svg)[1])  # type: ignore[index]
    places = {kind: float(x) for kind, x in re.findall(r'<rect class="(own|off)" x="([\d.]+)"', svg)}
    assert places["off"] < bound < places["own"]
    assert "<title>2 own questions</title>" in svg


def test_stages_are_plotted_by_outcome():
    svg = plot(html(RIGHT, WRONG, replace(WRONG, id="w2"), REFUSED), "Stage by outcome")
    widths = {kind: float(width) for kind, width in re.findall(r'<rect class="([\w-]+)" .*? width="([\d.]+)"', svg)}
    assert widths["wrong"] == pytest.approx(2 * widths["right"], abs=0.2)
    assert widths["refused-rightly"] == pytest.approx(widths["right"], abs=0.2)


def test_a_case_shows_its_trace_with_what_holds_the_answer_marked():
    page = html(WRONG)
    assert "<mark>Josiah Marsh</mark>" in page
    assert page.count('title="holds the answer">✓') == 2, "in the stage's passages and in the search's"
    for text in ("NOT FOUND", "abc123", "Passages: …", "She kept the lamp.", "not found"):
        assert text in page


def test_a_run_is_compared_with_the_one_before():
    before = {"answered_right": {"n": 1, "of": 1}, "calls_per_turn": 2.0}
    page = html(WRONG, earlier={"wrong": replace(RIGHT, id="wrong")}, before=before)
    assert 'data-change="worse"' in page
    assert "It was Josiah Marsh, I think." in page
    assert re.search(r'class="n bad">1 of 1\s1\.000 ▼', page)
    assert re.search(r'class="n good">2 ▲', page), "fewer calls are better"


def test_what_the_run_records_is_shown():
    page = html(RIGHT)
    for text in ("pages Ada Marsh", "12", "settings model", "m-1"):
        assert text in page
    assert "interrupted" not in page
    assert "interrupted" in html(RIGHT, cases=[FATHER, SKY])


def test_every_text_is_escaped_and_nothing_is_asked_of_another_address():
    hostile = replace(
        WRONG,
        id=HOSTILE, question=HOSTILE, tags=(HOSTILE,), answer=HOSTILE, reason=HOSTILE, standalone=HOSTILE, warnings=(HOSTILE,), fault=HOSTILE,
        passages=(Passage(HOSTILE, HOSTILE, 0.9, False),),
        trace=Trace(
            calls=(replace(call(HOSTILE, HOSTILE), model=HOSTILE, error=HOSTILE),),
            attempts=(Attempt("ranked", (Evidence("ranked", replace(CHUNK, path=(HOSTILE,), text=HOSTILE), 0.5),), HOSTILE, HOSTILE),),
            dropped=(HOSTILE,),
        ),
    )  # fmt: skip
    case = Case(
        HOSTILE,
        HOSTILE,
        HOSTILE,
        (("user", HOSTILE), ("persona", HOSTILE)),
        answers=("alert",),
        section=(HOSTILE,),
        rewrite=HOSTILE,
    )
    page = html(hostile, cases=[case], run=RUN | {"files": [HOSTILE], "pages": {HOSTILE: HOSTILE}})
    bare = page.replace("<mark>alert</mark>", "alert")
    assert bare.count("<script") == 1
    assert "<img" not in bare
    assert "49" not in re.sub(r"[\d.]{3,}", "", bare)
    assert bare.count(str(escape(HOSTILE))) > 15
    assert not re.search(r"(?:src|href)=|url\(|@import|https?:", bare.replace(str(escape(HOSTILE)), ""))


def test_accepted_answers_are_marked_whatever_their_case():
    assert marked("the Moor & the SEA", ("moor", "sea", "")) == "the <mark>Moor</mark> &amp; the <mark>SEA</mark>"
    assert marked("a < b", ()) == "a &lt; b"


# --- searching, rewriting ---


def test_a_search_is_shown_without_stages_and_with_the_rank_of_the_right_passage():
    searched = Outcome(
        "father", FATHER.question, (), answerable=True, off_topic=False, right_first=False, right_top3=True, gate=0.9, threshold=0.48, kept=True,
        passages=(Passage("Career", OTHER.text, 0.9, False), Passage("Early life", CHUNK.text, 0.8, True)),
    )  # fmt: skip
    page = html(searched, run=RUN | {"mode": "retrieval"})
    assert "in the top 3" in page
    assert "Stage by outcome" not in page
    svg = plot(page, "Rank of the right passage")
    assert re.findall(r'class="sum"[^>]*>(\d+)<', svg) == ["0", "1", "0", "0", "0"]


def test_rewriting_shows_ours_beside_the_plain_prompt():
    case = Case(
        "s",
        "Ada Marsh",
        "Which ship?",
        (("user", "When?"), ("persona", "In 1871.")),
        rewrite="Which ship did Ada Marsh save in 1871?",
    )
    ours = judged(case, "Which ship did Ada save?", call("a", "b"), rejected=False)
    outcome = RewriteOutcome("s", case.question, (), case.rewrite, ours, judged(case, "Which ship of Napoleon?", None))
    both = {"figures": rewrite_figures([outcome.ours]), "plain": rewrite_figures([outcome.plain])}
    page = as_html(Results(RUN | {"mode": "rewrite"}, [outcome], both, [case]))
    assert re.search(r"names held</td><td[^>]*>1 of 3</td>", page)
    assert "some names held" in page
    assert '<span class="chip good">ada</span>' in page
    assert '<span class="chip gone">1871</span>' in page
    assert "invented: napoleon" in page
    assert re.findall(r'<rect class="(near|right|wrong)"', plot(page, "Names held")) == ["near", "wrong"]
    assert "m-2" in page


# --- plots ---


def test_values_beyond_an_axis_stand_at_its_ends():
    axis = Axis(lambda value: value, [(0.5, "half")], 4, "share")
    svg = mirrored(Series("a", "own", [-1.0, 0.1, 2.0]), Series("b", "off", []), axis, {})
    assert re.findall(r"<title>(\d) a</title>", svg) == ["2", "1"]
    assert 'class="off"' not in svg


def test_names_in_a_plot_are_escaped():
    assert "<b>" not in stacked({"<b>": {"right": 1}}, "<b>")


# --- in a browser ---


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_can_be_filtered_and_asks_for_nothing(browser: Browser, tmp_path: Path, width: int):
    file = tmp_path / "report.html"
    file.write_text(html(RIGHT, WRONG, REFUSED), "utf-8")
    page = browser.new_page(viewport={"width": width, "height": 900})
    asked, trouble = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto(file.as_uri())
    shown = page.locator(".case:visible")
    assert shown.count() == 3
    page.select_option("#verdict", "wrong")
    assert shown.count() == 1
    page.select_option("#verdict", "")
    page.fill("#words", "sky")
    assert shown.count() == 1
    assert page.locator("#count").inner_text() == "1 of 3"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.fill("#words", "")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".case[open]").count() == 1, "failures are printed whole"
    page.close()
    assert (asked, trouble) == ([file.as_uri()], [])
