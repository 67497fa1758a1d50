"""The notification job sends each change once, and repeats the attempts of a failing webhook with growing pauses."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import limits
from maestro.domain.callers import SERVER_CALLER
from maestro.domain.documents import ReportKind
from maestro.domain.sessions import SessionStatus, StatusSource
from maestro.operations import asks as ask_ops
from maestro.operations import notifications as ops
from maestro.operations import sessions as session_ops
from maestro.services.asks import asks
from maestro.services.notifications.channels import DesktopChannel, WebhookChannel
from maestro.services.notifications.job import NotificationJob, list_notifications
from maestro.services.sessions.lifecycle import finish_session
from maestro.services.tasks import session_report

World = Any
Webhook = Any


async def open_ask(world: World, by: Any, title: str = "Drop it?") -> Any:
    return await world.do(asks.create_ask, ask_ops.CreateAsk(title=title, choice=["yes", "no"]), by=by)


async def run_due(world: World, job: NotificationJob) -> None:
    """Let the hold of new notifications pass, and run the job."""
    world.clock.advance(limits.notification_hold_seconds)
    await job.run_once()


def job_for(world: World, webhook: Webhook, *, with_content: bool = False) -> NotificationJob:
    return NotificationJob(world.store, [WebhookChannel(webhook.url)], with_content=with_content)


async def states(world: World) -> list[tuple[str, int, bool]]:
    """Return kind, attempts and whether a further attempt is due, of every notification, oldest first."""
    found = await world.store.read(lambda tx: tx.notifications.list_newest(limit=99))
    return [(one.kind.value, one.attempts, one.due_at is not None) for one in reversed(found)]


async def test_the_webhook_gets_each_change_of_an_ask_once(world: World, webhook: Webhook) -> None:
    worker = await world.join("w")
    job = job_for(world, webhook)
    assert await job.run_once() is None
    first, second = await open_ask(world, worker), await open_ask(world, worker, "And this?")
    await run_due(world, job)
    await world.do(asks.answer_ask, ask_ops.AnswerAsk(id=first.id, answer="no"))
    await world.do(asks.withdraw_ask, ask_ops.OneAsk(id=second.id), by=worker)
    await run_due(world, job)
    await run_due(world, job_for(world, webhook))  # a new server
    assert [(body["kind"], body["ask"]["id"]) for body in webhook.received] == [
        ("ask.opened", first.id),
        ("ask.opened", second.id),
        ("ask.answered", first.id),
        ("ask.withdrawn", second.id),
    ]
    assert set(webhook.content_types) == {"application/json"}


@pytest.mark.parametrize("with_content", [False, True])
async def test_the_content_of_an_ask_is_sent_only_with_the_setting(
    world: World, webhook: Webhook, with_content: bool
) -> None:
    worker = await world.join("w")
    made = await open_ask(world, worker, "Drop the table of customers?")
    await run_due(world, job_for(world, webhook, with_content=with_content))
    (body,) = webhook.received
    assert (body["who"], body["project"], body["kind"]) == ("w", "vc", "ask.opened")
    assert body["ask"] == {"id": made.id, "kind": "question"}
    assert ("customers" in str(body)) is with_content


async def test_an_ask_that_is_answered_within_seconds_is_not_notified(world: World, webhook: Webhook) -> None:
    worker = await world.join("w")
    job = job_for(world, webhook)
    made = await open_ask(world, worker)
    assert await job.run_once() is not None and webhook.received == []
    await world.do(asks.answer_ask, ask_ops.AnswerAsk(id=made.id, answer="no"))
    await run_due(world, job)
    assert webhook.received == [] and await states(world) == []


async def test_a_failing_webhook_is_tried_again_with_growing_pauses(world: World, webhook: Webhook) -> None:
    webhook.answer = 500
    worker = await world.join("w")
    await open_ask(world, worker)
    job = job_for(world, webhook)
    await run_due(world, job)
    for number, pause in enumerate(limits.notification_pauses_seconds, 1):
        assert await states(world) == [("ask.opened", number, True)]
        world.clock.advance(pause - 0.5)
        await job.run_once()
        assert len(webhook.received) == number  # not before the pause is over
        world.clock.advance(0.5)
        await job.run_once()
    assert len(webhook.received) == 1 + len(limits.notification_pauses_seconds)
    assert len({body["id"] for body in webhook.received}) == 1
    assert await states(world) == [("ask.opened", len(webhook.received), False)]
    failed = await world.do(list_notifications, ops.ListNotifications(failed=True))
    assert "500" in failed.notifications[0].problem


async def test_a_webhook_that_works_again_gets_the_notification(world: World, webhook: Webhook) -> None:
    webhook.answer = 500
    worker = await world.join("w")
    await open_ask(world, worker)
    job = job_for(world, webhook)
    await run_due(world, job)
    webhook.answer = 204
    world.clock.advance(limits.notification_pauses_seconds[0])
    await job.run_once()
    assert await states(world) == [("ask.opened", 2, False)]
    assert (await world.do(list_notifications, ops.ListNotifications(failed=True))).notifications == []


async def test_lost_failed_and_blocked_agents_are_notified(world: World, webhook: Webhook) -> None:
    lost, failed, blocked = await world.join("lost"), await world.join("failed"), await world.join("blocked")
    for caller, status in ((lost, SessionStatus.LOST), (failed, SessionStatus.FAILED)):
        session = await world.session(caller)
        await world.store.write(
            lambda tx, session=session, status=status: finish_session(
                tx, session, status, source=StatusSource.PROCESS, actor=SERVER_CALLER
            )
        )
    report = session_ops.ReportSession(kind=ReportKind.BLOCKED, text="I need the key of the shop.")
    await world.do(session_report.report_work, report, by=blocked)
    await run_due(world, job_for(world, webhook))
    assert sorted((body["who"], body["kind"]) for body in webhook.received) == [
        ("blocked", "session.blocked"),
        ("failed", "session.failed"),
        ("lost", "session.lost"),
    ]


async def test_a_session_that_the_person_ends_as_failed_is_not_notified(world: World, webhook: Webhook) -> None:
    worker = await world.join("w")
    await world.end(worker, "failed")
    await run_due(world, job_for(world, webhook))
    assert webhook.received == []


async def test_a_worker_of_a_live_coordinator_is_not_notified(world: World, webhook: Webhook) -> None:
    worker = await world.join("w", under=await world.boss("lead"))
    report = session_ops.ReportSession(kind=ReportKind.BLOCKED, text="I need the key of the shop.")
    await world.do(session_report.report_work, report, by=worker)
    await run_due(world, job_for(world, webhook))
    assert webhook.received == []


async def test_two_notifications_about_one_session_keep_a_distance(world: World, webhook: Webhook) -> None:
    worker = await world.join("w")
    report = session_ops.ReportSession(kind=ReportKind.BLOCKED, text="I need the key of the shop.")
    job = job_for(world, webhook)
    for _ in range(2):
        await world.do(session_report.report_work, report, by=worker)
        await run_due(world, job)
    assert len(webhook.received) == 1
    world.clock.advance(limits.notification_gap_seconds)
    await job.run_once()
    assert len(webhook.received) == 2


async def test_a_test_tells_the_result_of_each_channel(
    world: World, webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    job = NotificationJob(world.store, [DesktopChannel(), WebhookChannel(webhook.url)], with_content=False)
    tested = await job.send_test(world.dana, ops.TestNotification())
    desktop, web = tested.channels
    assert "without a desktop" in desktop.problem and web.problem == ""
    assert [body["kind"] for body in webhook.received] == ["test"]


async def test_old_notifications_are_deleted_and_the_announcement_of_an_open_ask_stays(
    world: World, webhook: Webhook
) -> None:
    worker = await world.join("w")
    await open_ask(world, worker, "Still open?")
    closed = await open_ask(world, worker)
    job = job_for(world, webhook)
    await run_due(world, job)
    await world.do(asks.answer_ask, ask_ops.AnswerAsk(id=closed.id, answer="no"))
    await run_due(world, job)
    world.clock.advance(limits.notification_days * 86_400 + 1)
    await open_ask(world, worker, "A new one?")
    await run_due(world, job)
    assert [kind for kind, _, _ in await states(world)] == ["ask.opened", "ask.opened"]


async def test_a_desktop_shows_each_notification_once_also_if_its_program_fails(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    worker = await world.join("w")
    await open_ask(world, worker)
    job = NotificationJob(world.store, [DesktopChannel()], with_content=False)
    await run_due(world, job)
    assert await states(world) == [("ask.opened", 1, False)]
    assert (await world.do(list_notifications, ops.ListNotifications(failed=True))).notifications == []
