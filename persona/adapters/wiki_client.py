"""One conversation with a MediaWiki's API, through the package wikipedia-api.

Knows addresses, transport, the shape of the API's replies and what can go wrong on the way; every failure becomes a
PageError of persona. Does not know what is asked or what the answers are for.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from types import TracebackType
from typing import Any, Self, cast

import httpx
import wikipediaapi
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from persona.adapters.proxies import proxy_for
from persona.calls import logged
from persona.errors import PageError, SettingsError, WikiBusy, WikiGarbled, WikiUnreachable

USER_AGENT = "persona (lets its reader interview a page; asks for one page at a time)"
_LOOKED_FOR = ("titles", "page", "pssearch", "srsearch", "gpssearch", "gsrsearch")
_MOST_BYTES = 20_000_000  # of a reply; a long article takes one
_TOO_LARGE = f"is larger than {_MOST_BYTES // 1_000_000} MB"
_BUSY_CODES = frozenset({"ratelimited", "maxlag", "too-many-requests"})


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Titled(_Part):
    """A title with its namespace; 0 is the articles'."""

    title: str
    ns: int = 0
    exists: bool = True


class Move(_Part):
    """From one title to another, by redirect, normalization or script."""

    source: str = Field(alias="from")
    to: str
    index: int = 0


class Thumbnail(_Part):
    """A small picture of a page."""

    source: str = ""


class Revision(_Part):
    """One state of a page."""

    timestamp: datetime | None = None


class Entry(_Part):
    """What the API tells of one page; `extract` is None where the wiki gives no plain text.

    `index` is its place in a search, from 1. Without the extension PageImages no page has a thumbnail.
    """

    title: str
    ns: int = 0
    missing: bool = False
    invalid: bool = False
    invalidreason: str = ""
    extract: str | None = None
    lastrevid: int = 0
    canonicalurl: str = ""
    description: str = ""
    pageprops: dict[str, Any] = {}
    categories: tuple[Titled, ...] = ()
    index: int = 0
    thumbnail: Thumbnail = Thumbnail()
    revisions: tuple[Revision, ...] = ()
    pageimage: str = ""

    @property
    def about(self) -> str:
        """The page in one line, in its own words or Wikidata's; may be empty."""
        return str(self.pageprops.get("wikibase-shortdesc") or self.description)


class SearchInfo(_Part):
    """The search engine's own idea of what was meant."""

    suggestion: str = ""


class Query(_Part):
    """What action=query answers, as far as it is used here."""

    redirects: tuple[Move, ...] = ()
    interwiki: tuple[dict[str, Any], ...] = ()
    pages: tuple[Entry, ...] = ()
    prefixsearch: tuple[Titled, ...] = ()
    search: tuple[Titled, ...] = ()
    searchinfo: SearchInfo = SearchInfo()


class Parsed(_Part):
    """What action=parse answers: the page as HTML and its links, in no promised order."""

    text: str = ""
    links: tuple[Titled, ...] = ()


class _Problem(_Part):
    code: str = ""
    info: str = ""


class _Reply(_Part):
    error: _Problem | None = None
    query: Query | None = None
    parse: Parsed | None = None


class WikiClient:
    """A client of one wiki, to be used in a `with` block.

    Nothing is retried but a connection that could not be made: a busy wiki may ask to wait for an hour, and the
    package would. Raises WikiUnreachable, WikiBusy and WikiGarbled.
    """

    def __init__(self, api: str, language: str, timeout: float) -> None:
        # The package tells every address at INFO and doubts long language codes on stderr; one line of ours is enough.
        logging.getLogger("wikipediaapi").setLevel(logging.ERROR)
        self._address = api or f"https://{language}.wikipedia.org/w/api.php"
        self._client = _Raw(
            USER_AGENT,
            language=language,
            max_retries=0,
            timeout=httpx.Timeout(timeout, connect=min(timeout, 5.0)),
            transport=_Transport(self._address),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._client.close()

    def query(self, **params: str | int) -> Query:
        """One action=query; parameters that the wiki does not know are ignored by it."""
        reply = self._ask(action="query", redirects=1, converttitles=1, **params)
        if reply.query is None:
            raise self._garbled("holds no result")
        return reply.query

    def generate(self, **params: str | int) -> Query:
        """An action=query about the pages that a generator finds; without any the wiki leaves the result out."""
        reply = self._ask(action="query", redirects=1, converttitles=1, **params)
        return reply.query or Query()

    def parse(self, title: str) -> Parsed:
        """A page as HTML, with its links."""
        reply = self._ask(action="parse", page=title, redirects=1, prop="text|links", disablelimitreport=1)
        if reply.parse is None:
            raise self._garbled("holds no page")
        return reply.parse

    def _ask(self, **params: str | int) -> _Reply:
        with logged("wiki", str(params["action"]), _text(params), address=self._address):
            try:
                raw = self._client.ask({"format": "json", "formatversion": 2, **params})
            except wikipediaapi.WikipediaException as error:
                raise self._translated(error) from error
            return self._checked(raw)

    def _checked(self, raw: object) -> _Reply:
        try:
            reply = _Reply.model_validate(raw)
        except ValidationError as error:
            raise self._garbled("has another shape than MediaWiki's") from error
        if reply.error and reply.error.code in _BUSY_CODES:
            raise WikiBusy(f"The wiki at {self._address} asks to wait ({reply.error.code}). Try again in a minute.")
        if reply.error:
            raise self._garbled(f"is an error: {reply.error.code}, {reply.error.info[:200]}")
        return reply

    def _garbled(self, what: str) -> WikiGarbled:
        return WikiGarbled(
            f"The reply of the wiki at {self._address} {what}. "
            "Try again; if it stays so, check that this is the address of a MediaWiki's api.php."
        )

    def _translated(self, error: wikipediaapi.WikipediaException) -> PageError:
        if isinstance(error, wikipediaapi.WikiInvalidJsonError):
            return self._garbled("is no valid JSON")
        if isinstance(error, wikipediaapi.WikiHttpTimeoutError):
            return WikiUnreachable(f"The wiki at {self._address} did not answer in time (timeout). Try again later.")
        if isinstance(error, wikipediaapi.WikiHttpError):
            return self._refused(error)
        return self._unreachable(error.__cause__)

    def _refused(self, error: wikipediaapi.WikiHttpError) -> PageError:
        if error.status_code == 429:
            seconds = getattr(error, "retry_after", None)
            wait = f"in {seconds} seconds" if seconds else "in a few minutes"
            return WikiBusy(f"The wiki at {self._address} gets too many requests (429). Try again {wait}.")
        if error.status_code >= 500:
            return WikiBusy(f"The wiki at {self._address} is out of order ({error.status_code}). Try again later.")
        return self._garbled(f"is HTTP status {error.status_code} instead of a page")

    def _unreachable(self, cause: BaseException | None) -> PageError:
        reason = str(cause or "").lower()
        if isinstance(cause, httpx.DecodingError):
            return self._garbled(_TOO_LARGE if _TOO_LARGE.lower() in reason else "cannot be decoded")
        if isinstance(cause, httpx.ProxyError) or (proxy_for(self._address) and "refused" in reason):
            return WikiUnreachable(
                f"The wiki at {self._address} could not be reached through the proxy ({cause}). Correct HTTPS_PROXY or "
                "HTTP_PROXY, or name the wiki's host in NO_PROXY."
            )
        if not isinstance(cause, httpx.ConnectError):
            return WikiUnreachable(f"The wiki at {self._address} broke the connection off. Try again.")
        if "refused" in reason:
            return WikiUnreachable(f"Connection refused: no wiki answers at {self._address}. Check the address.")
        if "name" in reason or "address" in reason or "nodename" in reason or "network" in reason:
            return WikiUnreachable(f"No network, or no such host: {self._address}. Check the connection and try again.")
        return WikiUnreachable(f"The wiki at {self._address} could not be reached: {cause}. Check the connection.")


def _text(params: Mapping[str, str | int]) -> str:
    """What was looked for."""
    return " ".join(str(params[name]) for name in _LOOKED_FOR if name in params)


class _Raw(wikipediaapi.Wikipedia):  # type: ignore[misc]  # the package is not typed
    """The package's client, asked for whole replies: several props in one request, nothing thrown away."""

    def ask(self, params: dict[str, str | int]) -> object:
        """The parsed JSON of one request."""
        return self._get(self.language, params)

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()


@cache
def _certificates() -> ssl.SSLContext:
    """Read once a process, which takes a sixth of a second."""
    return httpx.create_ssl_context()


def way_to(address: str) -> httpx.HTTPTransport:
    """To one of the wiki's hosts, through a proxy where there is one; a connection is tried once more."""
    return httpx.HTTPTransport(verify=_certificates(), retries=1, proxy=proxy_for(address))


class _Bounded(httpx.SyncByteStream):
    """A reply's bytes, as long as there are not too many."""

    def __init__(self, stream: httpx.SyncByteStream | httpx.AsyncByteStream) -> None:
        self._stream = cast("httpx.SyncByteStream", stream)

    def __iter__(self) -> Iterator[bytes]:
        came = 0
        for piece in self._stream:
            came += len(piece)
            if came > _MOST_BYTES:
                raise httpx.DecodingError(_TOO_LARGE)
            yield piece

    def close(self) -> None:
        self._stream.close()


class _Transport(httpx.BaseTransport):
    """Sends every request to one address, since the package knows Wikipedia's only."""

    def __init__(self, address: str) -> None:
        self._address = httpx.URL(address)
        self._inner = way_to(address)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.url = self._address.copy_with(query=request.url.query)
        request.headers["Host"] = self._address.netloc.decode("ascii")
        reply = self._inner.handle_request(request)
        reply.stream = _Bounded(reply.stream)
        return reply

    def close(self) -> None:
        self._inner.close()


def checked_address(api: str) -> str:
    """The address if it can be one of an api.php, or nothing. Raises SettingsError."""
    try:
        url = httpx.URL(api)
    except (httpx.InvalidURL, UnicodeError) as error:
        raise SettingsError(f"{api!r} is no address of a wiki. Set PERSONA_WIKI_API to http(s)://…/api.php.") from error
    if api and not (url.scheme in ("http", "https") and url.host):
        raise SettingsError(f"{api!r} is no address of a wiki. Set PERSONA_WIKI_API to http(s)://…/api.php.")
    return str(url) if api else ""
