"""Loading: all or nothing, and repeatable. The vector store and the database are the real ones."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from persona import ingest
from persona.adapters.minilm import MiniLM
from persona.errors import EmbedderError, PageError, StoreError
from persona.ingest import CHUNKER, Ingest, context_line, make_chunks
from persona.records import LeftOut, Loaded, Page, Progress, Section
from tests.core import Place, WordEmbedder, page

LIFE = {
    "Introduction": "Ada Marsh kept the lighthouse of Saltwick for forty years.",
    "Life / Youth": "She was born in Whitby. Her father was a fisherman. She had nine brothers. She could row at six.",
    "Life / The storm": "In 1871 a storm broke the lamp. She mended it. A ship was saved.",
    "Death": "She died in 1902.",
}


def ada(**changed: str) -> Page:
    return page("Ada Marsh", LIFE | {name.replace("_", " / "): text for name, text in changed.items()})


# --- a load ---


def test_a_load_reports_what_it_does_and_ends_with_what_it_made(place):
    *events, loaded = place.ingest.load(ada())
    assert [event.step for event in events] == ["fetched", "embedding", "embedding", "stored"]
    assert events[0].detail == "Ada Marsh"
    assert [(e.done, e.total) for e in events[1:]] == [(0, 4), (4, 4), (4, 4)]
    assert isinstance(loaded, Loaded)
    assert (loaded.embedded, loaded.reused) == (4, 0)
    assert loaded.seconds > 0
    build = loaded.build
    assert (build.id, build.person, build.chunks) == (loaded.person.build, loaded.person.id, 4)
    assert (build.embedder, build.dimension, build.chunker) == ("words-64", 64, CHUNKER)
    assert place.database.build(build.id) == build
    assert [chunk.path for chunk in place.database.chunks(build.id)] == [tuple(path.split(" / ")) for path in LIFE]


def test_what_is_embedded_carries_title_and_path_and_windows_are_two_sentences(place):
    place.load(ada())
    embedded = place.embedder.embedded
    assert "Ada Marsh: Life -> The storm\nIn 1871 a storm broke the lamp. She mended it. A ship was saved." in embedded
    assert "She mended it. A ship was saved." in embedded
    assert "Ada Marsh: Death\nShe died in 1902." in embedded
    assert "She died in 1902." in embedded


def test_texts_are_embedded_by_their_length_the_longest_first(place):
    place.load(long_page())
    lengths = [place.embedder.count(text) for text in place.embedder.embedded]
    assert len(lengths) > 64  # more than one step
    assert lengths == sorted(lengths, reverse=True)


def test_vectors_can_be_searched_by_kind_and_section(place):
    loaded = place.load(ada())
    vector = place.embedder.embed(["She mended it. A ship was saved."])[0]
    chunks = {chunk.id: chunk for chunk in place.database.chunks(loaded.build.id)}
    (window,) = place.store.nearest(loaded.build.id, vector, 1, {"kind": ["window"]})
    assert chunks[window.chunk.split(":")[0]].path == ("Life", "The storm")
    found = place.store.nearest(loaded.build.id, vector, 9, {"kind": ["chunk"], "section": ["Life -> Youth"]})
    assert [chunks[match.chunk].path for match in found] == [("Life", "Youth")]


def test_a_load_again_embeds_nothing_and_makes_no_build(place):
    first = place.load(ada())
    place.embedder.embedded.clear()
    again = place.load(ada())
    assert (again.embedded, again.reused, again.build.id) == (0, 4, first.build.id)
    assert place.embedder.embedded == []
    assert place.store.builds() == [first.build.id]


def test_an_edit_embeds_only_what_changed(place):
    first = place.load(ada())
    place.embedder.embedded.clear()
    edited = place.load(replace(ada(Death="She died in 1903, in Leeds."), revision="2"))
    assert (edited.embedded, edited.reused) == (1, 3)
    assert place.embedder.embedded == ["Ada Marsh: Death\nShe died in 1903, in Leeds.", "She died in 1903, in Leeds."]
    assert edited.person.id == first.person.id
    assert edited.build.id != first.build.id
    texts = [chunk.text for chunk in place.database.chunks(edited.build.id)]
    assert "She died in 1902." not in texts
    assert len(place.store.vectors(edited.build.id)) == len(place.store.vectors(first.build.id))


def test_a_new_revision_of_the_same_text_is_a_build_that_embeds_nothing(place):
    first = place.load(ada())
    again = place.load(replace(ada(), revision="2"))
    assert (again.embedded, again.reused, again.build.revision) == (0, 4, "2")
    assert again.build.id != first.build.id


def test_a_change_under_the_same_revision_is_seen(place):
    place.load(ada())
    assert place.load(ada(Death="She never died.")).embedded == 1


def test_another_path_is_another_text(place):
    place.load(ada())
    moved = {("Life / Childhood" if path == "Life / Youth" else path): text for path, text in LIFE.items()}
    assert place.load(page("Ada Marsh", moved)).embedded == 1


def test_another_embedder_embeds_all_anew(place):
    class Other(WordEmbedder):
        name = "words-other"

    place.load(ada())
    place.embedder = Other()
    loaded = place.load(ada())
    assert (loaded.embedded, loaded.build.embedder) == (4, "words-other")


def test_another_chunker_embeds_all_anew(place, monkeypatch):
    place.load(ada())
    monkeypatch.setattr(ingest, "CHUNKER", "another-1")
    loaded = place.load(ada())
    assert (loaded.embedded, loaded.build.chunker) == (4, "another-1")


def test_what_was_left_out_and_who_lives_is_kept(place):
    left_out = (LeftOut(("References",), "reference matter"),)
    loaded = place.load(replace(ada(), left_out=left_out, living=True, description="keeper"))
    assert (loaded.build.left_out, loaded.build.living, loaded.build.description) == (left_out, True, "keeper")


def test_a_page_without_text_is_an_error_that_names_it(place):
    with pytest.raises(PageError, match="“Ada Marsh”"):
        place.load(page("Ada Marsh", []))
    assert place.store.builds() == []


def test_two_pages_of_one_title_in_two_languages_are_two_people(place):
    one, other = place.load(ada()), place.load(replace(ada(), language="de"))
    assert one.person.id != other.person.id


def test_a_page_in_a_language_that_the_embedder_does_not_know_comes_with_advice(place):
    class English(WordEmbedder):
        languages = frozenset({"en"})

    place.embedder = English()
    assert place.load(ada()).advice == ""
    assert place.load(replace(ada(), language="simple")).advice == ""
    for advice in (place.load(replace(ada(), language="de")).advice, place.load(replace(ada(), language="de")).advice):
        assert "“de”" in advice
        assert "ollama pull bge-m3" in advice


# --- all or nothing ---


class Broken(WordEmbedder):
    """Fails after some texts."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.left = after

    def embed(self, texts):
        self.left -= 1
        if self.left < 0:
            raise EmbedderError("The embedder went away. Start it again.")
        return super().embed(texts)


def long_page(revision: str = "1", paragraphs: int = 60) -> Page:
    text = [f"The {n}th lamp of revision {revision} was mended in the harbor." for n in range(paragraphs)]
    return page("Ada Marsh", {f"Part {n}": line for n, line in enumerate(text)}, revision=revision)


def test_a_load_that_fails_leaves_the_old_index_in_place(place):
    first = place.load(ada())
    place.embedder = Broken(1)
    with pytest.raises(EmbedderError):
        place.load(long_page("2"))
    assert place.database.person(first.person.id).build == first.build.id
    assert len(place.database.chunks(first.build.id)) == 4
    place.embedder = WordEmbedder()
    assert place.load(long_page("2")).build.chunks == 60


def test_a_load_that_cannot_be_stored_leaves_the_old_index_in_place(place, monkeypatch):
    first = place.load(ada())

    def fail(*_: object) -> None:
        raise StoreError("The database is locked.")

    with monkeypatch.context() as patched:
        patched.setattr(place.database, "publish", fail)
        with pytest.raises(StoreError):
            place.load(long_page("2"))
    assert place.database.person(first.person.id).build == first.build.id
    assert place.load(ada()).embedded == 0


def test_a_load_that_is_closed_half_way_leaves_the_old_index_in_place(place):
    first = place.load(ada())
    events = place.ingest.load(long_page("2"))
    assert [next(events).step for _ in range(2)] == ["fetched", "embedding"]
    events.close()
    assert place.database.person(first.person.id).build == first.build.id


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.core import Place
from tests.test_ingest import ada, long_page
place = Place(Path({folder!r}))
create = place.store.create
def create_and_die(*given):
    if {late!r}:
        create(*given)
    else:
        build, ids, vectors, fields = given
        create(build, ids[:10], vectors[:10], fields[:10])
    os.kill(os.getpid(), signal.SIGKILL)
place.store.create = create_and_die
list(place.ingest.load(long_page("2")))
"""


@pytest.mark.parametrize("late", [False, True], ids=["amid the vectors", "between vectors and pointer"])
def test_a_killed_load_leaves_the_old_index_and_the_next_one_succeeds(place, late, monkeypatch):
    first = place.load(ada())
    code = KILLED.format(root=str(Path(__file__).parent.parent), folder=str(place.folder), late=late)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == -signal.SIGKILL, done.stderr
    left_behind = set(place.store.builds()) - {first.build.id}
    assert len(left_behind) == 1
    assert place.database.person(first.person.id).build == first.build.id
    vector = place.embedder.embed(["She mended it."])[0]
    assert place.store.nearest(first.build.id, vector, 1, {})
    monkeypatch.setattr(ingest, "_KEEP_OLD", timedelta(seconds=-1))
    loaded = place.load(long_page("2"))
    assert loaded.build.chunks == 60
    assert place.store.builds() == [loaded.build.id]


def test_an_old_build_goes_later_and_not_at_once(place, monkeypatch):
    first = place.load(ada())
    second = place.load(replace(ada(), revision="2"))
    assert set(place.store.builds()) == {first.build.id, second.build.id}
    monkeypatch.setattr(ingest, "_KEEP_OLD", timedelta(seconds=-1))
    third = place.load(replace(ada(), revision="3"))
    assert place.store.builds() == [third.build.id]
    assert place.database.chunks(first.build.id) == []
    assert place.database.build(first.build.id) is None


def test_vectors_that_are_gone_are_made_again(place):
    first = place.load(ada())
    place.store.drop(first.build.id)
    again = place.load(ada())
    assert again.embedded == 4
    assert again.build.id != first.build.id


def test_six_thousand_chunks_in_one_page_go_in(place):
    sections = [
        Section(("Part", f"Number {n}"), f"The {n}th lamp was mended in the harbor of Whitby.") for n in range(6000)
    ]
    loaded = place.load(page("Ada Marsh", sections))
    assert loaded.build.chunks == loaded.embedded == 6000
    assert len(place.store.vectors(loaded.build.id)) == 12_000, "each with a window"
    assert place.load(page("Ada Marsh", sections)).embedded == 0


@pytest.mark.parametrize(
    "title", ["Björk", "U2", "x" * 600, "林淑如", "A/B\\C", "..", "'; DROP TABLE person; --", "🎉"]
)
def test_any_title_makes_a_valid_collection(place, title):
    loaded = place.load(page(title, LIFE))
    assert loaded.person.title == title
    assert place.store.builds() == [loaded.build.id]


def test_another_start_finds_what_was_loaded(tmp_path):
    first = Place(tmp_path).load(ada())
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from pathlib import Path
from tests.core import Place
from tests.test_ingest import ada
place = Place(Path({str(tmp_path)!r}))
print(place.load(ada()).embedded, place.database.people()[0].build)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", first.build.id]


@pytest.mark.parametrize("title", ["Ada Marsh", "Björk", "U2", "x" * 600])
def test_the_real_embedder_loads_a_page_and_finds_it_again(tmp_path, minilm, title):
    place = Place(tmp_path, minilm)
    loaded = place.load(page(title, LIFE))
    vector = minilm.embed(["Did the light break in bad weather?"])[0]
    (nearest,) = place.store.nearest(loaded.build.id, vector, 1, {"kind": ["chunk"]})
    chunks = {chunk.id: chunk for chunk in place.database.chunks(loaded.build.id)}
    assert chunks[nearest.chunk].path == ("Life", "The storm")
    assert place.load(page(title, LIFE)).embedded == 0


# --- chunks ---

SENTENCES = [
    f"In the year {1800 + n} the keeper mended lamp number {n} with a piece of brass and some wire." for n in range(60)
]
ONE_PARAGRAPH = " ".join(SENTENCES)
PARAGRAPHS = "\n\n".join(" ".join(SENTENCES[n : n + 6]) for n in range(0, 60, 6))


def cut(text: str, embedder: object = None, path: tuple[str, ...] = ("Life",)) -> list[str]:
    section = Section(path, text)
    return [chunk.text for chunk in make_chunks(page("Ada Marsh", [section]), embedder or WordEmbedder())]  # type: ignore[arg-type]


def test_a_section_that_fits_is_one_chunk_as_it_is():
    text = "One paragraph.\n\nAnother one.\nA line."
    assert cut(text) == [text]


@pytest.mark.parametrize(
    "text", [ONE_PARAGRAPH, PARAGRAPHS, "word " * 3000, "字" * 3000, "x" * 3000, "a\n" * 2000], ids=lambda t: t[:12]
)
def test_every_chunk_fits_the_embedder_with_title_and_path(minilm: MiniLM, text):
    path = ("A rather long heading of the first level", "And another one below it")
    for chunk in make_chunks(page("Ada Marsh of Saltwick", [Section(path, text)]), minilm):
        assert minilm.count(context_line("Ada Marsh of Saltwick", path) + chunk.text) <= minilm.max_tokens


def test_a_long_paragraph_is_cut_at_sentence_ends_with_the_last_sentence_again():
    texts = cut(ONE_PARAGRAPH)
    assert len(texts) > 2
    for before, after in pairwise(texts):
        assert any(before.endswith(sentence) and after.startswith(sentence) for sentence in SENTENCES)
    assert all(any(sentence in text for text in texts) for sentence in SENTENCES)
    lengths = [len(text) for text in texts]
    assert min(lengths) > max(lengths) / 3, "of like length"


def test_paragraphs_are_kept_whole_where_they_fit():
    texts = cut(PARAGRAPHS)
    assert texts == PARAGRAPHS.split("\n\n")


def test_a_short_paragraph_joins_its_neighbor():
    paragraphs = PARAGRAPHS.split("\n\n")
    texts = cut("\n".join([paragraphs[0], "A short line.", *paragraphs[1:3]]))
    assert texts[0] == f"{paragraphs[0]}\nA short line."


def test_nothing_of_a_section_is_lost_whatever_it_is_made_of():
    text = "Short.\n\n" + "word " * 600 + "\n" + "字" * 700 + "\nEnd."
    kept = "".join(cut(text)).replace(" ", "").replace("\n", "")
    assert all(kept.count(piece) >= text.count(piece) for piece in ("Short.", "word", "字", "End."))


def test_chunks_are_numbered_through_the_page_and_keep_their_paths(minilm):
    chunks = make_chunks(page("A", {"Introduction": "x.", "Life": ONE_PARAGRAPH, "Life / End": "y."}), minilm)
    assert [chunk.position for chunk in chunks] == list(range(len(chunks)))
    assert chunks[0].path == ("Introduction",)
    assert {chunk.path for chunk in chunks[1:-1]} == {("Life",)}
    assert len({chunk.id for chunk in chunks}) == len(chunks)


def test_two_sections_of_one_name_stay_apart(place):
    loaded = place.load(page("A", [Section(("Films",), "One film."), Section(("Films",), "Another film.")]))
    assert [chunk.text for chunk in place.database.chunks(loaded.build.id)] == ["One film.", "Another film."]


def test_a_page_loaded_before_anchors_were_kept_gets_them_when_it_is_loaded_again(place):
    place.load(page("A", [Section(("Films",), "One film."), Section(("Films",), "Another film.")]))
    films = [Section(("Films",), "One film.", "Films"), Section(("Films",), "Another film.", "Films_2")]
    again = place.load(page("A", films))
    assert again.embedded == 0
    assert [chunk.anchor for chunk in place.database.chunks(again.build.id)] == ["Films", "Films_2"]
    assert place.load(page("A", films)).build == again.build


def test_the_same_text_twice_in_one_section_path_is_loaded_again_without_embedding(place):
    twice = page("A", [Section(("Films",), "One film."), Section(("Films",), "One film.")])
    place.load(twice)
    assert place.load(twice).embedded == 0


def test_a_path_longer_than_the_embedder_sees_does_no_harm(minilm):
    (chunk,) = make_chunks(page("A", [Section(("heading " * 400,), "A text.")]), minilm)
    assert chunk.text == "A text."


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(max_size=400), min_size=1, max_size=4).filter(lambda texts: any(t.strip() for t in texts)))
def test_any_text_is_cut_into_chunks_that_fit(texts):
    embedder = WordEmbedder()
    sections = [Section((f"S{n}",), text * 5) for n, text in enumerate(texts) if text.strip()]
    made = page("A", sections)
    for chunk in make_chunks(made, embedder):
        assert chunk.text
        assert embedder.count(chunk.text) <= embedder.max_tokens
        ingest._pieces(chunk, chunk.text, made)


def test_progress_never_runs_backward(place):
    steps = [event for event in place.ingest.load(long_page(paragraphs=100)) if isinstance(event, Progress)]
    done = [event.done for event in steps if event.step == "embedding"]
    assert done == sorted(done)
    assert done[-1] == 100
    assert len(done) > 3


def test_a_load_in_one_thread_does_not_disturb_an_answer_in_another(place):
    first = place.load(ada())
    events = Ingest(place.database, place.store, place.embedder).load(long_page("2"))
    vector = place.embedder.embed(["She mended it."])[0]
    for _ in events:
        assert place.store.nearest(first.build.id, vector, 1, {})
    assert np.isfinite(vector).all()
