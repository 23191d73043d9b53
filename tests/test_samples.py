"""The samples are pages worth an interview, and the cases that ship with them are sound.

Headings are read in the plainest way here, apart from the Markdown adapter, so that neither can hide the other's
faults. Knows nothing of models: whether a case is answered is for the evaluation to say.
"""

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from persona.records import INTRODUCTION, PATH_SEPARATOR

CASES = Path(__file__).parent / "cases"
SAMPLES = Path(__file__).parents[1] / "persona" / "samples"
SLUGS = sorted(path.stem for path in SAMPLES.glob("*.md"))
FIELDS = {"id", "page", "history", "question", "answerable", "answers", "section", "passage", "rewrite", "keep", "tags"}


def normal(text: str) -> str:
    """Words alone, without case, accents and punctuation (ł has no accent to take off)."""
    parts = unicodedata.normalize("NFKD", text.casefold().replace("ł", "l"))
    plain = "".join(part for part in parts if not unicodedata.combining(part))
    return " ".join(re.findall(r"[^\W_]+", plain))


def front_matter(slug: str) -> dict[str, str]:
    head = (SAMPLES / f"{slug}.md").read_text(encoding="utf-8").split("---\n")[1]
    return dict(line.split(": ", 1) for line in head.splitlines())


def sections(slug: str) -> dict[str, str]:
    """Each heading's own text by its path; the text under the title is the Introduction."""
    body = (SAMPLES / f"{slug}.md").read_text(encoding="utf-8").split("---\n", 2)[2]
    found: dict[str, str] = {}
    parent = ""
    for marks, heading, text in re.findall(r"^(#+) (.+)\n((?:(?!#).*\n)*)", body, flags=re.MULTILINE):
        if len(marks) == 2:
            parent = heading
        path = {1: INTRODUCTION, 2: heading, 3: f"{parent}{PATH_SEPARATOR}{heading}"}[len(marks)]
        assert path not in found, f"two sections are called {path}"
        found[path] = text
    return found


def cases(name: str) -> list[dict[str, Any]]:
    lines = (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_there_are_two_samples_and_each_has_cases():
    assert len(SLUGS) == 2
    assert all((CASES / f"{slug}.jsonl").exists() for slug in SLUGS)


@pytest.mark.parametrize("slug", SLUGS)
def test_a_sample_says_what_it_is(slug):
    head = front_matter(slug)
    assert head.keys() == {"title", "language", "description", "license", "living"}
    assert head["language"] == "en"
    assert head["living"] == "false"
    assert head["license"] == "CC0"
    assert head["description"].strip()


@pytest.mark.parametrize("slug", SLUGS)
def test_a_sample_is_a_long_page_with_a_lead_and_headings_on_two_levels(slug):
    found = sections(slug)
    assert sum(len(text.split()) for text in found.values()) >= 1200
    assert len(found[INTRODUCTION].strip().split("\n\n")) >= 2
    upper = [path for path in found if path != INTRODUCTION and PATH_SEPARATOR not in path]
    lower = [path for path in found if PATH_SEPARATOR in path]
    assert len(upper) >= 5
    assert len(lower) >= 5


@pytest.mark.parametrize("slug", SLUGS)
def test_every_section_of_a_sample_has_enough_text_of_its_own(slug):
    lengths = {path: len(text.split()) for path, text in sections(slug).items()}
    assert {path: length for path, length in lengths.items() if not 75 <= length <= 250} == {}


@pytest.mark.parametrize("slug", SLUGS)
def test_cases_name_the_page_and_sections_that_exist(slug):
    title, found = front_matter(slug)["title"], sections(slug)
    for case in cases(slug):
        assert case["page"] == title, case["id"]
        assert set(case.get("section", [])) <= found.keys(), case["id"]


@pytest.mark.parametrize("slug", SLUGS)
def test_accepted_answers_stand_in_each_section_named(slug):
    found = sections(slug)
    for case in cases(slug):
        for path in case.get("section", []):
            text = normal(found[path])
            assert any(normal(answer) in text for answer in case["answers"]), (case["id"], path)


@pytest.mark.parametrize("slug", SLUGS)
def test_what_was_said_in_the_conversation_stands_in_the_conversation(slug):
    asked = [case for case in cases(slug) if "in-conversation" in case["tags"]]
    assert len(asked) >= 3
    for case in asked:
        said = normal(" ".join(text for who, text in case["history"] if who == "user"))
        assert any(normal(answer) in said for answer in case["answers"]), case["id"]


@pytest.mark.parametrize("slug", SLUGS)
def test_no_question_already_holds_an_accepted_answer(slug):
    for case in cases(slug):
        held = [answer for answer in case["answers"] if normal(answer) in normal(case["question"])]
        assert held == [], case["id"]


@pytest.mark.parametrize("slug", SLUGS)
def test_cases_are_of_every_kind(slug):
    own = [case for case in cases(slug) if case["answerable"]]
    others = [case for case in cases(slug) if not case["answerable"]]
    assert len(own) >= 30
    assert len(others) >= 15
    assert all(case["answers"] for case in own)
    assert not any(case["answers"] for case in others)
    assert sum("follow-up" in case["tags"] for case in own) >= 8
    assert sum("wording" in case["tags"] for case in own) >= len(own) / 3
    tags = {tag for case in cases(slug) for tag in case["tags"]}
    assert tags >= {"misspelt", "named-entity", "topic-switch", "off-topic", "false-premise", "gibberish"}
    assert tags >= {"in-role", "feeling", "modern", "injection", "ellipsis", "ordinal"}


@pytest.mark.parametrize("name", [*SLUGS, "standalone", "rewrites"])
def test_every_case_is_well_formed(name):
    found = cases(name)
    assert len({case["id"] for case in found}) == len(found)
    for case in found:
        assert {"id", "page", "history", "question", "tags"} <= case.keys() <= FIELDS, case["id"]
        assert case["question"].strip()
        whos = [who for who, _ in case["history"]]
        assert whos == ["user", "persona"] * (len(whos) // 2), case["id"]
        assert all(text.strip() for _, text in case["history"])


@pytest.mark.parametrize("name", [*SLUGS, "standalone", "rewrites"])
def test_follow_ups_have_a_past_and_a_rewrite_that_names_someone(name):
    for case in cases(name):
        if "follow-up" in case["tags"]:
            assert case["history"], case["id"]
        if "rewrite" in case:
            assert re.search(r"\b(you|your|yours|i|me|my)\b", case["rewrite"].casefold()) is None, case["id"]


def test_questions_that_stand_alone_follow_other_talk():
    found = cases("standalone")
    assert len(found) == 40
    for case in found:
        assert case["tags"] == ["stands-alone"]
        assert 2 <= len(case["history"]) / 2 <= 3, case["id"]


def test_rewrites_for_tuning_name_the_persona():
    found = cases("rewrites")
    assert len(found) == 30
    for case in found:
        assert case["page"].split()[-1] in case["rewrite"], case["id"]
        assert case["page"] not in case["question"], case["id"]


@pytest.mark.parametrize("slug", SLUGS)
def test_the_program_reads_the_same_sections_and_leaves_none_out(slug):
    from persona.adapters.markdown import read_markdown

    page = read_markdown(SAMPLES / f"{slug}.md")
    assert page.title == front_matter(slug)["title"]
    assert page.left_out == ()
    assert not page.living
    read = {PATH_SEPARATOR.join(section.path): normal(section.text) for section in page.sections}
    assert read == {path: normal(text) for path, text in sections(slug).items()}
