"""Notifications are rendered with their state and the reason of a failed attempt."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.unit.surfaces.cli.render.conftest import AT, WHEN, rendered

from maestro.domain.notifications import Notification, NotificationKind
from maestro.operations.notifications import ChannelResult, NotificationList, NotificationTest
from maestro.surfaces.cli.render.style import finish_text

SENT = Notification(
    id="ntf_1", kind=NotificationKind.ASK_OPENED, project="vc", session="w", created_at=AT, attempts=1
)


def lines_of(*notifications: Notification) -> list[str]:
    shown: Any = rendered(NotificationList(notifications=list(notifications)))
    return finish_text(str(shown.out)).splitlines()


def test_each_notification_shows_who_where_and_its_state() -> None:
    waiting = msgspec.structs.replace(SENT, attempts=0, due_at=AT)
    assert lines_of(SENT, waiting) == [
        f"{WHEN}  ask.opened  w  vc  sent",
        f"{WHEN}  ask.opened  w  vc  waits",
    ]


def test_a_failed_attempt_shows_its_problem_and_the_next_attempt() -> None:
    failed = msgspec.structs.replace(SENT, problem="the webhook failed: 503", attempts=2)
    retried = msgspec.structs.replace(failed, attempts=1, due_at=AT)
    assert lines_of(failed, retried) == [
        f"{WHEN}  ask.opened  w  vc  2 attempts: the webhook failed: 503; given up",
        f"{WHEN}  ask.opened  w  vc  1 attempt: the webhook failed: 503; next attempt {WHEN}",
    ]
    assert rendered(NotificationList(notifications=[])).notes == ["no notifications"]


def test_a_test_shows_the_result_of_each_channel_or_how_to_switch_one_on() -> None:
    results = [ChannelResult(channel="desktop", problem="no desktop"), ChannelResult(channel="webhook")]
    shown = rendered(NotificationTest(channels=results))
    assert finish_text(str(shown.out)).splitlines() == ["desktop  no desktop", "webhook  sent"]
    (note,) = rendered(NotificationTest(channels=[])).notes
    assert "notify_webhook URL" in note
