"""HTTP requests with a doubled, foreign or malformed Host or Origin are refused, at every path."""

import socket
from urllib.parse import urlsplit

import pytest

from maestro.core import errors
from maestro.surfaces.rest.guard import HeaderGuard
from maestro.testing.live import LiveServer

GUARD = HeaderGuard(["maestro.example"])


def check(*headers: tuple[bytes, bytes]) -> None:
    GUARD.check_headers(list(headers))


@pytest.mark.parametrize("host", [b"127.0.0.1:80", b"localhost", b"[::1]:4900", b"[::1]", b"Maestro.Example:1"])
def test_own_hosts_pass(host: bytes) -> None:
    check((b"host", host))
    check((b"host", host), (b"origin", b"http://" + host))


@pytest.mark.parametrize(
    "host",
    [
        *(
            b"",
            b"evil",
            b"[::1]evil",
            b"[::1",
            b"127.0.0.1:80@evil",
            b"127.0.0.1@evil",
            b"localhost:",
            b"localhost:x",
        ),
        *(b"localhost:80:80", b"127.0.0.1 evil", b"localhost/evil", b"evil\\localhost", b"localhost:999999"),
    ],
)
def test_other_hosts_are_refused(host: bytes) -> None:
    with pytest.raises(errors.NotPermitted):
        check((b"host", host))


@pytest.mark.parametrize(
    "origin",
    [
        b"https://localhost:80",
        b"file://localhost:80",
        b"null",
        b"",
        b"http://evil",
        b"localhost:80",
        b"http://localhost",
    ],
)
def test_other_origins_are_refused(origin: bytes) -> None:
    with pytest.raises(errors.NotPermitted):
        check((b"host", b"localhost:80"), (b"origin", origin))


def test_a_name_that_the_person_allowed_may_be_served_by_a_proxy_over_tls() -> None:
    check((b"host", b"maestro.example"), (b"origin", b"https://maestro.example"))


@pytest.mark.parametrize("name", [b"host", b"origin"])
def test_doubled_headers_are_refused(name: bytes) -> None:
    twice = ((name, b"http://localhost" if name == b"origin" else b"localhost"),) * 2
    with pytest.raises(errors.NotPermitted):
        check((b"host", b"localhost"), *twice)


@pytest.mark.parametrize("path", ["/", "/api/whoami", "/mcp", "/hooks/claude/Stop", "/nothing"])
def test_every_path_is_guarded(live: LiveServer, path: str) -> None:
    good = "Host: 127.0.0.1"
    for headers in ("Host: evil", f"{good}\r\nHost: localhost", f"{good}\r\nOrigin: https://127.0.0.1"):
        assert status(live, path, headers) == 403, headers
    if not path.startswith("/hooks"):  # there a person is refused for being no session
        assert status(live, path, good) != 403


def status(live: LiveServer, path: str, headers: str) -> int:
    address = urlsplit(live.url)
    method = "POST" if path.startswith(("/hooks", "/mcp")) else "GET"
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=30) as sock:
        token = f"Authorization: Bearer {live.token}"
        head = f"{method} {path} HTTP/1.1\r\n{headers}\r\n{token}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
        sock.sendall(head.encode() + b"{}")
        return int(sock.makefile("rb").readline().split()[1])
