"""People come, are read again where they came from, and go with all that is theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from persona.adapters.markdown import read_markdown
from persona.errors import InputError
from persona.records import Choice, Loaded, Page, Person, Picture, Suggestion
from persona.settings import Settings
from persona.wiring import Wiring
from tests.core import ADA, WordEmbedder, page
from tests.portraits import portrait

FACE = Picture("https://wiki.test/ada.jpg", "https://wiki.test/File:Ada.jpg")
HOLT = "# Rasmus Holt\n\nRasmus Holt carved heads of ships.\n"


class Wiki:
    """Gives one page, with a picture."""

    def __init__(self) -> None:
        self.page = page("Ada Marsh", ADA, picture=FACE)
        self.asked: list[tuple[str, str]] = []

    def fetch(self, title: str, language: str) -> Page | Choice:
        self.asked.append((title, language))
        return self.page if title == self.page.title else Choice(title, "missing", ())

    def suggest(self, begun: str, language: str) -> tuple[Suggestion, ...]:
        raise AssertionError(begun)

    def picture(self, address: str) -> bytes:
        return portrait(address)


@pytest.fixture
def wiring(tmp_path: Path) -> Iterator[Wiring]:
    made = Wiring(Settings(home=tmp_path / "home"), embedder=WordEmbedder(), wiki=Wiki())
    yield made
    made.database.close()


def only(wiring: Wiring, events: Iterator[object]) -> Person:
    """The person that comes of a load."""
    (loaded,) = (event for event in events if isinstance(event, Loaded))
    return loaded.person


def from_file(wiring: Wiring, file: Path, text: str = HOLT) -> Person:
    file.write_text(text, "utf-8")
    return only(wiring, wiring.loader.page(read_markdown(file)))


def test_a_person_of_the_wiki_has_a_portrait_and_is_read_again_there(wiring: Wiring) -> None:
    ada = only(wiring, wiring.loader.title("Ada Marsh", "en"))
    build = wiring.library.build(ada.build)
    assert build
    assert build.picture == FACE
    assert wiring.lookup.portrait(FACE)
    only(wiring, wiring.loader.again(ada))
    assert wiring.wiki.asked == [("Ada Marsh", "en")] * 2  # type: ignore[attr-defined]


def test_a_namesake_at_another_wiki_is_not_taken_for_the_person(wiring: Wiring) -> None:
    ada = only(wiring, wiring.loader.title("Ada Marsh", "en"))
    wiring.wiki.page = replace(wiring.wiki.page, api="https://other.test/api.php")  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=f"was read at {ada.api}.*PERSONA_WIKI_API"):
        list(wiring.loader.again(ada))
    assert wiring.library.people() == [ada]


def test_a_page_that_gained_a_picture_is_made_anew_without_embedding(wiring: Wiring) -> None:
    first = only(wiring, wiring.loader.page(page("Ada Marsh", ADA)))
    *_, loaded = wiring.loader.page(page("Ada Marsh", ADA, picture=FACE))
    assert isinstance(loaded, Loaded)
    assert (loaded.embedded, loaded.person.id) == (0, first.id)
    assert loaded.person.build != first.build


def test_a_missing_page_is_a_choice(wiring: Wiring) -> None:
    assert list(wiring.loader.title("Nobody", "en")) == [Choice("Nobody", "missing", ())]


def test_a_page_that_does_not_describe_itself_is_described_by_its_first_sentence(wiring: Wiring) -> None:
    ada = only(wiring, wiring.loader.title("Ada Marsh", "en"))
    assert (
        wiring.library.build(ada.build).description
        == "Ada Marsh (1831–1902) was the keeper of the lighthouse of Saltwick."
    )  # type: ignore[union-attr]


def test_a_file_is_read_again_in_the_language_that_it_was_loaded_in(wiring: Wiring, tmp_path: Path) -> None:
    file = tmp_path / "holt.md"
    file.write_text(HOLT, "utf-8")
    holt = only(wiring, wiring.loader.page(replace(read_markdown(file), language="da")))
    file.write_text(HOLT.replace("heads", "tails"), "utf-8")
    again = only(wiring, wiring.loader.again(holt))
    assert (again.id, again.language) == (holt.id, "da")
    assert "tails" in wiring.library.chunks(again.build)[0].text


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda file: file.unlink(), "is no longer there. Put it back"),
        (
            lambda file: file.write_text("# Somebody Else\n\nA text.\n"),
            "is now about “Somebody Else”, not “Rasmus Holt”",
        ),
    ],
)
def test_a_file_that_is_gone_or_about_somebody_else_is_said_to_be(
    wiring: Wiring, tmp_path: Path, spoil: object, says: str
) -> None:
    holt = from_file(wiring, tmp_path / "holt.md")
    spoil(tmp_path / "holt.md")  # type: ignore[operator]
    with pytest.raises(InputError, match=says):
        list(wiring.loader.again(holt))
    assert wiring.library.person(holt.id) == holt


def test_a_file_loaded_before_its_place_was_kept_is_to_be_loaded_again(wiring: Wiring, tmp_path: Path) -> None:
    file = tmp_path / "holt.md"
    file.write_text(HOLT, "utf-8")
    holt = only(wiring, wiring.loader.page(replace(read_markdown(file), origin="")))
    with pytest.raises(InputError, match=r"Load it again: `persona load FILE`"):
        list(wiring.loader.again(holt))


def test_a_sample_is_read_again_from_the_program(wiring: Wiring) -> None:
    list(wiring.loader.samples())
    curie = next(person for person in wiring.library.people() if person.title == "Marie Curie")
    assert only(wiring, wiring.loader.again(curie)) == curie
    with pytest.raises(InputError, match="no longer comes with the program"):
        list(wiring.loader.again(replace(curie, title="Nobody")))


def test_with_a_person_go_index_and_portrait_and_the_threads_stay(wiring: Wiring) -> None:
    ada = only(wiring, wiring.loader.title("Ada Marsh", "en"))
    thread = wiring.history.start(ada.id)
    wiring.loader.delete(ada)
    assert wiring.library.people() == []
    assert wiring.store.builds() == []
    assert wiring.lookup.portrait(FACE) is None
    assert wiring.history.thread(thread.id)


def test_a_portrait_that_somebody_else_has_too_stays(wiring: Wiring) -> None:
    ada = only(wiring, wiring.loader.title("Ada Marsh", "en"))
    only(wiring, wiring.loader.page(page("Ada Marsh", ADA, language="de", picture=FACE)))
    wiring.loader.delete(ada)
    assert wiring.lookup.portrait(FACE)
