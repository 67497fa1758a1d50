"""Refuses requests that a web page somewhere could have made a browser send here."""

from __future__ import annotations

from maestro import errors

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class Guard:
    """Checks `Host` and `Origin`."""

    def __init__(self, host: str) -> None:
        """`host` is the address the server was told to listen on."""
        self._hosts = _LOOPBACK | {host.lower()}

    def check(self, headers: dict[bytes, bytes]) -> None:
        """A name that is not ours was led here by someone's DNS; an origin that is not ours is another's page."""
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if _name(host) not in self._hosts:
            raise errors.NotPermitted(f"Host {host!r} is not this server's.")
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower() not in (
            f"http://{host}",
            f"https://{host}",
        ):
            raise errors.NotPermitted("Requests from other web pages are refused.")


def _name(host: str) -> str:
    """The host without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
