"""What the pages make of texts and facts, without a page."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from persona.errors import WikiBusy
from persona.jobs import UNEXPECTED, Job, Jobs
from persona.records import Build, Person, Picture, Progress
from persona.text import count
from persona.ui.about import badge, facts
from persona.ui.text import JOINER, day, initials, link, marked, plain, seconds, sentence, table

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
NASTY = [
    "$5 million and $10 million",
    "<b>bold</b> <img src=http://elsewhere.example/x.png>",
    ":red[x] :smile: :streamlit: :material/home: :material_home:",
    "![x](http://elsewhere.example/x.png) [y](javascript:alert)",
    "~~x~~ **y** __z__ `code` *a* _b_",
    "# a heading",
    "- a list\n- of two",
    "1. one\n2) two",
    "    four blanks in front",
    "> quoted\n\n---\n\n===",
    "a | b\n--|--\nc | d",
    "http://elsewhere.example www.elsewhere.example me@elsewhere.example",
    "a -> b <- c <-> d -- e >= f <= g ~= h",
    "&amp; &#42; \\* \\",
    "```python\nprint()\n```",
    "[ref]: http://elsewhere.example\n[ref]",
]
# what Streamlit's page replaces in a text after Markdown was read
REPLACED = re.compile(r":[\w+-]+:|:material|https?://|www\.|@\w|->|<-|--|[<>~]=", re.IGNORECASE)


def shown(source: str) -> list[str]:
    """The paragraphs that Markdown shows; fails if it makes anything else of the source."""
    paragraphs = []
    for token in MARKDOWN.parse(source):
        assert token.type in {"paragraph_open", "inline", "paragraph_close"}, token
        if token.type == "inline":
            paragraphs.append("".join(map(_text, token.children or [])))
    return paragraphs


def _text(token: Token) -> str:
    if token.type in {"hardbreak", "softbreak"}:
        assert token.type == "hardbreak", "a line end that is not shown"
        return "\n"
    assert token.type in {"text", "text_special"}, token
    return token.content


def expected(text: str) -> list[str]:
    lines = [
        line.strip() for line in re.split(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", text.replace("\0", "\ufffd"))
    ]
    return [part.strip("\n") for part in re.split(r"\n\n+", "\n".join(lines)) if part.strip("\n")]


@given(st.text() | st.text(st.sampled_from("$*_`<>[]()!:~#|\\-+=&@./ \n1ab")))
@example("\n".join(NASTY))
def test_plain_text_is_shown_as_it_is_with_its_paragraphs(text: str) -> None:
    assert [part.replace(JOINER, "") for part in shown(plain(text))] == [p.replace(JOINER, "") for p in expected(text)]


@given(st.text(st.sampled_from(":/@.-<>=~wWhtps_+1ab ")))
@example("\n".join(NASTY))
def test_nothing_is_left_that_streamlit_replaces_after_markdown(text: str) -> None:
    assert not REPLACED.search("\n".join(shown(plain(text))))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.tags: set[str] = set()
        self.marks: list[str] = []
        self._in_mark = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag == "mark":
            self.marks.append("")
            self._in_mark = True

    def handle_endtag(self, tag: str) -> None:
        self._in_mark = self._in_mark and tag != "mark"

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._in_mark:
            self.marks[-1] += data


def read(source: str) -> _Reader:
    reader = _Reader()
    reader.feed(source)
    reader.close()
    return reader


@given(st.text(), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30))))
def test_marked_text_is_the_text_with_nothing_but_marks_in_it(text: str, spans: list[tuple[int, int]]) -> None:
    found = read(marked(text, spans))

    assert found.text == text
    assert found.tags <= {"div", "mark"}
    wanted = {at for start, end in spans for at in range(start, min(end, len(text)))}
    assert sum(map(len, found.marks)) == len(wanted)


def test_marks_are_where_the_spans_are() -> None:
    assert read(marked("One. Two. Three.", [(5, 9), (0, 4)])).marks == ["One.", "Two."]


def test_a_table_escapes_what_is_in_its_cells() -> None:
    found = read(table(("a", "b"), [("<b>x</b>", "&amp;")]))

    assert found.tags == {"div", "table", "tr", "th", "td"}
    assert found.text == "ab<b>x</b>&amp;"


def test_a_wide_table_names_its_cells_for_a_narrow_screen() -> None:
    made = table(("a", "b", "c", 'd"><b>'), [("1", "2", "3", "4")])

    assert '<table class="wide"' in made
    assert re.findall(r'data-name="([^"]*)"', made) == ["a", "b", "c", "d&quot;&gt;&lt;b&gt;"]
    assert read(made).tags == {"div", "table", "tr", "th", "td"}
    assert 'class="wide"' not in table(("a", "b"), [("1", "2")])


def test_a_link_leads_to_web_addresses_only_and_cannot_be_broken_out_of() -> None:
    assert link("x", "javascript:alert(1)") == "x"
    made = link("[a]", "https://wiki.example/A_(b)?oldid=1#C<d>")
    (inline,) = [token for token in MARKDOWN.parse(made) if token.type == "inline"]
    opened, label, closed = (token for token in inline.children or [] if token.type != "text_special" or token.content)
    assert opened.attrGet("href") == "https://wiki.example/A_%28b%29?oldid=1#C%3Cd%3E"
    assert (label.content, closed.type) == ("[a]", "link_close")


def test_sentences_numbers_and_days_read_as_people_write_them() -> None:
    assert sentence("nothing was found") == "Nothing was found."
    assert sentence("Really?") == "Really?"
    assert (count(1, "interview"), count(0, "interview"), count(1200, "passage")) == (
        "1 interview",
        "0 interviews",
        "1,200 passages",
    )
    assert (seconds(0.42), seconds(12.4), seconds(125)) == ("0.4 s", "12 s", "2 min 5 s")
    assert day(datetime(2026, 3, 5, 12, tzinfo=UTC)) == "5 March 2026"


# --- facts about a person ---

MOMENT = datetime(2026, 3, 5, 12, tzinfo=UTC)


def person(source: str, api: str = "", language: str = "en") -> Person:
    return Person("p", source, api, language, "Ines Varga", "77", "b")


def build(sections: tuple[str, ...] = (), *, living: bool = False) -> Build:
    url = "https://en.wikipedia.org/wiki/Ines_Varga"
    paths = tuple((name,) for name in sections)
    return Build("b", "p", "Ines Varga", url, "77", MOMENT, "e", 3, "c", paths, 4, (), living, "A diver", MOMENT)


def test_the_badge_names_page_revision_date_and_licence_with_links() -> None:
    revised = replace(build(), revised_at=MOMENT - timedelta(days=4))
    text = badge(person("wikipedia", "https://en.wikipedia.org/w/api.php"), revised).replace("\\", "")

    page = "[Wikipedia, revision 77 of 1 March 2026](https://en.wikipedia.org/wiki/Ines_Varga?oldid=77)"
    licence = "[CC BY-SA 4.0](https://creativecommons.org/licenses/by-sa/4.0/)"
    assert text == f"**A simulation** from {page}; text under {licence}."
    assert "living" not in text


def test_another_wiki_is_not_called_wikipedia_and_its_licence_is_not_claimed() -> None:
    text = badge(person("wikipedia", "https://wiki.example/api.php"), build()).replace("\\", "")

    assert "A simulation** from [wiki.example, revision 77 read 5 March 2026]" in text
    assert "CC BY" not in text


def test_a_living_person_gets_a_sentence_more() -> None:
    text = badge(person("wikipedia"), build(living=True))

    assert "Ines Varga is a living person and has said none of this" in text


def test_a_sample_is_said_to_be_one() -> None:
    assert "sample text" in badge(person("sample"), build())
    assert "CC0" in badge(person("sample"), build())


def test_a_card_tells_threads_language_and_origin() -> None:
    german = person("wikipedia", "https://de.wikipedia.org/w/api.php", "de")

    revised = replace(build(), revised_at=MOMENT - timedelta(days=4))
    assert facts(german, revised, 1) == "1 interview · German · Wikipedia\\, revision 77 of 1 March 2026"
    assert facts(german, build(), 1) == "1 interview · German · Wikipedia\\, revision 77 read 5 March 2026"
    assert facts(german, build(), 2).startswith("2 interviews · ")
    assert (
        facts(person("markdown", "diver.md"), build(), 0)
        == "No interviews yet · English · file diver\\.md\\, read 5 March 2026"
    )


def test_a_picture_is_shown_with_a_link_to_who_made_it() -> None:
    pictured = replace(build(), picture=Picture("https://wiki.test/x.jpg", "https://wiki.test/File:X.jpg"))

    assert facts(person("wikipedia"), pictured, 0).endswith(" · [about the picture](https://wiki.test/File:X.jpg)")


@pytest.mark.parametrize(
    ("title", "letters"),
    [
        ("Ines Varga", "IV"),
        ("Mercury (planet)", "M"),
        ("Jean-Luc du Bois", "JB"),
        ("R2-D2", "RD"),
        ("沈雁秋", "沈"),
        ("élise", "É"),
        ("$$$", "$"),
        ("<b> x", "X"),
    ],
)
def test_initials_stand_for_a_name(title: str, letters: str) -> None:
    assert initials(title) == letters


# --- jobs ---


def ended(jobs: Jobs, job: Job) -> Job:
    for thread in threading.enumerate():
        if thread.name.startswith("job-"):
            thread.join(10)
    found = jobs.get(job.id)
    assert found
    assert found.ended is not None
    return found


def test_the_same_job_runs_once_at_a_time() -> None:
    jobs, go_on, runs = Jobs(), threading.Event(), []

    def work() -> Iterator[Progress]:
        runs.append(1)
        yield Progress("fetched")
        go_on.wait(10)

    first = jobs.start("k", "T", "en", work)
    second = jobs.start("k", "T", "en", work)
    go_on.set()

    assert first.id == second.id
    assert ended(jobs, first).latest == Progress("fetched")
    assert jobs.start("k", "T", "en", work).id != first.id
    ended(jobs, first)
    assert len(runs) == 2


def test_a_job_that_is_cancelled_has_ended_at_once_and_its_work_goes_no_further() -> None:
    jobs, go_on, came = Jobs(), threading.Event(), []

    def work() -> Iterator[tuple[int, int]]:
        try:
            yield 1, 3
            go_on.wait(10)
            yield 2, 3
            came.append("the end")
        finally:
            came.append("closed")

    job = jobs.start("k", "T", "en", work)
    while not jobs.get(job.id).latest:  # type: ignore[union-attr]
        pass
    jobs.cancel(job.id)
    assert jobs.running() == []
    again = jobs.start("k", "T", "en", work)
    go_on.set()

    first, second = ended(jobs, job), ended(jobs, again)
    assert (first.cancelled, first.latest, first.error) == (True, (1, 3), "")
    assert (second.cancelled, second.latest) == (False, (2, 3))
    assert sorted(came) == ["closed", "closed", "the end"]
    jobs.cancel(again.id)
    assert not jobs.get(again.id).cancelled  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("error", "said"), [(WikiBusy("Wait a minute."), "Wait a minute."), (RuntimeError("at line 3"), UNEXPECTED)]
)
def test_a_job_that_fails_ends_with_a_sentence(error: Exception, said: str) -> None:
    def work() -> Iterator[Progress]:
        yield Progress("fetched")
        raise error

    jobs = Jobs()

    assert ended(jobs, jobs.start("k", "T", "en", work)).error == said
