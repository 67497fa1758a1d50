"""Refuses requests that a web page somewhere could have made a browser send here."""

from __future__ import annotations

from collections.abc import Iterable

from maestro import errors

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_REMEMBERED_MAX = 100


class Guard:
    """Checks `Host` and `Origin`."""

    def __init__(self, hosts: Iterable[str]) -> None:
        """`hosts` are the names under which the server may be called, besides loopback's."""
        self._names = _LOOPBACK | {host.strip().lower() for host in hosts if host.strip()}
        self._good: set[bytes] = set()  # what was looked at before; few clients spell it differently

    def check(self, headers: dict[bytes, bytes]) -> None:
        """A name that is not ours was led here by someone's DNS; an origin that is not ours is another's page."""
        given = headers.get(b"host", b"")
        if given not in self._good:
            self._check_host(given)
        origin = headers.get(b"origin")
        if origin is not None and origin.lower().partition(b"://")[2] != given.lower():
            raise errors.NotPermitted("Requests from other web pages are refused.")

    def _check_host(self, given: bytes) -> None:
        host = given.decode("latin-1").lower()
        if _name(host) not in self._names:
            raise errors.NotPermitted(f"Host {host!r} is not this server's.")
        if len(self._good) < _REMEMBERED_MAX:
            self._good.add(given)


def _name(host: str) -> str:
    """The host without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
