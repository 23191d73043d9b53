"""From MediaWiki's plain text to sections: what is mended, what nests, what is left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona.adapters.extracts import mend, mend_formulas, read_blocks, readable_tex
from persona.adapters.sections import Block, arrange, is_reference_matter, tidy
from persona.records import LeftOut, Section


@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        ("He left the harbor.Rain fell.", "He left the harbor. Rain fell."),
        ('She called it "the wasp".In May she sold it.', 'She called it "the wasp". In May she sold it.'),
        ("the mill (now a school).A fire", "the mill (now a school). A fire"),
        ("opened in 1911.The doors", "opened in 1911. The doors"),
        ("worked for the BBC.She left", "worked for the BBC. She left"),
        ("Was it true?Nobody knew!Then", "Was it true? Nobody knew! Then"),
        ("ein Haus.Übrigens nicht", "ein Haus. Übrigens nicht"),
        ("Он жил там.Потом уехал", "Он жил там. Потом уехал"),
    ],
)
def test_sentences_that_ran_together_are_parted(broken: str, mended: str) -> None:
    assert mend(broken) == mended


@pytest.mark.parametrize(
    "text",
    [
        "born in the U.S.A. and the U.K.",
        "a Ph.D at St.Andrews",
        "pi is 3.14 or 3,14",
        "e.g. this, i.e. that, at 5 p.m.",
        "see www.Example.com/Some.Page or http://en.Wikipedia.org/A.B",
        "the site en.Wikipedia.org",
        "mail Some.One@wiki.Test",
        "written in Node.JS",
        "J.R.R. Somebody",
        "wait...what",
        "costs $5.50",
        "他走了。她来了.",
    ],
)
def test_what_is_right_stays_as_it_is(text: str) -> None:
    assert mend(text) == text


@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        ("Ada (; 10 May 1800) counted", "Ada (10 May 1800) counted"),
        ("Ada ( , also Adah ) counted", "Ada (also Adah) counted"),
        ("Ada () counted", "Ada counted"),
        ("沈（；1702年）生", "沈（1702年）生"),
        ("call main() twice", "call main() twice"),
        ("It was so .", "It was so."),
        ("It was so.[3] And so.[note 2]", "It was so. And so."),
        ("It was so.[citation needed] Then", "It was so. Then"),
        ('"It was so.":54–57 :64 Then', '"It was so." Then'),
        ("She said [sic] that [the] Ark [1933] left", "She said [sic] that [the] Ark [1933] left"),
        ("at 5:30 and in John 3:16", "at 5:30 and in John 3:16"),
    ],
)
def test_leftovers_of_notes_and_templates_are_removed(broken: str, mended: str) -> None:
    assert mend(broken) == mended


def test_whitespace_is_plain_and_a_paragraph_is_a_line() -> None:
    assert tidy(" one\u00a0two \u200b three\r\n\n\n four\tfive\n") == "one two three\nfour five"


def test_a_rendered_formula_stands_once_within_its_sentence() -> None:
    extract = (
        "The energy is\n  \n    \n      \n        E\n        =\n        m\n    \n    {\\displaystyle E=m}\n  \n"
        " here.\nNext {\\displaystyle {\\frac {a+b}{2}}}.\n\n  \n    x\n    {\\displaystyle x}\n  \n\nEnd."
    )
    assert mend(mend_formulas(extract)) == "The energy is E=m here.\nNext (a+b)/2.\nx\nEnd."


@pytest.mark.parametrize(
    ("tex", "read"),
    [
        ("E=mc^{2}", "E=mc^2"),
        ("\\hbar \\omega", "ħω"),
        ("\\frac{a}{b}", "a/b"),
        ("\\sqrt {x_{1}+2}", "√(x_1+2)"),
        ("\\mathbf {F} =q\\,\\left(E\\right)", "F =q (E)"),
        ("e^{i\\pi }+1=0", "e^(iπ)+1=0"),
        ("{{{a}}}", "a"),
        ("\\unknown x", "unknown x"),
    ],
)
def test_tex_becomes_readable(tex: str, read: str) -> None:
    assert readable_tex(tex) == read


@pytest.mark.parametrize("text", ["{\\displaystyle never closed", "{\\displaystyle }", "{question} $name {}"])
def test_braces_that_are_no_formula_do_no_harm(text: str) -> None:
    assert "displaystyle }" not in mend_formulas(text) or text in mend_formulas(text)
    assert mend_formulas("{question} $name {}") == "{question} $name {}"


def test_headings_and_their_own_texts_are_read_in_order() -> None:
    assert read_blocks("Lead.\n\n\n== A ==\nText a.\n\n\n=== B (x = y) ===\nText b.\nMore b.\n\n") == [
        Block(0, "", "Lead."),
        Block(2, "A", "Text a."),
        Block(3, "B (x = y)", "Text b.\nMore b."),
    ]


@pytest.mark.parametrize("extract", ["== A ==\nx", "\n== A ==\nx", "\n\n\n== A ==\nx"])
def test_a_heading_at_the_top_means_an_empty_lead(extract: str) -> None:
    assert read_blocks(extract) == [Block(0, "", ""), Block(2, "A", "x")]
    assert arrange(read_blocks(extract)) == ((Section(("A",), "x", "A"),), ())


def test_what_only_looks_like_a_heading_is_text() -> None:
    text = "a == b\n== not closed\n=="
    assert read_blocks(text) == [Block(0, "", text)]


def test_skipped_levels_nest_under_the_nearest_heading_of_a_higher_rank() -> None:
    blocks = [Block(0, "", "l"), Block(3, "A", "a"), Block(2, "B", "b"), Block(5, "C", "c"), Block(4, "D", "d")]
    sections, left_out = arrange(blocks)
    assert [each.path for each in sections] == [("Introduction",), ("A",), ("B",), ("B", "C"), ("B", "D")]
    assert left_out == ()


def test_reference_matter_takes_its_subsections_with_it_and_the_next_heading_is_free_again() -> None:
    blocks = [Block(2, "Notes", ""), Block(3, "Early", "x"), Block(4, "Deep", "y"), Block(2, "Life", "z")]
    sections, left_out = arrange(blocks)
    assert sections == (Section(("Life",), "z", "Life"),)
    assert left_out == tuple(
        LeftOut(path, "reference matter") for path in (("Notes",), ("Notes", "Early"), ("Notes", "Early", "Deep"))
    )


def test_a_heading_named_introduction_stands_beside_the_lead() -> None:
    sections, _ = arrange([Block(0, "", "lead"), Block(2, "Introduction", "own")])
    assert [each.text for each in sections] == ["lead", "own"]


@pytest.mark.parametrize(
    "heading",
    [
        "References", "EXTERNAL LINKS", "See also", "Notes", "Further reading", "Bibliography", "Citations", "Footnotes",
        "Sources", "Notes and references", "References:", "9. References", "Sources, notes and citations",
        "Einzelnachweise", "Weblinks", "Siehe auch", "Literatur", "Anmerkungen", "Fußnoten", "Quellen und Literatur",
        "Notes et références", "Liens externes", "Voir aussi", "Bibliographie", "Articles connexes",
        "Referencias", "Enlaces externos", "Véase también", "Bibliografía", "Notas y referencias",
        "参考文献", "參考文獻", "外部链接", "外部連結", "参见", "參見", "注释", "註釋", "延伸阅读", "延伸閱讀", "注释与参考文献",
        "Note", "Collegamenti esterni", "Ligações externas", "Zie ook", "脚注", "外部リンク", "Примечания", "Przypisy",
        "Externa länkar",
    ],
)  # fmt: skip
def test_reference_matter_is_known_by_its_heading(heading: str) -> None:
    assert is_reference_matter(heading)


@pytest.mark.parametrize(
    "heading",
    [
        "Life",
        "Literature",
        "Sources of income",
        "Notes on a scandal",
        "Music and notes",
        "生平",
        "Leben",
        "And",
        "",
        "1848",
    ],
)
def test_what_tells_of_the_person_is_no_reference_matter(heading: str) -> None:
    assert not is_reference_matter(heading)


PIECES = st.lists(
    st.sampled_from(
        [
            "\n",
            "== ",
            " ==",
            "=== A ===\n",
            "{\\displaystyle ",
            "}",
            "{",
            "  ",
            "(",
            ";",
            ")",
            "word.Next",
            "\\frac",
            "人",
            " x ",
        ]
    ),
    max_size=40,
).map("".join)


@given(PIECES | st.text())
def test_any_text_gives_blocks_of_tidy_text(text: str) -> None:
    blocks = read_blocks(text)
    assert blocks[0].level == 0
    assert all(block.text == tidy(block.text) for block in blocks)
