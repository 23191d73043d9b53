"""Suggestions and pictures: asked for once, checked, and read from the data folder from then on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from persona.adapters.pictures import EDGE, Pictures
from persona.errors import PageError, WikiUnreachable
from persona.lookup import Lookup
from persona.records import Choice, Page, Picture, Suggestion
from tests.portraits import portrait

VANE = Suggestion("Cornelius Vane", "Keeper", "https://wiki.test/vane.jpg")


class Wiki:
    """A PageSource that knows one person, and counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.down = False
        self.images = {VANE.picture: portrait("Vane")}

    def fetch(self, title: str, language: str) -> Page | Choice:
        raise AssertionError(title)

    def suggest(self, begun: str, language: str) -> tuple[Suggestion, ...]:
        self.asked.append(begun)
        if self.down:
            raise WikiUnreachable("No network. Check it.")
        return (VANE,) if VANE.title.startswith(begun) else ()

    def picture(self, address: str) -> bytes:
        self.asked.append(address)
        if address not in self.images:
            raise PageError("No such picture.")
        return self.images[address]


@pytest.fixture
def wiki() -> Wiki:
    return Wiki()


def lookup(wiki: Wiki, home: Path, api: str = "") -> Lookup:
    return Lookup(wiki, api, home)


def aged(folder: Path, days: float) -> None:
    moment = time.time() - days * 24 * 3600
    for file in folder.glob("*"):
        os.utime(file, (moment, moment))


def test_the_same_letters_are_asked_for_once_even_after_a_restart(wiki: Wiki, tmp_path: Path) -> None:
    assert lookup(wiki, tmp_path).suggest("Corn", "en") == (VANE,)
    assert lookup(wiki, tmp_path).suggest("  Corn ", "en") == (VANE,)
    assert wiki.asked == ["Corn"]


def test_another_language_and_another_wiki_are_asked_for_themselves(wiki: Wiki, tmp_path: Path) -> None:
    for language, api in (("en", ""), ("de", ""), ("en", "http://wiki.test/api.php")):
        lookup(wiki, tmp_path, api).suggest("Corn", language)
    assert wiki.asked == ["Corn"] * 3


@pytest.mark.parametrize("begun", ["", " ", "C"])
def test_one_letter_is_too_little_to_ask_with(wiki: Wiki, tmp_path: Path, begun: str) -> None:
    assert lookup(wiki, tmp_path).suggest(begun, "en") == ()
    assert wiki.asked == []


def test_one_chinese_character_is_a_word(wiki: Wiki, tmp_path: Path) -> None:
    lookup(wiki, tmp_path).suggest("沈", "zh")
    assert wiki.asked == ["沈"]


def test_after_a_day_the_wiki_is_asked_again_and_without_it_the_old_list_serves(wiki: Wiki, tmp_path: Path) -> None:
    lookup(wiki, tmp_path).suggest("Corn", "en")
    aged(tmp_path / "cache", 2)
    wiki.down = True
    assert lookup(wiki, tmp_path).suggest("Corn", "en") == (VANE,)
    assert wiki.asked == ["Corn", "Corn"]
    with pytest.raises(WikiUnreachable):
        lookup(wiki, tmp_path).suggest("Cor", "en")


def test_what_nobody_asked_for_in_a_month_is_dropped(wiki: Wiki, tmp_path: Path) -> None:
    lookup(wiki, tmp_path).suggest("Corn", "en")
    aged(tmp_path / "cache", 31)
    lookup(wiki, tmp_path)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_spoilt_file_is_read_as_none(wiki: Wiki, tmp_path: Path) -> None:
    lookup(wiki, tmp_path).suggest("Corn", "en")
    (file,) = (tmp_path / "cache").iterdir()
    file.write_text("{")
    assert lookup(wiki, tmp_path).suggest("Corn", "en") == (VANE,)


def test_pictures_are_fetched_once_and_those_that_fail_are_left_out(wiki: Wiki, tmp_path: Path) -> None:
    looked = lookup(wiki, tmp_path)
    for _ in range(2):
        ((address, file),) = looked.pictures([VANE.picture, "", "https://wiki.test/none.jpg"])
        assert address == VANE.picture
        assert file.parent == tmp_path / "cache"
    assert sorted(wiki.asked) == ["https://wiki.test/none.jpg", VANE.picture]


def test_a_portrait_is_kept_apart_and_stays(wiki: Wiki, tmp_path: Path) -> None:
    looked, picture = lookup(wiki, tmp_path), Picture(VANE.picture, "https://wiki.test/File:Vane.jpg")
    assert looked.portrait(picture) is None
    looked.keep(picture)
    aged(tmp_path / "pictures", 400)
    file = lookup(wiki, tmp_path).portrait(picture)
    assert file
    assert file.parent == tmp_path / "pictures"
    assert looked.portrait(None) is None


def test_a_portrait_that_cannot_be_had_is_done_without(wiki: Wiki, tmp_path: Path) -> None:
    gone = Picture("https://wiki.test/gone.jpg", "")
    looked = lookup(wiki, tmp_path)
    looked.keep(gone)
    assert looked.portrait(gone) is None


# --- the files ---


def test_a_picture_is_written_anew_and_small(tmp_path: Path) -> None:
    out = BytesIO()
    Image.new("RGBA", (900, 300), (0, 0, 0, 0)).save(out, "PNG", pnginfo=None)
    file = Pictures(tmp_path).keep("https://wiki.test/a.png", out.getvalue())
    with Image.open(file) as image:
        assert (image.format, image.size) == ("JPEG", (EDGE, 107))
        assert image.getpixel((5, 5)) == (255, 255, 255)  # what can be seen through is white
    assert [path.suffix for path in tmp_path.iterdir()] == [".jpg"]


def bomb() -> bytes:
    out = BytesIO()
    Image.new("1", (30_000, 30_000)).save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize(
    "data",
    [lambda: b"", lambda: b"<svg xmlns='http://www.w3.org/2000/svg'/>", lambda: portrait("x")[:500], bomb],
    ids=("empty", "svg", "cut", "bomb"),
)
def test_what_is_no_fit_picture_is_not_kept(tmp_path: Path, data: Callable[[], bytes]) -> None:
    with pytest.raises(PageError):
        Pictures(tmp_path).keep("https://wiki.test/a.png", data())
    assert list(tmp_path.iterdir()) == []
