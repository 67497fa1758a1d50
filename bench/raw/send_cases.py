"""Durable sends of mail: over HTTP with one, eight and sixty-four connections, and with the command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from case import Case, Measure
from place import load_rate, opened_place, times_of

SECONDS = 1.5
COMMANDS = 15
_LETTER = {"subject": "Grammar changed", "message": "Rebase before you go on."}


@contextmanager
def _over_http(connections: int) -> Iterator[Measure]:
    """Let each connection be a session that sends to the next session. A round has one value: seconds per send."""
    with opened_place() as place:
        sessions = [place.register(f"worker-{number}") for number in range(max(2, connections))]
        pairs = zip(sessions, sessions[1:] + sessions[:1], strict=True)
        requests = [_request(sender["token"], recipient["id"]) for sender, recipient in pairs]
        load_rate(place, requests, connections=connections, seconds=0.3)
        yield lambda: [1 / load_rate(place, requests, connections=connections, seconds=SECONDS)]


def _request(token: str, recipient: str) -> str:
    text = json.dumps({"to": [recipient], **_LETTER})
    return (
        f"POST /api/mail HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}"
    )


@contextmanager
def _by_command() -> Iterator[Measure]:
    with opened_place() as place:
        place.register("worker")
        token = place.register("sender")["token"]
        words = (
            "maestro",
            "mail",
            "send",
            "worker",
            "--subject",
            _LETTER["subject"],
            "--message",
            _LETTER["message"],
        )
        place.run(*words, token=token)
        yield lambda: times_of(lambda: place.run(*words, token=token), COMMANDS)


CASES = [
    *(
        Case(f"sends-http-{number}", "sends", 1, lambda number=number: _over_http(number))  # type: ignore[misc]
        for number in (1, 8, 64)
    ),
    Case("sends-command", "sends", 1, _by_command),
]
