"""The opening of an issue in another project compared with a plain durable send."""

from __future__ import annotations

import statistics
import tempfile
from typing import Any

from bench.http import CONNECTIONS, ROUNDS, SECONDS, post, rate_of, request, running_server, start_load
from bench.report import Figure

_TEXT = "It crashes on an empty file. The trace is below, and a file that does it is attached to nothing."


def opening() -> Figure:
    """Compare 64 sessions that open issues in a second project with 64 sessions that send mail to each other."""
    plain, opened = [], []
    with tempfile.TemporaryDirectory() as other, running_server() as server:
        post(server, "/api/projects", {"path": other, "name": "beads"})
        sessions = [_register(server, f"worker-{number}") for number in range(CONNECTIONS)]
        senders = sessions[1:] + sessions[:1]
        letter = {"subject": "Parser crashes", "message": _TEXT}
        issue = {"to": "beads", "title": "Parser crashes", "message": _TEXT}
        mail = [
            request(server, "/api/mail", letter | {"to": [to["id"]]}, token=sender["token"])
            for to, sender in zip(sessions, senders, strict=True)
        ]
        issues = [request(server, "/api/issues", issue, token=sender["token"]) for sender in senders]
        for _ in range(ROUNDS):
            plain.append(rate_of(start_load(server, mail, SECONDS)))
            opened.append(rate_of(start_load(server, issues, SECONDS)))
    ratio = statistics.median(one / other for one, other in zip(plain, opened, strict=True))
    note = f"{statistics.median(opened):,.0f}/s issues, {statistics.median(plain):,.0f}/s plain sends"
    what = "the cost of opening an issue in another project against a plain durable send, over HTTP"
    return Figure(what, ratio, at_most=2, note=note)


def _register(server: dict[str, Any], name: str) -> dict[str, Any]:
    session: dict[str, Any] = post(server, "/api/sessions", {"name": name, "project": server["project"]})
    return session
