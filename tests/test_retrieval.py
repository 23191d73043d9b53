"""Fusion, names for "you", and the evidence gate."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from persona.addressing import with_name, with_you
from persona.gate import LEXICAL, VECTOR, Gate, features, is_addressed, load_gate
from persona.ingest import make_chunks
from persona.records import Chunk
from persona.retrieval import PageIndex, Signals, excerpt, rank, rank_by_ngrams
from persona.text import bare_title
from tests.core import WordEmbedder, wikitext_page
from tests.mediawiki import CHINESE_OFF_TOPIC, CHINESE_OWN, CHINESE_PAGE, GERMAN_OFF_TOPIC, GERMAN_OWN, GERMAN_PAGE

NO_VECTORS = Signals({}, {})


def index(*texts: str, title: str = "Luke Skywalker", language: str = "en") -> PageIndex:
    chunks = [Chunk(f"c{n}", n, (f"Part {n}",), text, "") for n, text in enumerate(texts)]
    return PageIndex(title, language, chunks)


PAGE = index(
    "Luke Skywalker grew up on the farm of Owen Lars.",
    "The Millennium Falcon is the ship of Han Solo.",
    "Darth Vader cut off his right hand in the duel.",
    "For many years he lived alone on an island.",
)


# --- "you" and the name ---


@pytest.mark.parametrize(
    ("asked", "searched"),
    [
        ("What is your father's name?", "What is Luke Skywalker's father's name?"),
        ("Who are you?", "Who are Luke Skywalker?"),
        ("Did you hurt yourself?", "Did Luke Skywalker hurt Luke Skywalker?"),
        ("YOUR hand?", "Luke Skywalker's hand?"),
        ("Who is Luke Skywalker's aunt?", "Who is Luke Skywalker's aunt?"),
        ("Is yours a youthful young yurt?", "Is Luke Skywalker's a youthful young yurt?"),
        ("You, Luke Skywalker, came?", "Luke Skywalker, came?"),
    ],
)
@pytest.mark.parametrize("title", ["Luke Skywalker", "Luke Skywalker (pilot)"])
def test_the_name_stands_for_you_in_search(title, asked, searched):
    assert with_name(asked, title) == searched


@pytest.mark.parametrize(
    ("language", "asked", "searched"),
    [
        ("de", "Wo haben Sie gelernt, und haben sie gelacht?", "Wo haben Anna gelernt, und haben sie gelacht?"),
        ("de", "Wie heißt Ihr Vater und wie dein Hund?", "Wie heißt Anna Vater und wie Anna Hund?"),
        ("de", "Wer lehrte dich? Du weißt es.", "Wer lehrte Anna? Anna weißt es."),
        ("fr", "Où êtes-vous née ?", "Où êtes-Anna née ?"),
        ("es", "¿Quién fue tu padre?", "¿Quién fue Anna padre?"),
        ("zh", "你父亲是谁？", "你父亲是谁？"),
        ("xx", "Who are you?", "Who are you?"),
        ("simple", "Who was your father?", "Who was Anna's father?"),
    ],
)
def test_the_name_stands_for_you_in_other_languages(language, asked, searched):
    assert with_name(asked, "Anna", language) == searched


@pytest.mark.parametrize(
    ("standalone", "put"),
    [
        ("What is Luke Skywalker's father called?", "What is your father called?"),
        ("Did Luke Skywalker's hand heal?", "Did your hand heal?"),
        ("Where was Luke born?", "Where were you born?"),
        ("Is Skywalker a Jedi?", "Are you a Jedi?"),
        ("Does Luke Skywalker know Leia?", "Do you know Leia?"),
        ("Who is Anakin Skywalker?", "Who is Anakin Skywalker?"),
        ("Who is Luke Cage?", "Who is Luke Cage?"),
        ("What is Luke-Amidala?", "What is Luke-Amidala?"),
        ("Why is the sky blue?", "Why is the sky blue?"),
    ],
)
def test_the_interviewer_says_you_for_the_name(standalone, put):
    assert with_you(standalone, "Luke Skywalker") == put


@pytest.mark.parametrize(
    ("title", "asked", "put"),
    [
        ("The Who", "Who was your drummer?", "Who was your drummer?"),
        ("The Lamps", "The album Help, who made it?", "The album Help, who made it?"),
        ("The Lamps", "Where did the Lamps play first?", "Where did you play first?"),
        ("Bulk (character)", "What does the Bulk want?", "What do you want?"),
        ("Will Tarn", "Will there be another film?", "Will there be another film?"),
        ("Will Tarn", "What did Tarn do?", "What did you do?"),
        ("Queen Olga", "Who was Queen before you?", "Who was Queen before you?"),
        ("Olga the Great", "Great, and then?", "Great, and then?"),
        ("Olga of Troy", "Did Olga leave Troy?", "Did you leave Troy?"),
        ("Olga, Princess of Wales", "Did Olga live in Wales?", "Did you live in Wales?"),
        ("Tom King Jr.", "What did King dream of?", "What did you dream of?"),
        ("Tom and Jerry", "Who is Jerry?", "Who is Jerry?"),
        ("Luke Skywalker", "What did the Skywalker family do?", "What did the Skywalker family do?"),
        ("Luke Skywalker", "Luke, where were you born?", "Where were you born?"),
        ("Luke Skywalker", "Hello Luke, where were you born?", "Where were you born?"),
        ("Luke Skywalker", "where were you born, luke?", "Where were you born?"),
        ("Luke Skywalker", "Luke, Han and Leia: who was first?", "You, Han and Leia: who was first?"),
    ],
)
def test_only_a_name_becomes_you(title, asked, put):
    assert with_you(asked, title) == put


def test_what_stands_in_brackets_behind_a_title_may_be_searched():
    page = index("Ada Marsh became a pilot.", "She sang.", title="Ada Marsh (pilot)")
    assert [c.chunk.id for c in rank_by_ngrams(page, "When did you become a pilot?")] == ["c0"]


@pytest.mark.parametrize("title", ["C++ (band)", "A.B", "(x", "[", "\\1", "$", "Ψ"])
def test_a_title_with_marks_of_patterns_does_no_harm(title):
    assert bare_title(title) in with_name("Who are you?", title)
    with_you(f"Who is {title}?", title)


@pytest.mark.parametrize(
    ("asked", "named", "put"),
    [
        ("who's ur sister", "who's Ada Marsh's sister", "Who's your sister"),
        ("wat did u do", "wat did Ada Marsh do", "Wat did you do"),
        (
            "Was the U-boat in the U.S. or in Ur?",
            "Was the U-boat in the U.S. or in Ur?",
            "Was the U-boat in the U.S. or in Ur?",
        ),
    ],
)
def test_you_may_be_typed_in_short(asked, named, put):
    assert with_name(asked, "Ada Marsh") == named
    assert with_you(asked, "Ada Marsh") == put


def test_who_is_addressed_is_known():
    page = index("Anna lernte.", title="Anna Blum", language="de")
    assert is_addressed("Wo haben Sie gelernt?", page)
    assert is_addressed("Wo hat Anna Blum gelernt?", page)
    assert not is_addressed("Wo haben sie gelernt?", page)
    for language, question in [
        ("zh", "你父亲是谁？"),
        ("es", "¿Dónde naciste?"),
        ("it", "Dove andasti?"),
        ("ru", "Где вы родились?"),
    ]:
        assert is_addressed(question, index("x", title="Anna Blum", language=language))
    assert not is_addressed("为什么天空是蓝色的？", index("x", title="沈雁秋", language="zh"))


# --- fusion ---


def test_what_vectors_and_ngrams_agree_on_is_first_and_told():
    found = rank(PAGE, "Who owns the Millennium Falcon?", Signals({"c1": 0.8, "c0": 0.1}, {"c1": 0.7}))
    assert found[0].chunk.id == "c1"
    assert found[0].agreed
    assert len(found) == 4
    assert [c.score for c in found] == sorted((c.score for c in found), reverse=True)
    assert all(0 <= c.score <= 1.001 for c in found)


def test_where_they_differ_neither_is_agreed_on():
    found = rank(PAGE, "Who owns the Millennium Falcon?", Signals({"c2": 0.8, "c0": 0.1}, {"c2": 0.7}))
    assert not any(c.agreed for c in found)
    assert {c.chunk.id for c in found[:2]} == {"c1", "c2"}


def test_the_persona_s_own_name_lifts_no_chunk():
    found = rank_by_ngrams(PAGE, "Luke Skywalker, who was Owen?")
    assert [c.chunk.id for c in found] == ["c0"]
    assert rank_by_ngrams(PAGE, "Luke Skywalker?") == []


def test_a_common_word_alone_is_no_evidence():
    page = index("For many years he fished.", "In those years she sang.", "Years went by.", "He kept bees.", "He swam.")
    assert rank_by_ngrams(page, "How many years does a whale dive?") == []
    assert [c.chunk.id for c in rank_by_ngrams(page, "In which years did you fish for whales?")] == ["c0"]
    assert len(rank_by_ngrams(page, "Which years?")) == 3, "it is all that was asked for"
    assert [c.chunk.id for c in rank_by_ngrams(page, "Did bees sting a whale?")] == ["c3"]


def test_ngrams_find_a_misspelt_name():
    assert rank_by_ngrams(PAGE, "What is Millenium Falcon?")[0].chunk.id == "c1"


def test_a_section_is_searched_with_its_subsections():
    paths = [("Life",), ("Life", "Youth"), ("Life",), ("Lifetime awards",)]
    page = PageIndex("A", "en", [Chunk(f"c{n}", n, path, "x", "") for n, path in enumerate(paths)])
    assert page.sections == (("Life",), ("Life", "Youth"), ("Lifetime awards",))
    assert page.within(("Life",)) == ["Life", "Life -> Youth"]
    assert page.within(("Life", "Youth")) == ["Life -> Youth"]
    assert page.within(("None",)) == []


@pytest.mark.parametrize("page", [index(), index(""), index("the and of")])
def test_an_empty_page_gives_no_candidates_and_no_evidence(page):
    assert rank_by_ngrams(page, "Who was Owen?") == []
    assert all(value == 0 for name, value in features(page, "Who was Owen?", NO_VECTORS).items() if name != "length")
    rank(page, "Who was Owen?", NO_VECTORS)


def test_vectors_of_unknown_chunks_are_ignored():
    assert rank(PAGE, "?", Signals({"gone": 0.9, "c0": 0.5}, {}))[0].chunk.id == "c0"


# --- excerpts ---

LONG = index(
    "One came. Two sat. The lamp broke. Four ran. Five slept. Six ate. Seven left the harbor.", "Another chunk."
)


def cut(question: str, **windows: float) -> str:
    return excerpt(LONG, LONG.chunks[0], question, {f"c0:{n[1:]}": value for n, value in windows.items()})


def test_an_excerpt_is_the_best_window_with_a_sentence_on_either_side():
    assert (
        cut("When was it?", _0=0.1, _1=0.2, _2=0.9, _3=0.3, _4=0.1, _5=0.1)
        == "Two sat. The lamp broke. Four ran. Five slept."
    )


def test_a_rare_word_of_the_question_draws_the_excerpt_to_itself():
    assert "The lamp broke." in cut("Whose lamp was it?", _5=0.1)
    assert "left the harbor" in cut("Who was in the harbor?", _0=0.05)


def test_an_excerpt_at_the_end_or_without_vectors_is_within_the_chunk():
    assert cut("When?", _0=0.1, _5=0.9).endswith("Seven left the harbor.")
    assert cut("When?") in LONG.chunks[0].text


def test_a_short_chunk_is_sent_whole():
    assert excerpt(LONG, LONG.chunks[1], "When?", {}) == "Another chunk."


# --- the gate ---


def gate(embedder: str = "") -> Gate:
    found = load_gate(embedder, Path("/nonexistent"))
    assert found
    return found


def test_both_gates_are_shipped_with_the_features_they_weigh():
    assert set(gate().weights) == set(LEXICAL)
    assert set(gate("all-MiniLM-L6-v2-int8").weights) == set(VECTOR)


def test_a_gate_of_ones_own_is_taken_before_the_shipped_one(tmp_path):
    own = Gate("some/odd:model", {"cosine": 2.0}, -1.0, 0.5, "my cases")
    path = own.save(tmp_path / "gates")
    assert path.name == "some_odd_model.json"
    assert load_gate("some/odd:model", tmp_path / "gates") == own
    assert load_gate("another", tmp_path / "gates") is None
    Gate("", {"coverage": 1.0}, 0.0, 0.9).save(tmp_path / "gates")
    assert load_gate("", tmp_path / "gates").threshold == 0.9


def test_a_gate_is_a_logistic_score_with_a_threshold():
    made = Gate("e", {"cosine": 2.0, "coverage": 1.0}, -1.0, 0.5)
    assert made.score({"cosine": 0.5, "coverage": 0.0, "other": 9.0}) == pytest.approx(0.5)
    none = {"coverage": 0.0, "window": 0.0, "matched": 0.0, "ties": 0}
    assert made.passes(none | {"cosine": 0.5})
    assert not made.passes(none | {"cosine": 0.49})


@pytest.mark.parametrize(
    "question",
    [
        "How many years does a whale swim?",
        "How many years?",
        "Which ship sank in 1912?",
        "Is an island a rock?",
        "IS AN ISLAND A ROCK?",
        "years",
        "hand",
    ],
)
def test_a_single_shared_word_never_passes_alone(question):
    found = features(PAGE, question, NO_VECTORS)
    assert found["ties"] == 1
    assert not gate().passes(found)
    assert not gate("all-MiniLM-L6-v2-int8").passes(found)


def test_it_passes_if_it_is_all_that_the_persona_was_asked_for():
    assert gate().passes(features(PAGE, "Was that your hand?", NO_VECTORS))
    assert not gate().passes(features(PAGE, "Was that your telescope?", NO_VECTORS))
    assert not gate().passes(features(PAGE, "Was that your hand on the telescope in Paris?", NO_VECTORS))


def test_a_question_that_holds_the_persona_s_name_alone_is_about_the_page():
    page = index("Martin Luther war ein Mönch.", title="Martin Luther (Mönch)", language="de")
    for question in ("Wer war Martin Luther?", "Und wer ist Luther?"):
        assert gate().passes(features(page, question, NO_VECTORS))
    for question in ("Wer?", "Wer sind Sie denn?", "Kennt Martin Luther Paris?"):
        assert not gate().passes(features(page, question, NO_VECTORS))


def test_a_name_within_the_question_is_a_tie():
    assert gate().passes(features(PAGE, "Who is Owen?", NO_VECTORS))
    assert features(PAGE, "Owen?", NO_VECTORS)["ties"] == 1
    assert features(index("Die Hand.", "x", language="de"), "Ist es eine Hand?", NO_VECTORS)["ties"] == 1


def test_a_single_shared_word_passes_with_a_near_vector():
    near = Signals({"c2": 0.6}, {"c2": 0.6}, 0.5, 0.5, late=0.6)
    assert gate("all-MiniLM-L6-v2-int8").passes(features(PAGE, "Did the hand heal?", near))
    far = Signals({"c2": 0.2}, {"c2": 0.29}, 0.2, 0.29)
    assert not gate("all-MiniLM-L6-v2-int8").passes(features(PAGE, "A hand?", far))


def test_two_rare_words_together_pass():
    assert gate().passes(features(PAGE, "What is Millenium Falcon?", NO_VECTORS))


def test_the_name_is_no_tie_to_the_page():
    assert features(PAGE, "Luke Skywalker, do you know the capital of France?", NO_VECTORS)["ties"] == 0


@pytest.mark.parametrize("language", ["en", "zh", "xx"])
@settings(max_examples=40, deadline=None)
@given(question=st.text(max_size=80))
def test_no_question_breaks_the_features(language, question):
    page = index("Luke grew up.", "天空是蓝色的。", language=language)
    found = features(page, question, NO_VECTORS)
    assert set(found) == {*VECTOR, "ties"}
    assert all(value == value and value >= 0 for value in found.values())
    assert 0 <= gate().score(found) <= 1
    rank(page, question, NO_VECTORS)


# --- languages that the embedder does not know ---

# Beside the questions of tests/mediawiki.py, which are given, some more that nothing was fitted to.
MORE = {
    "de": (
        (
            "Wo wurden Sie geboren?", "Wer war Ihr Vater?", "Was haben Sie in Genf gelernt?", "Waren Sie verheiratet?", "Warum verloren Sie das Gehör?",
            "Wer war Anton Krug?", "Was geschah mit der Hülle Ihres Ballons?", "Wie viele Schülerinnen hatten Sie?", "Was steht auf Ihrem Grabstein?",
            "Wer hat die Unruh nachgebaut?", "Haben Sie ein Patent beantragt?", "Wie lange dauerte die Fahrt nach Dahme?",
        ),
        (
            "Wie viele Jahre lebt ein Wal?", "Was kostet eine Uhr bei Aldi?", "Wer ist der Präsident der USA?", "Wie backt man Brot?",
            "Was ist eine Primzahl?", "Wie ist das Wetter heute?", "Haben Sie ein Handy?", "Wie lautet Ihre Telefonnummer?", "Wer schrieb Faust?",
            "Wie viele Beine hat eine Spinne?", "Was ist die Hauptstadt von Frankreich?", "Wie viele Jahre?",
        ),
    ),
    "zh": (
        (
            "你父亲是谁？", "你什么时候去世的？", "你为什么用左手写字？", "你遇到过海盗吗？", "谁收养了林小满？", "海图用什么颜色表示水深？",
            "你贩卖鸦片吗？", "《海舶方》收了多少药方？", "义学什么时候停办？", "你为什么女扮男装？", "你大哥怎么了？", "学生要带什么？",
        ),
        (
            "今天天气怎么样？", "法国的首都是哪里？", "什么是质数？", "谁写了《红楼梦》？", "怎样做蛋糕？", "手机多少钱？", "谁发明了电话？",
            "你会开车吗？", "美国总统是谁？", "蜘蛛有几条腿？", "怎样学习编程？", "你的电话号码是多少？",
        ),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def pages() -> dict[str, PageIndex]:
    made = {}
    for title, language in ((GERMAN_PAGE, "de"), (CHINESE_PAGE, "zh")):
        page = wikitext_page(title, language)
        made[language] = PageIndex(title, language, make_chunks(page, WordEmbedder()))
    return made


@pytest.mark.parametrize(
    ("language", "own", "off_topic"), [("de", GERMAN_OWN, GERMAN_OFF_TOPIC), ("zh", CHINESE_OWN, CHINESE_OFF_TOPIC)]
)
def test_words_alone_part_a_page_s_own_questions_from_others(pages, language, own, off_topic):
    page = pages[language]
    assert [q for q in own if not gate().passes(features(page, q, NO_VECTORS))] == []
    assert [q for q in off_topic if gate().passes(features(page, q, NO_VECTORS))] == []


@pytest.mark.parametrize("language", ["de", "zh"])
def test_words_alone_do_so_for_questions_that_nothing_was_fitted_to(pages, language):
    own, off_topic = MORE[language]
    kept = [q for q in own if gate().passes(features(pages[language], q, NO_VECTORS))]
    passed = [q for q in off_topic if gate().passes(features(pages[language], q, NO_VECTORS))]
    assert len(kept) >= len(own) * 3 // 4, set(own) - set(kept)
    assert passed == []


def test_the_shipped_gates_say_what_they_were_fitted_on():
    folder = Path(__file__).parent.parent / "persona" / "gates"
    for file in folder.glob("*.json"):
        assert json.loads(file.read_text("utf-8"))["fitted_on"]
