"""The proxy that stands between this machine and a host, by what the environment or the system says.

Knows no server. None stands between us and this machine, whatever is said.
"""

from __future__ import annotations

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

LOOPBACK = ("127.0.0.1", "localhost", "::1", "0.0.0.0")  # noqa: S104 (nothing is bound)


def proxy_for(address: str) -> str | None:
    """The proxy's address, None for the straight way. SOCKS is not spoken, so such a proxy is passed by."""
    where = urlsplit(address)
    if where.hostname in LOOPBACK or proxy_bypass(where.netloc.rpartition("@")[2]):
        return None
    named = getproxies()
    proxy = named.get(where.scheme) or named.get("all") or ""
    if proxy and "://" not in proxy:
        proxy = f"http://{proxy}"
    return proxy if proxy.startswith("http") else None
