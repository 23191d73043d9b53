"""Sources attached by code, what supports an answer, and what nothing supports."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from persona.records import Build, Chunk, Evidence, Source, new_id, now
from persona.sources import invented_quotation, is_supported, make_sources, section_url, supporting_spans, unsupported

BUILD = Build(
    id="b", person="p", title="Ada Marsh", url="https://en.wikipedia.org/wiki/Ada_Marsh", revision="77", fetched_at=now(),
    embedder="e", dimension=3, chunker="c", sections=(), chunks=2, left_out=(), living=False, description="", created_at=now(),
)  # fmt: skip
STORM = "In 1871 a storm broke the lamp. Ada Marsh mended it with Josiah Pike in one night. The ship was saved."
YOUTH = "She was born in Whitby as the fourth of nine children."


def evidence(*found: tuple[tuple[str, ...], str, float]) -> list[Evidence]:
    return [
        Evidence("ranked", Chunk(new_id(), n, path, text, ""), score) for n, (path, text, score) in enumerate(found)
    ]


def test_sources_are_the_passages_sent_numbered_from_one():
    found = evidence((("Life", "The storm"), STORM, 0.91239), (("Introduction",), YOUTH, 0.5))
    one, two = make_sources(BUILD, found, "Josiah Pike and I mended it in one night.", "en")
    assert (one.number, one.section, one.text, one.score, one.revision) == (1, "Life -> The storm", STORM, 0.912, "77")
    assert (two.number, two.section, two.text) == (2, "Introduction", YOUTH)


def test_what_supports_the_answer_stands_first_and_the_lead_is_a_source_only_where_it_does():
    found = evidence((("Life",), STORM, 0.9), (("Introduction",), YOUTH, 0.0))
    assert [s.section for s in make_sources(BUILD, found, "I was born in Whitby.", "en")] == ["Introduction", "Life"]
    assert [s.section for s in make_sources(BUILD, found, "Josiah Pike and I mended it.", "en")] == ["Life"]


def test_three_sections_used_are_three_listed():
    found = evidence(
        (("Life",), STORM, 0.9), (("Youth",), YOUTH, 0.8), (("Letters",), "She wrote to Josiah Pike.", 0.7)
    )
    listed = make_sources(BUILD, found, "I mended it with Josiah Pike. I was born in Whitby. I wrote to him.", "en")
    assert [(source.number, source.section) for source in listed] == [(1, "Life"), (2, "Youth"), (3, "Letters")]


def test_sources_need_no_citation_by_the_model():
    (source,) = make_sources(BUILD, evidence((("Life",), STORM, 1.0)), "Yes.", "en")
    assert source.text == STORM
    assert source.supports == ()


def supported(text: str, answer: str, language: str = "en") -> list[str]:
    return [text[a:b] for a, b in supporting_spans(text, answer, language)]


def test_the_sentence_that_supports_an_answer_is_marked():
    assert supported(STORM, "I mended it in one night with Josiah Pike.") == [
        "Ada Marsh mended it with Josiah Pike in one night."
    ]


def test_each_sentence_of_an_answer_finds_its_own_support():
    assert supported(STORM, "A storm broke the lamp in 1871. The ship was saved.") == [
        "In 1871 a storm broke the lamp.",
        "The ship was saved.",
    ]


def test_the_same_sentence_twice_is_marked_where_it_stands():
    text = "The ship was saved.\nThe ship was saved."
    assert supporting_spans(text, "My ship was saved.", "en") == ((0, 19), (20, 39))


def test_an_answer_about_something_else_is_supported_by_nothing():
    assert supported(STORM, "I like to eat herring.") == []
    assert supported(STORM, "") == supported("", "I mended the lamp.") == []


def test_support_is_found_in_chinese():
    assert supported("她用左手写字。她养猫。", "我用左手写字。", "zh") == ["她用左手写字。"]


@pytest.mark.parametrize(
    ("url", "revision", "path", "anchor", "expected"),
    [
        (
            "https://en.wikipedia.org/wiki/Ada_Marsh",
            "77",
            ("Introduction",),
            "",
            "https://en.wikipedia.org/wiki/Ada_Marsh?oldid=77",
        ),
        (
            "https://en.wikipedia.org/wiki/Ada_Marsh",
            "77",
            ("Life", "The storm"),
            "The_storm_2",
            "https://en.wikipedia.org/wiki/Ada_Marsh?oldid=77#The_storm_2",
        ),
        (
            "https://en.wikipedia.org/wiki/Ada_Marsh",
            "77",
            ("Life", "The storm"),
            "",  # loaded before anchors were kept
            "https://en.wikipedia.org/wiki/Ada_Marsh?oldid=77#The_storm",
        ),
        ("http://w.test/index.php?title=Ada", "5", ("Life",), "Life", "http://w.test/index.php?title=Ada&oldid=5#Life"),
        ("", "77", ("Life",), "Life", ""),
        ("https://a.test/page", "5", ("Life",), "Life", "https://a.test/page#Life"),
    ],
)
def test_the_link_leads_to_the_section_in_the_revision_that_was_read(url, revision, path, anchor, expected):
    chunk = Chunk("c", 0, path, STORM, "", anchor)
    assert section_url(replace(BUILD, url=url, revision=revision), chunk) == expected


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        ("I mended it with Josiah Pike in 1871.", ()),
        ("I mended it with Josiah Stone.", ("Josiah Stone",)),
        ("It was in 1872.", ("1872",)),
        ("There were 3 ships and 12 boats.", ("3", "12")),
        ("I met Napoleon. Napoleon was tall.", ("Napoleon",)),
        ("Storms came. Nothing else.", ()),
        ("I was there; I'm sure I'd been.", ()),
        ("My friend Pike’s lamp and Pike's ship.", ()),
        ("I sailed to Paris, then to Rome and Paris.", ("Paris", "Rome")),
        ("Ada Marsh is my name, and Whitby was asked about.", ()),
        ("JOSIAH PIKE", ()),
    ],
)
def test_names_and_numbers_that_no_source_holds_are_told(answer, missing):
    assert unsupported(answer, [STORM], "Were you in Whitby? Ada Marsh") == missing


def test_accents_and_hyphens_are_no_difference():
    assert unsupported("I met Jose in Baden Baden.", ["She met José in Baden-Baden."], "") == ()


def test_a_number_within_another_is_not_supported():
    assert unsupported("It took 18 days.", ["It was in 1871."], "") == ("18",)
    assert unsupported("It took 1871 days.", ["It was in 1871."], "") == ()
    assert unsupported("I earned 1,000 pounds.", ["She earned 1000 pounds."], "") == ()


def test_a_small_number_may_be_spelled_out():
    assert unsupported("I had 9 siblings.", ["She was one of nine."], "") == ()


def test_an_ending_of_the_language_is_no_difference():
    assert unsupported("I came to Lübeck and to Rigas Hafen.", ["In Lübecks Hafen, Riga and Hafen."], "", "fr") == ()


def test_the_word_that_opens_a_sentence_is_no_part_of_a_name():
    assert unsupported("My Uncle Owen raised me. The Falcon flew.", ["uncle owen", "the falcon"], "") == ()
    assert unsupported("My Uncle Owen raised me.", ["uncle ben"], "") == ("My Uncle Owen",)


def test_a_german_noun_is_no_name_but_two_in_a_row_are():
    passages = ["Sie lernte bei Étienne Favre."]
    assert unsupported("Der Vater und die Lehrzeit waren streng.", passages, "", "de") == ()
    assert unsupported("Ich lernte bei Étienne Favre und Karl Moor.", passages, "", "de") == ("Karl Moor",)


def test_a_name_within_another_word_is_not_supported():
    assert unsupported("I met Ann there.", ["She planned the annual fair."], "") == ("Ann",)


def test_of_a_claim_s_new_names_one_must_be_known():
    passages = ["The keeper before Ada Marsh was Enoch Pike, in Washington County.", "She kept the lamp from 1855 on."]

    def supported(claim: str, asked: str = "Who was keeper before you?") -> bool:
        return is_supported(claim, asked, passages, "Ada Marsh", "en")

    assert supported("The keeper before me was Enoch Pike.")
    assert not supported("The keeper before me was George Washington."), "a county is no person"
    assert not supported("I kept the lamp from 1799 on.", "From when on did you keep the lamp?")
    assert supported("The keeper before me was Enoch Pike of Leeds."), "it is shown with a warning"
    assert supported("The keeper before me was Captain Pike."), "he is known, if not as a captain"
    assert supported("I kept the lamp.", "What did you do in Leeds?")


@pytest.mark.parametrize(
    ("asked", "claim"),
    [
        ("Where were you born?", "I was born in Leeds."),
        ("When did the storm break the lamp?", "It was in 1872."),
        ("How many days did you mend it?", "I mended it for 18 days."),
        ("Did you marry the captain?", "I did marry the captain."),
        ("Did you marry the captain of the ship?", "I married the captain of the ship."),
        ("Who are you?", "Ada Marsh is a blacksmith."),
    ],
)
def test_what_is_invented_or_only_repeats_the_question_is_not_supported(asked, claim):
    assert not is_supported(claim, asked, [STORM, YOUTH], "Ada Marsh", "en")


@pytest.mark.parametrize(
    ("asked", "claim"),
    [
        ("Where were you born?", "Whitby is my home town."),
        ("What happened that year?", "Bad weather shattered my lamp."),
        ("When did it break?", "In 1871."),
        ("Was the ship saved?", "The ship was saved."),
        ("Who are you?", "I am Ada Marsh."),
    ],
)
def test_one_word_beside_the_question_that_a_passage_holds_supports_a_sentence(asked, claim):
    assert is_supported(claim, asked, [STORM, YOUTH], "Ada Marsh", "en")


@pytest.mark.parametrize(
    ("language", "passage", "asked", "true", "false"),
    [
        (
            "de", "Im Frühjahr 1829 reiste sie nach Genf.", "Wo haben Sie gelernt?",
            "Ich habe in Genf gelernt.", "Ich habe in Paris gelernt.",
        ),
        ("zh", "船主林阿福是福建泉州人。", "船主林阿福是哪里人？", "他来自福建。", "他来自北京。"),
        ("xx", "Zorba plami Kirrin.", "Plami?", "Kirrin.", "Dorrin."),
    ],
)  # fmt: skip
def test_support_is_known_in_other_languages(language, passage, asked, true, false):
    assert is_supported(true, asked, [passage], "", language)
    assert not is_supported(false, asked, [passage], "", language)


def test_without_passages_nothing_is_supported():
    assert not is_supported("I was born in Whitby.", "Where were you born?", [], "Ada Marsh", "en")


def test_an_invented_quotation_is_known():
    assert invented_quotation('I said "the sea gives nothing back" to him.', [STORM])
    assert not invented_quotation('I wrote that "a storm broke the lamp".', [STORM])
    assert not invented_quotation("I wrote that “A storm — broke the lamp!”", [STORM])
    assert not invented_quotation('They call me "Ada".', [STORM])
    assert not invented_quotation("I mended it.", [STORM])


@pytest.mark.parametrize("marks", ["“{}”", '"{}"', "«{}»", "„{}“", "‘{}’", "'{}'", "「{}」", "« {} »"])
def test_quotation_marks_of_all_kinds_are_seen(marks):
    assert invented_quotation(f"I said {marks.format('the sea gives nothing back')} to him.", [STORM])
    assert not invented_quotation(f"I said {marks.format('the ship was saved')} to him.", [STORM])


def test_apostrophes_are_no_quotation():
    assert not invented_quotation("I don't think that the keeper's lamp wasn't Ada's own, and I didn't ask.", [STORM])


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200), st.text(max_size=200), st.sampled_from(["en", "zh", "xx"]))
def test_spans_lie_in_the_text_in_order(text, answer, language):
    spans = supporting_spans(text, answer, language)
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)
    assert all(0 <= edge <= len(text) for edge in edges)
    unsupported(answer, [text], "")
    invented_quotation(answer, [text])
    assert is_supported(text, "", [text], "", language) == is_supported(text, text, [text], "", language) is True
    (source,) = make_sources(BUILD, evidence((("A",), text, 0.1)), answer, language)
    assert isinstance(source, Source)


def test_a_number_in_digits_is_supported_by_one_in_letters():
    assert is_supported("I had 9 brothers.", "How many brothers did you have?", [YOUTH], "Ada Marsh", "en")
