"""Refuses requests that a web page somewhere could have made a browser send here."""

from __future__ import annotations

import re
from collections.abc import Iterable

from maestro.core import errors

Headers = Iterable[tuple[bytes, bytes]]

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_REMEMBERED_MAX = 100
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?")


class Guard:
    """Checks `Host` and `Origin`."""

    def __init__(self, hosts: Iterable[str]) -> None:
        """`hosts` are the names under which the server may be called, besides loopback's."""
        self._names = _LOOPBACK | {host.strip().lower() for host in hosts if host.strip()}
        self._good: dict[bytes, tuple[bytes, ...]] = {}  # hosts that were checked before, with their origins

    def check(self, headers: Headers) -> None:
        """Refuse a host that is not this server's (DNS rebinding), another page's origin, and doubled headers."""
        host = origin = None
        for name, value in headers:
            if name == b"host":
                host = _only(host, value, "Host")
            elif name == b"origin":
                origin = _only(origin, value, "Origin")
        host = host or b""
        origins = self._good.get(host) or self._origins_of(host)
        if origin is not None and origin.lower() not in origins:
            raise errors.NotPermitted("Requests from other web pages are refused.")

    def _origins_of(self, given: bytes) -> tuple[bytes, ...]:
        """Return the origins of pages of this server, called under a host; refuse a host that is not the server's."""
        host = given.decode("latin-1").lower()
        found = _HOST.fullmatch(host)
        name = (found[1] or found[2]) if found else ""
        if name not in self._names:
            raise errors.NotPermitted(f"Host {host!r} is not this server's.")
        # The server itself speaks plain HTTP; a name that the person allowed may stand for a proxy with TLS.
        schemes = ("http",) if name in _LOOPBACK else ("http", "https")
        origins = tuple(f"{scheme}://{host}".encode("latin-1") for scheme in schemes)
        if len(self._good) < _REMEMBERED_MAX:
            self._good[given] = origins
        return origins


def _only(before: bytes | None, value: bytes, name: str) -> bytes:
    if before is not None:
        raise errors.NotPermitted(f"The request has two {name} headers.")
    return value
