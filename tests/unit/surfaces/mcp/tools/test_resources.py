"""Each event changes the resources that show its subject."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from maestro.domain.events import Event
from maestro.surfaces.mcp.tools.resources import INBOX, PRIMER, READY, SESSIONS, WatchedResource, find_changed_uris

BOXES = frozenset({"ses_w", "prj_vc"})
TASK, THREAD = "maestro://tasks/vc%231", "maestro://thread/msg_1"
TOPICS = [
    *(WatchedResource(uri, "") for uri in (INBOX, READY, SESSIONS, PRIMER)),
    WatchedResource(TASK, "tsk_1"),
    WatchedResource(THREAD, "msg_1"),
]


@pytest.mark.parametrize(
    ("kind", "subject", "data", "uris"),
    [
        ("mail.sent", "msg_9", {"to": ["ses_w"], "thread": "msg_9"}, {INBOX, PRIMER}),
        ("mail.sent", "msg_9", {"to": ["ses_x"], "thread": "msg_1"}, {THREAD}),
        ("mail.read", "msg_9", {"mailbox": "prj_vc"}, {INBOX, PRIMER}),
        ("mail.read", "msg_9", {"mailbox": "ses_x"}, set()),
        ("thread.claimed", "msg_1", {}, {INBOX, THREAD}),
        ("task.started", "tsk_1", {}, {READY, PRIMER, TASK}),
        ("task.ready", "tsk_2", {}, {READY, PRIMER}),
        ("task.dependency_added", "tsk_2", {"on": "tsk_1"}, {READY, PRIMER, TASK}),
        ("session.ended", "ses_x", {}, {SESSIONS, PRIMER}),
        ("run.started", "run_1", {}, set()),
    ],
)
def test_an_event_changes_the_watched_resources_that_show_its_subject(
    kind: str, subject: str, data: dict[str, Any], uris: set[str]
) -> None:
    event = Event(1, datetime.now(UTC), "prj_vc", kind, 1, "ses_x", subject, data)
    assert find_changed_uris(event, TOPICS, BOXES) == uris
