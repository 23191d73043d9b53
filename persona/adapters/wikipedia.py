"""Pages of Wikipedia, or of any other MediaWiki with plain-text extracts.

Knows what to ask of the API and how to tell a page from a list of pages. Connections and failures are wiki_client's,
the text's format is that of extracts, what is left out that of sections.
"""

from __future__ import annotations

import html
import re
from difflib import SequenceMatcher
from unicodedata import category
from urllib.parse import quote

from persona.adapters.extracts import read_blocks
from persona.adapters.sections import arrange
from persona.adapters.wiki_client import Entry, Query, WikiClient, checked_address
from persona.adapters.wiki_titles import PICTURE_WIDTH, find_titles, read_picture
from persona.calls import without_password
from persona.errors import InputError, OtherWiki, PageError, WikiGarbled
from persona.records import Choice, Page, Picture, Suggestion, is_language, now

_MOST_BYTES = 255  # MediaWiki's limit for a title, in UTF-8
_OPTIONS = 10  # suggestions for a missing page
_SUGGEST_SECONDS = 6.0  # who types does not wait longer
_ALIKE = 0.6  # difflib's own figure for a close match
_FORBIDDEN = re.compile(r"[#<>\[\]{}|]")
_LINK_TITLE = re.compile(r'<a [^>]*?title="([^"]*)"')
_WHAT: dict[str, str | int] = {
    "prop": "extracts|info|pageprops|categories|description|pageimages|revisions",
    "explaintext": 1,
    "exsectionformat": "wiki",
    "inprop": "url",
    "ppprop": "disambiguation|wikibase-shortdesc",
    "cllimit": "max",
    "piprop": "thumbnail|name",
    "pithumbsize": PICTURE_WIDTH,
    "rvprop": "timestamp",
}

# Category names without their prefix, in small letters. English ones on maintenance ("articles with links needing
# disambiguation") are no sign of such a page.
_DISAMBIGUATION = re.compile(
    r"(?!.*\b(?:with|to|needing|for)\b)(?:.+ )?disambiguation pages?|disambiguations?"
    r"|begriffsklärung(?:sseite)?|(?:page |toutes les pages )?d.homonymie.*|homonymie.*"
    r"|(?:wikipedia:)?(?:páginas de )?desambiguaci[oó]n"
    r"|(?:全部|所有|人名|地名)?(?:条目|條目)?消歧[义義](?:页|頁|页面|頁面|条目)?"
    r"|(?:pagine di )?disambigua(?:zione)?|(?:páginas de )?desambiguação.*|曖昧さ回避.*|wikipedia:doorverwijspagina"
    r"|страницы (?:значений|разрешения неоднозначностей).*|strony ujednoznaczniające|förgreningssidor.*"
)
_LIVING = re.compile(
    r"living people|personas vivas|在世人物|pessoas vivas|存命人物|persone viventi|persone in vita|levande personer"
    r"|levende personer|ныне живущие|персоналии:ныне живущие|살아있는 사람|người sống|osoby żyjące"
)
# Where a Wikipedia has no such category, who was born within a human life and has none for a death counts as living:
# the rule on living people is better kept once too often.
_BORN = re.compile(r"(?:geboren|naissance en(?: \w+)?|nati nel) (\d{4})")
_DIED = re.compile(r"gestorben|décès|morti nel")
_LONGEST_LIFE = 115


class Wikipedia:
    """A PageSource. `api` is the address of a MediaWiki's api.php, empty for Wikipedia in the language asked for.

    `timeout` is in seconds, for connecting and for each wait within a reply.
    """

    def __init__(self, api: str = "", timeout: float = 20.0) -> None:
        self._api = checked_address(api.strip())
        self._timeout = timeout

    def fetch(self, title: str, language: str) -> Page | Choice:
        """The page of that title or where it redirects to; else titles to choose from, by search if there is no page.

        Raises InputError for what can be no title of an article, PageError for what the wiki does not deliver.
        """
        asked = _checked_title(title)
        if not is_language(language):
            raise InputError(f"{language!r} is no language code. Take one like en, de or zh.")
        with WikiClient(self._api, language, self._timeout) as wiki:
            found = wiki.query(titles=asked, **_WHAT)
            entry = _only_entry(found, asked)
            if entry.missing:
                return Choice(asked, "missing", _suggestions(wiki, asked))
            if _is_disambiguation(entry):
                return Choice(asked, "disambiguation", _linked(wiki, entry.title))
        api = without_password(self._api) or f"https://{language}.wikipedia.org/w/api.php"
        return _page(entry, language, api, asked if found.redirects else "")

    def suggest(self, begun: str, language: str) -> tuple[Suggestion, ...]:
        """See ports.PageSource."""
        try:
            asked = _checked_title(begun)
        except InputError:
            return ()
        if not is_language(language):
            return ()
        with WikiClient(self._api, language, min(self._timeout, _SUGGEST_SECONDS)) as wiki:
            return find_titles(wiki, asked)

    def picture(self, address: str) -> bytes:
        """See ports.PageSource."""
        return read_picture(address, self._api, min(self._timeout, _SUGGEST_SECONDS))


def _checked_title(title: str) -> str:
    """The title without blanks around it. Raises InputError saying what no title has."""
    asked = title.strip().strip("_")
    if not asked:
        raise InputError("The title is empty. Name a page, for instance Ada Lovelace.")
    if any(category(character) in ("Cc", "Cs", "Zl", "Zp") for character in asked):
        raise InputError("The title holds a control character or a line break. Type it on one line.")
    if "://" in asked:
        raise InputError("This is an address. Give the page's title instead, as it stands above the article.")
    if wrong := _FORBIDDEN.search(asked):
        raise InputError(f"No title holds “{wrong[0]}”. Leave it out, and name one whole page.")
    if (size := len(asked.encode())) > _MOST_BYTES:
        raise InputError(f"The title is too long: {size} bytes of at most {_MOST_BYTES}. Give the page's title only.")
    return asked


def _only_entry(found: Query, asked: str) -> Entry:
    """The one page that was asked for. Raises InputError where it is none of this wiki's articles."""
    if found.interwiki:
        raise _elsewhere(asked)
    if not found.pages:
        raise WikiGarbled(f"The wiki says nothing about “{asked}”. Try again, or another title.")
    entry = found.pages[0]
    if entry.invalid:
        raise InputError(f"“{asked}” cannot be a title. {entry.invalidreason or 'Check its spelling.'}")
    if entry.ns != 0:
        raise InputError(
            f"“{entry.title}” is not an article (files, categories and the like have no one to interview)."
        )
    if entry.missing and _names_language(asked):
        raise _elsewhere(asked)
    return entry


def _names_language(asked: str) -> bool:
    """`de:Foo`: a title in another language's wiki, even where this one does not know that wiki."""
    prefix, _, rest = asked.partition(":")
    return is_language(prefix) and bool(rest[:1].strip())


def _elsewhere(asked: str) -> OtherWiki:
    prefix, _, rest = asked.partition(":")
    return OtherWiki(asked, rest.strip(), prefix if is_language(prefix) else "")


def _is_disambiguation(entry: Entry) -> bool:
    return "disambiguation" in entry.pageprops or any(_DISAMBIGUATION.fullmatch(name) for name in _categories(entry))


def _categories(entry: Entry) -> list[str]:
    """Names of the categories in small letters, without the prefix that every language calls otherwise."""
    return [each.title.partition(":")[2].casefold() for each in entry.categories]


def _is_living(entry: Entry) -> bool:
    names = _categories(entry)
    if any(map(_LIVING.fullmatch, names)):
        return True
    born = [int(match[1]) for name in names if (match := _BORN.fullmatch(name))]
    return any(now().year - year <= _LONGEST_LIFE for year in born) and not any(map(_DIED.match, names))


def _page(entry: Entry, language: str, api: str, asked_for: str) -> Page:
    if entry.extract is None:
        raise WikiGarbled(
            f"The wiki gives no plain text of “{entry.title}”. It needs the extension TextExtracts; choose another wiki."
        )
    sections, left_out = arrange(read_blocks(entry.extract))
    if not sections:
        raise PageError(f"The page “{entry.title}” holds no text to answer from. Choose another page.")
    return Page(
        title=entry.title,
        language=language,
        source="wikipedia",
        api=api,
        url=entry.canonicalurl if entry.canonicalurl.startswith(("http://", "https://")) else "",
        revision=str(entry.lastrevid or ""),
        fetched_at=now(),
        sections=sections,
        left_out=left_out,
        living=_is_living(entry),
        description=entry.about,
        asked_for=asked_for,
        picture=_picture(entry, api),
        revised_at=entry.revisions[0].timestamp if entry.revisions else None,
    )


def _picture(entry: Entry, api: str) -> Picture | None:
    """The page's picture; what its own page at the wiki says of its maker and license must stay a click away."""
    if not entry.thumbnail.source or not entry.pageimage:
        return None
    about = f"{api.removesuffix('api.php')}index.php?title=File:{quote(entry.pageimage)}"
    return Picture(entry.thumbnail.source, about)


def _linked(wiki: WikiClient, title: str) -> tuple[str, ...]:
    """The articles that a page links to, in the order in which it shows them; unwritten ones only if all are."""
    parsed = wiki.parse(title)
    shown = [html.unescape(name) for name in _LINK_TITLE.findall(parsed.text)]
    place = {name: number for number, name in reversed(list(enumerate(shown)))}
    links = sorted((link for link in parsed.links if link.ns == 0), key=lambda link: place.get(link.title, len(place)))
    written = [link.title for link in links if link.exists]
    return _unique(written or [link.title for link in links], but=title)


def _suggestions(wiki: WikiClient, asked: str) -> tuple[str, ...]:
    """Titles that begin so, what the wiki's search finds, and titles spelt alike; none where it cannot search."""
    try:
        found = _search(wiki, begins=asked, holds=asked)
        titles = [each.title for each in (*found.prefixsearch, *found.search)]
        if not any(_likeness(asked, title) >= _ALIKE for title in titles):
            titles = [*_spelt_alike(wiki, asked, found.searchinfo.suggestion), *titles]
    except WikiGarbled:
        return ()
    return _unique(titles, but=asked)[:_OPTIONS]


def _spelt_alike(wiki: WikiClient, asked: str, meant: str) -> list[str]:
    """For engines that forgive no typing error: what shares the first letters or the longest word, closest first."""
    start = asked[: max(1, min(3, len(asked) // 2))]
    near = _search(wiki, begins=start, holds=meant or max(asked.split(), key=len), limit="max")
    titles = [each.title for each in (*near.prefixsearch, *near.search)]
    alike = [title for title in titles if _likeness(asked, title) >= _ALIKE]
    return sorted(alike, key=lambda title: -_likeness(asked, title))


def _search(wiki: WikiClient, begins: str, holds: str, limit: int | str = _OPTIONS) -> Query:
    return wiki.query(
        list="prefixsearch|search",
        pssearch=begins,
        psprofile="fuzzy",
        pslimit=limit,
        srsearch=holds,
        srlimit=_OPTIONS,
        srprop="",
        srinfo="suggestion",
    )


def _likeness(asked: str, title: str) -> float:
    """0 to 1 by shared runs of letters, with and without what a title explains in brackets."""
    forms = {title.casefold(), re.sub(r" \([^)]*\)$", "", title.casefold())}
    return max(SequenceMatcher(None, asked.casefold(), form).ratio() for form in forms)


def _unique(titles: list[str], but: str) -> tuple[str, ...]:
    return tuple(title for title in dict.fromkeys(titles) if title != but)
