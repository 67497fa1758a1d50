"""A hook without mail: over HTTP, with the Python client and with the native client."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from case import Case, Measure
from place import opened_place, times_of

REQUESTS, COMMANDS = 400, 15
_PAYLOAD = json.dumps(
    {
        "session_id": "693e4871-0b72-4349-8fb4-47216a311075",
        "cwd": "/",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "make test"},
        "tool_response": {"stdout": "x" * 2_000},
    }
)


@contextmanager
def _over_http() -> Iterator[Measure]:
    with opened_place() as place:
        token = place.register("worker")["token"]
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection = http.client.HTTPConnection(urlsplit(place.live.url).netloc)

        def ask() -> None:
            connection.request("POST", "/hooks/claude/PostToolUse", _PAYLOAD, headers)
            answer = connection.getresponse()
            assert (answer.status, answer.read()) == (200, b"{}")

        times_of(ask, REQUESTS // 4)
        yield lambda: times_of(ask, REQUESTS)
        connection.close()


@contextmanager
def _by_command(program: str) -> Iterator[Measure]:
    with opened_place() as place:
        token = place.register("worker")["token"]

        def call() -> None:
            assert place.run(program, "hook", "claude", "PostToolUse", token=token, stdin=_PAYLOAD) == b""

        call()
        yield lambda: times_of(call, COMMANDS)


CASES = [
    Case("hook-http", "hooks", 1, _over_http),
    Case("hook-command", "hooks", 1, lambda: _by_command("maestro-py")),
    Case("hook-native", "hooks", 1, lambda: _by_command("maestro")),
]
