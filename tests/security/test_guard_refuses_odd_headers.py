"""Tests that every path refuses HTTP requests with a repeated, foreign or malformed Host or Origin.

tests/unit/surfaces/rest/test_guard.py tests the rules of the guard.
"""

import socket
from urllib.parse import urlsplit

import pytest

from maestro.testing.live import LiveServer


@pytest.mark.parametrize("path", ["/", "/api/whoami", "/mcp", "/hooks/claude/Stop", "/nothing"])
def test_every_path_refuses_a_foreign_or_repeated_host_and_a_foreign_origin(live: LiveServer, path: str) -> None:
    good = "Host: 127.0.0.1"
    for headers in ("Host: evil", f"{good}\r\nHost: localhost", f"{good}\r\nOrigin: https://127.0.0.1"):
        assert status(live, path, headers) == 403, headers
    if not path.startswith("/hooks"):  # the hook paths refuse the person, who is no session
        assert status(live, path, good) != 403


def status(live: LiveServer, path: str, headers: str) -> int:
    address = urlsplit(live.url)
    method = "POST" if path.startswith(("/hooks", "/mcp")) else "GET"
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=30) as sock:
        token = f"Authorization: Bearer {live.token}"
        head = f"{method} {path} HTTP/1.1\r\n{headers}\r\n{token}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
        sock.sendall(head.encode() + b"{}")
        return int(sock.makefile("rb").readline().split()[1])
