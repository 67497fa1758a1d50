"""Refuse requests that a foreign web page could make a browser send to this server."""

from __future__ import annotations

import re
from collections.abc import Iterable

from maestro.core import errors

Headers = Iterable[tuple[bytes, bytes]]

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_CHECKED_HOSTS_MAX = 100
_HOST_PATTERN = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?")


class HeaderGuard:
    """A check of the headers `Host` and `Origin`."""

    def __init__(self, hosts: Iterable[str]) -> None:
        """Allow the names of loopback, and `hosts` as further names of the server."""
        self._names = _LOOPBACK | {host.strip().lower() for host in hosts if host.strip()}
        # Origins by `Host` header, for hosts that passed the check.
        self._checked_hosts: dict[bytes, tuple[bytes, ...]] = {}

    def check_headers(self, headers: Headers) -> None:
        """Refuse a foreign host (DNS rebinding), the origin of a foreign page, and repeated headers."""
        host = origin = None
        for name, value in headers:
            if name == b"host":
                host = _require_single(host, value, "Host")
            elif name == b"origin":
                origin = _require_single(origin, value, "Origin")
        host = host or b""
        origins = self._checked_hosts.get(host) or self._origins_of(host)
        if origin is not None and origin.lower() not in origins:
            raise errors.NotPermitted("The request comes from a web page of another server, and is refused.")

    def _origins_of(self, given: bytes) -> tuple[bytes, ...]:
        """Return the origins of this server's pages under a host; refuse a host that is not the server's."""
        host = given.decode("latin-1").lower()
        match = _HOST_PATTERN.fullmatch(host)
        name = (match[1] or match[2]) if match else ""
        if name not in self._names:
            raise errors.NotPermitted(f"{host!r} is not a host name of this server.")
        # The server itself speaks plain HTTP; a name that the person allowed may stand for a proxy with TLS.
        schemes = ("http",) if name in _LOOPBACK else ("http", "https")
        origins = tuple(f"{scheme}://{host}".encode("latin-1") for scheme in schemes)
        if len(self._checked_hosts) < _CHECKED_HOSTS_MAX:
            self._checked_hosts[given] = origins
        return origins


def _require_single(before: bytes | None, value: bytes, name: str) -> bytes:
    if before is not None:
        raise errors.NotPermitted(f"The request has two {name} headers.")
    return value
