"""Cases in, figures out: what counts as right, in the first person, whole, and found."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from persona.cases import Case, read_cases
from persona.errors import InputError, ModelUnreachable
from persona.evaluation import Examiner, Outcome, figures
from persona.judging import answered_right, copies, fault, first_person, is_fragment, right_chunks, right_section
from persona.records import Answer, ChatRequest, Chunk, Source
from tests.core import ADA, Talk

FATHER = Case("c1", "Ada Marsh", "Who was your father?", answers=("Josiah Marsh", "fisherman"), section=("Early life",))
PASSAGE = ADA["Early life"]


def answer(text: str, *sources: str, found: bool = True) -> Answer:
    made = tuple(Source(n, "Early life", "", "1", source, 1.0) for n, source in enumerate(sources, 1))
    return Answer(text, found, "ranked" if found else "refused", sources=made)


# --- answered right ---


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("My father was Josiah Marsh.", True),
        ("He was a FISHERMAN!", True),
        ("Josíah-Marsh was his name.", True),
        ("My mother was Ruth.", False),
        ("He was Joe Marsh.", False),
        ("", False),
        ("My father was Josiah Marsh. " + "I liked him very much indeed. " * 10, False),
        (PASSAGE, False),
        (f"Well, {PASSAGE}", False),
    ],
)
def test_answered_right_is_short_in_its_own_words_and_holds_an_accepted_string(text, right):
    assert answered_right(FATHER, answer(text, PASSAGE)) is right


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("My father was Josiah Marsh.", ""),
        ("My mother was Ruth.", "it holds no accepted answer"),
        ("My father was Josiah Marsh. " + "I liked him very much indeed. " * 10, "it has more than 60 words"),
        (PASSAGE, "it copies 20 words in a row from a source"),
    ],
)
def test_why_an_answer_is_not_right_is_told(text, why):
    assert fault(FATHER, answer(text, PASSAGE)) == why
    assert fault(FATHER, None) == "there is no answer"


def test_a_refusal_or_nothing_is_not_right_even_with_the_string_in_it():
    assert not answered_right(FATHER, answer("Josiah Marsh is not on my page.", found=False))
    assert not answered_right(FATHER, None)


def test_a_string_that_the_question_holds_is_no_answer():
    asked = replace(FATHER, question="Was Josiah Marsh your father?")
    assert not answered_right(asked, answer("Josiah Marsh was my father."))
    assert answered_right(asked, answer("He was, and a fisherman."))


def test_numbers_are_compared_as_words():
    case = replace(FATHER, answers=("40",))
    assert answered_right(case, answer("I was 40."))
    assert not answered_right(case, answer("It was in 1840."))


def test_a_run_of_twenty_words_is_copied_and_nineteen_are_not():
    source = " ".join(f"word{n}" for n in range(30))
    assert copies(" ".join(source.split()[3:23]), source)
    assert copies("I said: " + " ".join(source.upper().split()[3:23]) + ".", source)
    assert not copies(" ".join(source.split()[3:22]), source)
    assert not copies("", source)


# --- first person, fragments ---


@pytest.mark.parametrize(
    ("text", "language", "first"),
    [
        ("I was born in Whitby.", "en", True),
        ("My father was a fisherman.", "en", True),
        ("They called me Ada.", "en", True),
        ("We went to sea.", "en", True),
        ("Ada Marsh was born in Whitby.", "en", False),
        ("Marsh was born in Whitby, I think.", "en", False),
        ("I am Ada Marsh. Ada was born in Whitby.", "en", False),
        ("I am Ada Marsh.", "en", True),
        ("Josiah Marsh was my father.", "en", True),
        ("Your father was a fisherman.", "en", False),
        ("She was born in Whitby.", "en", False),
        ("In 1871.", "en", False),
        ("Ich bin in Lübeck geboren.", "de", True),
        ("Sie ist in Lübeck geboren.", "de", False),
        ("J'ai appris le latin.", "fr", True),
        ("Nací en Sevilla.", "es", True),
        ("我生于宁波。", "zh", True),
        ("她生于宁波。", "zh", False),
        ("The US army came.", "en", False),
        ("She was a nurse in World War I.", "en", False),
        ("They told us.", "en", True),
        ("I was his Italian teacher.", "en", True),
        ("Italian was spoken.", "en", False),
    ],
)
def test_the_first_person_is_known(text, language, first):
    assert first_person(text, "Ada Marsh", language) is first


def test_the_article_of_a_group_s_name_is_no_name():
    assert first_person("The album was ours.", "The Lamps")
    assert not first_person("The Lamps were a band, says our page.", "The Lamps")


@pytest.mark.parametrize(
    "text",
    ["In 1871.", "Josiah Marsh, a fisherman.", "Whitby", "A copper kettle and two eggs", "Yes.", "My right hand."],
)
def test_an_answer_without_a_verb_is_a_fragment(text):
    assert is_fragment(text)


@pytest.mark.parametrize(
    "text",
    [
        "I was born in 1831.", "I mended it.", "It's mine.", "My father fished.", "I kept a seal.", "They call me Ada.", "I went to sea.", "I can row.",
        "Eggs paid him.", "I taught her.",
    ],
)  # fmt: skip
def test_an_answer_with_a_verb_is_none(text):
    assert not is_fragment(text)


def test_other_languages_are_not_judged_for_fragments():
    assert not is_fragment("Im Jahr 1871", "de")


# --- the right section or passage ---


def chunk(position: int, text: str, *path: str) -> Chunk:
    return Chunk(f"c{position}", position, path or ("Early life",), text, "")


def test_a_section_is_right_by_its_whole_path():
    case = replace(FATHER, section=("Career -> The storm", "Legacy"))
    assert right_section(case, ("Career", "The storm"))
    assert right_section(case, ("Legacy",))
    assert not right_section(case, ("The storm",))
    assert not right_section(case, ("Career",))


def test_all_chunks_of_a_right_section_are_right():
    chunks = [chunk(0, "a", "Introduction"), chunk(1, "b"), chunk(2, "c")]
    assert right_chunks(FATHER, chunks) == {"c1", "c2"}


BEGINNING = "In 1855 she became the assistant of the keeper Enoch Pike, and the two of them"
CUT = [
    chunk(0, "Another paragraph, about the youth of the keeper and her nine brothers."),
    chunk(1, f"{BEGINNING} kept the lamp. He taught her to trim the wick in the long winter nights."),
    chunk(2, "He taught her to trim the wick in the long winter nights. Then he died and left her the keys."),
    chunk(3, "Then he died and left her the keys. She was the first woman to hold them."),
    chunk(4, "A new paragraph begins here, about eggs."),
]


def test_a_paragraph_cut_in_pieces_is_right_in_each_of_them():
    case = replace(FATHER, section=(), passage=BEGINNING)
    assert right_chunks(case, CUT) == {"c1", "c2", "c3"}


def test_pieces_must_follow_each_other():
    case = replace(FATHER, section=(), passage=BEGINNING)
    assert right_chunks(case, [CUT[1], CUT[3]]) == {"c1"}
    assert right_chunks(case, [CUT[2]]) == frozenset()


def test_a_passage_is_found_within_a_longer_chunk_whatever_marks_stand_in_it():
    case = replace(FATHER, section=(), passage="In 1855, she became — the assistant of the keeper [Enoch Pike]")
    assert right_chunks(case, [chunk(0, f"A first paragraph.\n{BEGINNING} kept the lamp.")]) == {"c0"}


def test_a_passage_in_chinese_is_found():
    case = replace(FATHER, section=(), passage="十三岁时，她的右手被药碾压伤")
    chunks = [chunk(0, "九岁那年，大哥失踪。"), chunk(1, "十三岁时，她的右手被药碾压伤，食指不能弯曲。")]
    assert right_chunks(case, chunks) == {"c1"}


def test_a_case_that_names_neither_has_no_right_chunk():
    assert right_chunks(replace(FATHER, section=()), CUT) == frozenset()


# --- whole cases ---

HISTORY = (("user", "Who was your father?"), ("persona", "My father was Josiah Marsh."))
CASES = [
    FATHER,
    Case("c2", "Ada Marsh", "Who taught you Latin?", answers=("Thomas Hale",), section=("Early life -> Schooling",)),
    Case("c3", "Ada Marsh", "Why is the sky blue?", answerable=False, tags=("off-topic",)),
    Case(
        "c4",
        "Ada Marsh",
        "What did he do?",
        history=HISTORY,
        answers=("fisherman",),
        rewrite="What did Josiah Marsh do?",
        section=("Early life",),
    ),
    Case("c5", "Ada Marsh", "🎉", answerable=False, tags=("gibberish",)),
    Case("c6", "Ada Marsh", "   ", answerable=False, tags=("gibberish",)),
    Case("c7", "Ada Marsh", "Did you own a storm glass?", answerable=False),
]


@pytest.fixture
def examiner(ada: Talk) -> Examiner:
    return Examiner(ada.wiring.interview, ada.wiring.history, lambda page: ada.person)


def test_what_a_search_found_is_kept_to_be_looked_at(examiner):
    outcome = examiner.search(CASES[1])
    assert [passage.right for passage in outcome.passages] == [True, False, False, False, False]
    assert outcome.passages[0].text == ADA["Early life / Schooling"]
    assert outcome.kept is (outcome.gate >= outcome.threshold)
    assert outcome.features["ties"] >= 1
    assert outcome.said.startswith("Early life -> Schooling | ")


def test_search_and_gate_are_measured_without_a_model(ada, examiner):
    found = figures([examiner.search(case) for case in CASES])
    assert ada.model.requests == []
    assert found["right_first"] == {"n": 3, "of": 3}
    assert found["right_top3"] == {"n": 3, "of": 3}
    assert found["own_kept"] == {"n": 3, "of": 3}
    assert found["off_topic_refused"] == {"n": 1, "of": 1}
    assert "answered_right" not in found
    assert "calls_per_turn" not in found


def test_a_turn_is_judged(ada, examiner):
    ada.model.scripts["answer"] += ["My father was Josiah Marsh."]
    outcome = examiner.ask(FATHER)
    assert (outcome.right, outcome.found, outcome.first_person, outcome.fragment) == (True, True, True, False)
    assert (outcome.right_first, outcome.right_sent, outcome.kept) == (True, True, True)
    assert (outcome.calls, outcome.answer_calls) == (1, 1)
    assert outcome.prompt_tokens > 0
    assert outcome.seconds >= outcome.first_token > 0
    assert outcome.refused_right is None
    assert not outcome.failed


def test_an_answerer_that_dumps_the_passages_scores_nothing(ada, examiner):
    def dump(request: ChatRequest) -> str:
        return max(
            (text for text in ADA.values() if text in request.messages[0].text + request.messages[-1].text), key=len
        )

    ada.model.otherwise = dump
    ada.model.scripts["rewrite"] += ['{"question": "What did Josiah Marsh do?", "turns": [1]}']
    # a passage of one short sentence is an answer itself
    outcomes = [examiner.ask(case) for case in CASES if case.answerable and "Latin" not in case.question]
    assert all(outcome.found for outcome in outcomes)
    assert figures(outcomes)["answered_right"] == {"n": 0, "of": 2}
    assert all(outcome.failed for outcome in outcomes)


def test_a_follow_up_is_asked_in_a_thread_with_its_history(ada, examiner):
    ada.model.scripts["rewrite"] += ['{"question": "What did Josiah Marsh do?", "turns": [1]}']
    ada.model.scripts["answer"] += ["He was a fisherman, and I loved him."]
    outcome = examiner.ask(CASES[3])
    assert (outcome.right, outcome.standalone, outcome.calls) == (True, "What did Josiah Marsh do?", 2)
    assert "My father was Josiah Marsh." in "\n".join(m.text for m in ada.model.asked("rewrite")[0].messages)


def test_a_refusal_where_there_is_nothing_to_know_is_right(ada, examiner):
    outcome = examiner.ask(CASES[2])
    assert (outcome.refused_right, outcome.right, outcome.answer_calls, outcome.stage) == (True, None, 0, "refused")
    assert outcome.reason


def test_a_question_that_cannot_be_one_is_refused_at_the_door(examiner):
    assert examiner.ask(CASES[5]).refused_right is True


def test_an_answer_where_there_is_none_is_wrong(ada, examiner):
    ada.model.otherwise = "I owned a storm glass at the lighthouse."
    outcome = examiner.ask(CASES[6])
    assert outcome.refused_right is False
    assert outcome.failed


def test_a_failed_turn_is_never_right(ada, examiner):
    ada.model.scripts["answer"] += [ModelUnreachable("Start it.")]
    outcome = examiner.ask(FATHER)
    assert (outcome.right, outcome.error, outcome.found) == (False, "Start it.", False)
    assert outcome.failed


# --- figures ---


def test_figures_are_counts_with_what_they_are_of():
    base = Outcome(
        "c",
        "q",
        (),
        answerable=True,
        off_topic=False,
        stage="ranked",
        found=True,
        seconds=1.0,
        calls=2,
        prompt_tokens=100,
    )
    outcomes = [
        replace(base, right=True, first_person=True, fragment=False, first_token=0.5),
        replace(
            base,
            right=False,
            first_person=False,
            fragment=True,
            warnings=("“Rome” is in no source",),
            seconds=3.0,
            first_token=1.5,
        ),
        replace(base, right=False, found=False, stage="refused", calls=1),
        replace(
            base,
            answerable=False,
            off_topic=True,
            refused_right=True,
            found=False,
            stage="refused",
            calls=0,
            prompt_tokens=0,
        ),
    ]
    found = figures(outcomes)
    assert found["answered_right"] == {"n": 1, "of": 3}
    assert found["refused_right"] == {"n": 1, "of": 1}
    assert found["refused_wrongly"] == {"n": 1, "of": 3}
    assert found["first_person"] == {"n": 1, "of": 2}
    assert found["fragments"] == {"n": 1, "of": 2}
    assert found["unsupported"] == {"n": 1, "of": 2}
    assert found["off_topic_answer_calls"] == {"n": 0, "of": 1}
    assert found["calls_per_turn"] == 1.25
    assert found["prompt_tokens_per_turn"] == 75.0
    assert found["first_token_median"] == 1.0
    assert found["seconds_median"] == 1.0


def test_no_outcomes_have_no_figures():
    assert figures([]) == {}


def test_an_outcome_goes_to_json_and_back(ada, examiner):
    ada.model.scripts["answer"] += ["My father was Josiah Marsh."]
    kind = TypeAdapter(Outcome)
    outcome = examiner.ask(FATHER)
    written = json.loads(json.dumps(kind.dump_python(outcome, mode="json", exclude_none=True)))
    assert "refused_right" not in written
    assert written["trace"]["calls"][0]["reply"] == "My father was Josiah Marsh."
    assert kind.validate_python(written) == outcome


def test_a_search_fails_by_its_order_and_by_the_gate():
    base = Outcome("c", "q", (), answerable=True, off_topic=False, right_first=False, right_top3=True, kept=True)
    assert not base.failed
    assert replace(base, right_top3=False).failed
    assert replace(base, kept=False).failed
    other = replace(base, answerable=False, right_first=None, right_top3=None)
    assert not replace(other, kept=False).failed
    assert not replace(other, kept=True).failed, "a question on the persona may pass, and is refused later"
    assert replace(other, off_topic=True, kept=True).failed
    assert replace(base, right_first=True).worth > base.worth > replace(base, right_top3=False).worth


# --- files of cases ---


def test_cases_are_read_with_a_section_or_several(tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text(
        '{"id": "1", "page": "A", "question": "Q?", "section": "S"}\n\n{"id": "2", "page": "A", "question": "Q?", "section": ["S", "T"]}\n',
        "utf-8",
    )
    one, two = read_cases([path])
    assert (one.section, two.section, one.answerable) == (("S",), ("S", "T"), True)


def test_a_text_may_hold_what_ends_a_line_elsewhere_and_the_file_may_be_of_windows(tmp_path):
    path = tmp_path / "cases.jsonl"
    odd = "Who\u2028are\u0085you?"
    path.write_bytes(f'\ufeff{{"id": "1", "page": "A", "question": "{odd}"}}\r\n'.encode())
    assert [case.question for case in read_cases([path])] == [odd]


def test_cases_of_several_files_are_told_apart(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text('{"id": "1", "page": "A", "question": "Q?"}\n', "utf-8")
    assert [case.id for case in read_cases([tmp_path / "a", tmp_path / "b"])] == ["1", "1 (2)"]


def test_history_is_paired_whatever_is_missing():
    history = (("persona", "Hello."), ("user", "Who?"), ("user", "Where?"), ("persona", "Here."))
    assert Case("1", "A", "Q?", history=history).exchanges == (("", "Hello."), ("Who?", ""), ("Where?", "Here."))


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '"text"',
        '{"id": "1"}',
        '{"id": "1", "page": "A", "question": 5}',
        '{"id": "1", "page": "A", "question": "Q?", "history": "x"}',
        "null",
    ],
)
def test_a_line_that_is_no_case_is_named(tmp_path, line):
    path = tmp_path / "cases.jsonl"
    path.write_text('{"id": "1", "page": "A", "question": "Q?"}\n' + line + "\n", "utf-8")
    with pytest.raises(InputError, match=r"cases\.jsonl:2: this is no case"):
        read_cases([path])


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_cases([tmp_path / "none.jsonl"])


def test_our_own_cases_can_be_read():
    folder = Path(__file__).parent / "cases"
    assert len(read_cases(sorted(folder.glob("*.jsonl")))) > 100
