"""Titles for what was typed so far, with a line and a picture where the wiki has them, and the pictures themselves.

Knows what to ask a MediaWiki for; extensions that it lacks (Wikibase, PageImages) only leave lines and pictures out.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx

from persona.adapters.wiki_client import USER_AGENT, Entry, Query, WikiClient, way_to
from persona.calls import logged
from persona.errors import PageError, WikiGarbled, WikiUnreachable
from persona.records import Suggestion

PICTURE_WIDTH = 250  # pixels; one of the widths that Wikimedia keeps ready
_MOST = 8
_COMMONS = "https://upload.wikimedia.org/"
_MOST_BYTES = 3_000_000  # of a picture
_ABOUT: dict[str, str | int] = {
    "prop": "description|pageimages|pageprops",
    "piprop": "thumbnail",
    "pithumbsize": PICTURE_WIDTH,
    "pilimit": _MOST,
    "ppprop": "wikibase-shortdesc",
}


def find_titles(wiki: WikiClient, begun: str) -> tuple[Suggestion, ...]:
    """Articles that begin so; if there are none, those that hold the words, the last of which may be unfinished.

    Raises PageError.
    """
    found = wiki.generate(generator="prefixsearch", gpssearch=begun, gpsnamespace=0, gpslimit=_MOST, **_ABOUT)
    if not found.pages:
        try:
            found = wiki.generate(generator="search", gsrsearch=f"{begun}*", gsrlimit=_MOST, gsrprop="", **_ABOUT)
        except WikiGarbled:  # a wiki whose search is switched off
            return ()
    written = [entry for entry in found.pages if not entry.missing]
    return tuple(_suggestion(entry) for entry in sorted(written, key=lambda entry: _place(found, entry)))


def _place(found: Query, entry: Entry) -> int:
    """A page's place in the search, or that of the first redirect to it."""
    redirects = [move.index for move in found.redirects if move.to == entry.title and move.index]
    return entry.index or min(redirects, default=_MOST)


def _suggestion(entry: Entry) -> Suggestion:
    return Suggestion(entry.title, entry.about, entry.thumbnail.source)


def read_picture(address: str, api: str, timeout: float) -> bytes:
    """The bytes of a picture, from the wiki's own host or from where all of Wikimedia's pictures are. Raises PageError."""
    if not (address.startswith(_COMMONS) or (api and urlsplit(address).netloc == urlsplit(api).netloc)):
        raise PageError(
            f"The picture at {address} is not fetched: it is neither on the wiki's host nor on Wikimedia's."
        )
    where = urlsplit(address)
    with logged("wiki", "picture", where.path, address=f"{where.scheme}://{where.netloc}"):  # its name tells of whom
        try:
            with (
                httpx.Client(transport=way_to(address), timeout=timeout, headers={"User-Agent": USER_AGENT}) as client,
                client.stream("GET", address) as reply,
            ):
                if reply.status_code != 200 or not reply.headers.get("content-type", "").startswith("image/"):
                    raise WikiGarbled(f"There is no picture at {address} (HTTP status {reply.status_code}).")
                return _bounded(reply)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            what = f"The picture at {address} could not be fetched ({error}). Try again later."
            raise WikiUnreachable(what) from error


def _bounded(reply: httpx.Response) -> bytes:
    data = b""
    for part in reply.iter_bytes():
        data += part
        if len(data) > _MOST_BYTES:
            raise PageError(f"The picture at {reply.url} is larger than {_MOST_BYTES // 1_000_000} MB.")
    return data
