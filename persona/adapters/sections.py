"""Headings with their text become a page's sections; shared by the page sources.

Knows how headings nest and which of them hold reference matter in the languages below. Does not know where a page
comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from string import ascii_lowercase, ascii_uppercase
from unicodedata import normalize

from persona.records import INTRODUCTION, LeftOut, Section

NO_TEXT = "no text"
REFERENCE_MATTER = "reference matter"
_UNTITLED = "Untitled"
_SMALL = str.maketrans(ascii_uppercase, ascii_lowercase)

# Compared without case, leading numbers and closing colons; a heading that joins such words ("Notes and references")
# counts too. All languages at once, since a wiki's pages need not be in its own language. "Literature" is a subject.
_REFERENCE_WORDS = frozenset(
    word
    for line in (
        # English
        "references|reference|external links|external link|see also|notes|note|further reading|bibliography|citations|"
        "footnotes|sources|source|works cited|cited works|cited sources|general references|general sources|"
        "explanatory notes|informational notes|additional references|additional reading|references cited|"
        "general bibliography|external sources|endnotes|explanatory footnotes|"
        "secondary sources|primary sources|related pages|other websites",
        # German
        "einzelnachweise|einzelnachweis|weblinks|weblink|siehe auch|literatur|anmerkungen|anmerkung|quellen|fußnoten|"
        "fussnoten|belege|nachweise|referenzen|bibliografie|bibliographie|sekundärliteratur|weiterführende literatur|"
        "quellenangaben|externe links",
        # French
        "références|voir aussi|liens externes|lien externe|articles connexes|article connexe|notes|bibliographie|"
        "notes et références|annexes|sources|pour approfondir|lectures complémentaires|références externes",
        # Spanish
        "referencias|enlaces externos|enlace externo|véase también|vease también|ver también|notas|bibliografía|"
        "bibliografía adicional|fuentes|lecturas adicionales|lectura adicional|citas y referencias",
        # Chinese, simplified and traditional
        "参考文献|參考文獻|参考资料|參考資料|参考来源|參考來源|参考|參考|参考书目|參考書目|外部链接|外部連結|外部鏈接|"
        "外部链結|外部連接|参见|參見|参看|參看|另见|另見|相关条目|相關條目|注释|註釋|注釋|注解|註解|注脚|註腳|脚注|腳註|"
        "備註|备注|引注|引用|引用来源|引用來源|资料来源|資料來源|来源|來源|延伸阅读|延伸閱讀|扩展阅读|擴展閱讀|书目|書目|"
        "扩展链接|相关链接|相關連結|註|注|參考文献",
        # Italian, Portuguese, Dutch
        "note|bibliografia|voci correlate|altri progetti|collegamenti esterni|fonti|referências|ligações externas|"
        "ver também|veja também|leitura adicional|fontes|referenties|externe link|externe links|zie ook|voetnoten|"
        "bronnen|noten|bronvermelding|literatuur|verder lezen",
        # Japanese, Russian, Polish, Swedish
        "脚注|出典|注釈|参照|外部リンク|関連項目|関連文献|примечания|литература|ссылки|см. также|источники|сноски|przypisy|"
        "bibliografia|linki zewnętrzne|zobacz też|uwagi|referenser|källor|externa länkar|se även|noter|"
        "vidare läsning|litteratur|fotnoter|tryckta källor",
    )
    for word in line.split("|")
)
_JOINED = re.compile(r"\s*(?:\ben/of\b|,|/|&|・|、|\b(?:and|und|et|y|e|en|och|и|i)\b|[与與和及])\s*")


@dataclass(frozen=True, slots=True)
class Block:
    """A heading with the text up to the next one, as it stands in a page; level 0 is the lead."""

    level: int
    title: str
    text: str


def arrange(blocks: Iterable[Block]) -> tuple[tuple[Section, ...], tuple[LeftOut, ...]]:
    """Sections with their full paths in the page's order, and what is left out.

    A heading belongs to the nearest one before it that is of a higher rank, so a skipped level nests under it.
    Reference matter takes its subsections with it. An empty lead is not counted: it has no heading.
    """
    kept: list[Section] = []
    left_out: list[LeftOut] = []
    above: list[Block] = []
    namesakes: dict[str, int] = {}
    for block in blocks:
        anchor = _anchor(block.title, namesakes) if block.level else ""
        above = [*(parent for parent in above if 0 < parent.level < block.level), block]
        path = tuple(INTRODUCTION if part.level == 0 else part.title or _UNTITLED for part in above)
        if any(part.level and is_reference_matter(part.title) for part in above):
            left_out.append(LeftOut(path, REFERENCE_MATTER))
        elif block.text.strip():
            kept.append(Section(path, block.text.strip(), anchor))
        elif block.level:
            left_out.append(LeftOut(path, NO_TEXT))
    return tuple(kept), tuple(left_out)


def _anchor(heading: str, namesakes: dict[str, int]) -> str:
    """What MediaWiki calls the heading within its page: a namesake of earlier ones, as ASCII goes, is numbered.

    `namesakes` holds the number from which to look for one that is free, by the names that are taken.
    """
    name = heading.replace(" ", "_")
    key = name.translate(_SMALL)
    if key in namesakes:
        number = next(number for number in count(namesakes[key]) if f"{key}_{number}" not in namesakes)
        namesakes[key] = number + 1
        name, key = f"{name}_{number}", f"{key}_{number}"
    namesakes[key] = 2
    return name


def is_reference_matter(heading: str) -> bool:
    """Whether a heading is only about where to read more, in any of the languages known here."""
    words = re.sub(r"^[\d.\s]+|[\s:：.]+$", "", " ".join(normalize("NFC", heading).casefold().split()))
    if words in _REFERENCE_WORDS:
        return True
    parts = [part for part in _JOINED.split(words) if part]
    return len(parts) > 1 and all(part in _REFERENCE_WORDS for part in parts)


def tidy(text: str) -> str:
    """Plain spaces, nothing invisible, one paragraph a line."""
    visible = re.sub("[\u00ad\u200b\u200e\u200f\u2060\ufeff\u202a-\u202e\u2066-\u2069]", "", text)
    lines = (" ".join(line.split()) for line in visible.splitlines())
    return "\n".join(line for line in lines if line)
