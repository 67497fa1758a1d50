"""HTTP requests with a doubled, foreign or malformed Host or Origin are refused, at every path.

The rules of the guard itself are tested in tests/unit/surfaces/rest/test_guard.py.
"""

import socket
from urllib.parse import urlsplit

import pytest

from maestro.testing.live import LiveServer


@pytest.mark.parametrize("path", ["/", "/api/whoami", "/mcp", "/hooks/claude/Stop", "/nothing"])
def test_every_path_is_guarded(live: LiveServer, path: str) -> None:
    good = "Host: 127.0.0.1"
    for headers in ("Host: evil", f"{good}\r\nHost: localhost", f"{good}\r\nOrigin: https://127.0.0.1"):
        assert status(live, path, headers) == 403, headers
    if not path.startswith("/hooks"):  # a person is no session, and is refused there
        assert status(live, path, good) != 403


def status(live: LiveServer, path: str, headers: str) -> int:
    address = urlsplit(live.url)
    method = "POST" if path.startswith(("/hooks", "/mcp")) else "GET"
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=30) as sock:
        token = f"Authorization: Bearer {live.token}"
        head = f"{method} {path} HTTP/1.1\r\n{headers}\r\n{token}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
        sock.sendall(head.encode() + b"{}")
        return int(sock.makefile("rb").readline().split()[1])
