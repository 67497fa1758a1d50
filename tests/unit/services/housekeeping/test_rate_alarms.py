"""The person gets a notice when the rate limit has stopped mail."""

from __future__ import annotations

import pytest
from tests.unit.services.conftest import World

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.services.housekeeping.rate_alarms import AlarmJob
from maestro.services.mail.rate_limit import Alarm


async def send_too_much(world: World) -> Caller:
    """Let a session send until the rate limit refuses a message."""
    worker: Caller = await world.join("w")
    await world.join("x")
    with pytest.raises(errors.TooFast):
        for _ in range(100):
            await world.send(worker, "x")
    return worker


async def test_the_person_gets_a_notice_and_the_log_gets_an_event_about_stopped_mail(world: World) -> None:
    worker = await send_too_much(world)
    assert await AlarmJob(world.store, world.guard).run_once() is None
    (notice,) = await world.unread()
    assert notice.subject == "w sends too much mail to x"
    event = next(event for event in await world.log() if event.kind == "mail.stopped")
    assert (event.actor, event.project) == ("maestro", worker.project_id)
    assert event.subject.startswith("fast:") and event.data == {"subject": notice.subject, "thread": None}


async def test_an_alarm_is_reported_once(world: World) -> None:
    await send_too_much(world)
    job = AlarmJob(world.store, world.guard)
    await job.run_once()
    await job.run_once()
    assert len(await world.unread()) == 1


async def test_the_event_about_a_stopped_thread_names_the_thread_as_its_subject(world: World) -> None:
    alarm = Alarm("loop:msg_1", "prj_00000000000000000000000000", "a and b answer each other", "Stopped.", "msg_1")
    world.guard.put_back_alarms([alarm])
    await AlarmJob(world.store, world.guard).run_once()
    event = next(event for event in await world.log() if event.kind == "mail.stopped")
    assert (event.subject, event.data["thread"]) == ("msg_1", "msg_1")


class FullStore:
    """A store that refuses writes because the disk is full."""

    async def write(self, work: object, *, quick: bool = False) -> None:
        raise errors.StorageFull("The disk is full.")


async def test_an_alarm_that_cannot_be_stored_is_reported_in_the_next_round(world: World) -> None:
    await send_too_much(world)
    with pytest.raises(errors.StorageFull):
        await AlarmJob(FullStore(), world.guard).run_once()  # type: ignore[arg-type]
    await AlarmJob(world.store, world.guard).run_once()
    assert [notice.subject for notice in await world.unread()] == ["w sends too much mail to x"]
