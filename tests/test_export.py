"""A thread as a document: what it says, and that no text in it becomes markup."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from markdown_it import MarkdownIt

from persona.export import CC_BY_SA, Interview, escaped, file_name, to_json, to_markdown
from persona.records import Answer, Build, Person, Question, Rating, Source, Thread, Trace, Turn

WHEN = datetime(2026, 3, 5, 12, tzinfo=UTC)
URL = "https://en.wikipedia.org/wiki/Odile_Maren"
PERSON = Person("p1", "wikipedia", "", "en", "Odile Maren", "41", "b1")
BUILD = Build(
    "b1", "p1", "Odile Maren", URL, "41", WHEN, "m", 3, "c", (("Childhood",),), 1, (), False, "keeper of a light", WHEN
)  # fmt: skip
THREAD = Thread("t1", "p1", "What was your jackdaw called?", WHEN, WHEN)
HOSTILE = "<b>$5</b> ![x](http://127.0.0.1:9/x) :red[y] ~~z~~ *a* _b_ `c` [d](http://e) &lt; # | \\ ^f^ [^1]"


def source(number: int, section: str, supports: bool = True, revision: str = "41") -> Source:
    spans = ((0, 3),) if supports else ()
    return Source(number, section, f"{URL}?oldid={revision}#{section}", revision, "Pip was tame.", 0.5, spans)


def turn(id_: str, asked: str, said: str, *sources: Source, parent: str | None = None, **fields: object) -> Turn:
    known = {"answer": Answer(said, True, "ranked", sources=sources), "trace": Trace(settings={"model": "m-1"})}
    return replace(Turn(id_, "t1", parent, id_, Question(asked, asked), "done", WHEN), **(known | fields))  # type: ignore[arg-type]


def interview(*turns: Turn, **fields: object) -> Interview:
    return replace(Interview(THREAD, PERSON, BUILD, turns), **fields)  # type: ignore[arg-type]


def test_it_names_who_answers_when_and_what_it_is():
    written = to_markdown(interview(turn("a", "Who are you?", "I am Odile.")))
    assert written.startswith("# An interview with Odile Maren\n\n*keeper of a light*\n\n5 March 2026\n\n")
    assert "**Who are you?**\n\nI am Odile." in written
    assert (
        "*This is a simulation: a language model (m-1) answered in the role of Odile Maren, from Wikipedia's page"
        in written
    )
    assert f"[Odile Maren]({URL}), revision 41, read on 5 March 2026; its text is under [CC BY-SA 4.0]({CC_BY_SA})" in (
        written
    )
    assert "living" not in written


def test_it_names_the_revisions_that_the_answers_are_from_though_the_page_was_read_again_since():
    old = turn("a", "Who?", "I.", source(1, "One", revision="40"))
    written = to_markdown(interview(old))
    assert f"from Wikipedia's page [Odile Maren]({URL}), revision 40; its text is under" in written
    both = to_markdown(interview(old, turn("b", "And?", "He.", source(1, "One"), parent="a")))
    assert f"[Odile Maren]({URL}), revisions 40 and 41; its text is under" in both


def test_sources_are_footnotes_numbered_once_and_only_those_that_support():
    told = turn("a", "Who?", "I.", source(1, "Childhood -> Pip"), source(2, "Later", supports=False))
    again = turn("b", "And?", "He.", source(1, "Storm"), source(2, "Childhood -> Pip"), parent="a")
    written = to_markdown(interview(told, again))
    assert "I.[^1]\n" in written
    assert "He.[^2][^1]\n" in written
    assert written.endswith(
        f"[^1]: [Odile Maren, “Childhood › Pip”]({URL}?oldid=41#Childhood%20-%3E%20Pip), revision 41.\n\n"
        f"[^2]: [Odile Maren, “Storm”]({URL}?oldid=41#Storm), revision 41.\n"
    )


def test_an_answer_that_no_sentence_supports_names_all_that_was_sent():
    written = to_markdown(interview(turn("a", "Who?", "I.", source(1, "One", False), source(2, "Two", False))))
    assert "I.[^1][^2]" in written


def test_only_the_branch_that_is_read_is_written():
    first, other = turn("a", "Who?", "I."), turn("b", "And?", "He.", parent="a")
    edited = turn("c", "What?", "It.", parent="a")
    written = to_markdown(interview(first, other, edited, thread=replace(THREAD, shown="b")))
    assert "He." in written
    assert "It." not in written


def test_an_answer_that_was_stopped_says_so_and_one_that_never_came_is_left_out():
    stopped = turn("a", "Who?", "", answer=None, state="stopped", partial="I was")
    failed = turn("b", "And?", "", answer=None, state="failed", parent="a")
    written = to_markdown(interview(stopped, failed))
    assert "I was *(stopped here by the interviewer)*" in written
    assert "And?" not in written


@pytest.mark.parametrize(
    ("person", "build", "says"),
    [
        (PERSON, replace(BUILD, living=True), "Odile Maren is a living person and has said none of this."),
        (replace(PERSON, source="sample"), BUILD, "from a sample text under [CC0]"),
        (replace(PERSON, source="markdown", api="odile.md"), BUILD, "from the file odile.md."),
        (replace(PERSON, api="http://wiki.test:8080/api.php"), BUILD, "from wiki.test's page [Odile Maren]"),
        (replace(PERSON, build=""), None, "from a page of Wikipedia; its text is under"),
    ],
)
def test_it_says_which_text_was_used(person, build, says):
    written = to_markdown(interview(turn("a", "Who?", "I."), person=person, build=build))
    assert says in written
    assert ("CC BY-SA" in written) == (person.source == "wikipedia" and "wiki.test" not in person.api)


@pytest.mark.parametrize(
    "text",
    [HOSTILE, "- a list", "1. first\n2) second", "+ plus", "> quoted", "# heading", "a\n---\nb", "    code", "=="],
)
def test_a_text_stays_a_text(text):
    html = MarkdownIt("commonmark").enable(["strikethrough", "table"]).render(escaped(text))
    shown = html.replace("<br />\n", "\n").removeprefix("<p>").removesuffix("</p>\n")
    plain = shown.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")
    assert plain.replace("\u2060", "") == text.strip()


def test_hostile_questions_titles_and_sections_stay_text():
    told = turn("a", HOSTILE, HOSTILE, source(1, HOSTILE))
    written = to_markdown(
        interview(told, person=replace(PERSON, title=HOSTILE), build=replace(BUILD, url="javascript:x"))
    )
    html = MarkdownIt("commonmark").render(written)
    assert "<b>" not in html
    assert "<img" not in html
    assert "javascript:" not in html


def test_the_json_holds_every_branch_with_its_trace_and_can_be_read_by_anybody():
    first = turn("a", "Who?", "I.", source(1, "One"), trace=Trace(gate={"lost": float("inf")}))
    other = turn("b", "What?", "It.")
    known = to_json(
        interview(first, other, ratings=[Rating("a", True, "yes", WHEN)], thread=replace(THREAD, shown="a"))
    )
    known = json.loads(json.dumps(known, allow_nan=False))
    assert [one["answer"]["text"] for one in known["turns"]] == ["I.", "It."]
    assert known["shown"] == ["a"]
    assert known["simulation"] is True
    assert known["turns"][0]["answer"]["sources"][0]["revision"] == "41"
    assert known["turns"][0]["trace"]["gate"] == {"lost": None}
    assert (known["person"]["title"], known["build"]["url"], known["ratings"][0]["why"]) == ("Odile Maren", URL, "yes")


def test_a_file_name_holds_nothing_that_a_disk_could_refuse():
    assert file_name(interview(), "md") == "odile-maren-what-was-your-jackdaw-called.md"
    assert file_name(
        interview(thread=replace(THREAD, title="?/\\:" * 50), person=replace(PERSON, title="..")), "md"
    ) == ("interview.md")
