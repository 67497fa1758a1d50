"""Notices about sessions go to the coordinator, the workers or the person, with a suitable priority."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import limits
from maestro.domain.priorities import Priority
from maestro.domain.runs import RunStatus
from maestro.domain.sessions import SessionStatus
from maestro.services.sessions import notices
from maestro.testing.factories import make_session

World = Any


async def notify(world: World, caller: Any, **fields: Any) -> None:
    """Post a notice from the session to its coordinator."""
    session = await world.session(caller)
    await world.store.write(lambda tx: notices.notify_coordinator(tx, session, subject="s", text="t", **fields))


async def change_status(world: World, caller: Any, status: SessionStatus) -> None:
    session = await world.session(caller)
    await world.store.write(lambda tx: notices.notify_status_change(tx, session, status, ""))


async def inbox(world: World, caller: Any = None) -> list[tuple[str, str]]:
    return [(message.subject, message.priority.value) for message in await world.unread(caller)]


class TestCoordinators:
    async def test_a_live_coordinator_gets_the_notice_in_the_name_of_its_worker(self, world: World) -> None:
        boss = await world.boss("boss")
        worker = await world.join("w", under=boss)
        await notify(world, worker, is_for_person=True)
        (notice,) = await world.unread(boss)
        assert (notice.sender.kind, notice.sender.name, notice.sender.project) == ("session", "w", "vc")
        assert await inbox(world) == []

    @pytest.mark.parametrize("is_for_person", [True, False])
    async def test_the_person_gets_the_notice_of_a_session_without_a_coordinator_only_if_requested(
        self, world: World, is_for_person: bool
    ) -> None:
        await notify(world, await world.join("w"), is_for_person=is_for_person)
        assert len(await inbox(world)) == is_for_person

    @pytest.mark.parametrize(
        ("final", "falls_back", "count"),
        [("failed", True, 1), ("failed", False, 0), ("completed", True, 0)],
    )
    async def test_the_person_gets_the_notice_for_a_coordinator_that_ended_without_completion(
        self, world: World, final: str, falls_back: bool, count: int
    ) -> None:
        boss = await world.boss("boss")
        worker = await world.join("w", under=boss)
        await world.end(boss, final)
        before = len(await inbox(world))
        await notify(world, worker, falls_back_to_person=falls_back)
        assert len(await inbox(world)) - before == count

    async def test_a_live_run_reports_instead_of_a_worker_without_a_coordinator(
        self, world: World, spawn: Any
    ) -> None:
        boss = await world.boss("boss")
        worker = await spawn("w", run=RunStatus.RUNNING, under=boss)
        await world.end(boss, "failed")
        before = len(await inbox(world))
        await notify(world, worker)
        assert len(await inbox(world)) == before


class TestStatusChanges:
    @pytest.mark.parametrize(
        ("status", "expected"),
        [
            (SessionStatus.NEEDS_INPUT, [("w needs input", "high")]),
            (SessionStatus.COMPLETED, [("w is done", "normal")]),
            (SessionStatus.FAILED, [("w has failed", "high")]),
            (SessionStatus.IDLE, []),
            (SessionStatus.WORKING, []),
        ],
    )
    async def test_a_coordinator_gets_notices_about_input_and_ends_and_not_about_other_changes(
        self, world: World, status: SessionStatus, expected: list[tuple[str, str]]
    ) -> None:
        boss = await world.boss("boss")
        await change_status(world, await world.join("w", under=boss), status)
        assert await inbox(world, boss) == expected

    async def test_the_person_gets_only_failures_of_sessions_without_a_coordinator(self, world: World) -> None:
        worker = await world.join("w")
        for status in (SessionStatus.COMPLETED, SessionStatus.STOPPED, SessionStatus.NEEDS_INPUT):
            await change_status(world, worker, status)
        assert await inbox(world) == []
        for status in (SessionStatus.FAILED, SessionStatus.LOST):
            await change_status(world, worker, status)
        assert await inbox(world) == [("w has failed", "high"), ("w is lost", "high")]

    @pytest.mark.parametrize(
        ("run", "priority", "for_person"), [(RunStatus.RUNNING, "normal", 0), (RunStatus.STOPPED, "high", 1)]
    )
    async def test_a_failure_in_a_live_run_is_not_urgent(
        self, world: World, spawn: Any, run: RunStatus, priority: str, for_person: int
    ) -> None:
        boss = await world.boss("boss")
        await change_status(world, await spawn("w", run=run, under=boss), SessionStatus.FAILED)
        assert await inbox(world, boss) == [("w has failed", priority)]
        await change_status(world, await spawn("loner", run=run), SessionStatus.FAILED)
        assert len(await inbox(world)) == for_person

    @pytest.mark.parametrize(
        ("status", "phrase"), [(SessionStatus.LOST, "is lost"), (SessionStatus.WORKING, "is working")]
    )
    def test_every_status_has_a_phrase(self, status: SessionStatus, phrase: str) -> None:
        assert notices.status_phrase(status) == phrase


class TestWorkers:
    async def test_direct_workers_get_a_notice_about_the_end_of_their_coordinator_and_the_next_recipient(
        self, world: World
    ) -> None:
        top = await world.boss("top")
        boss = await world.boss("boss", under=top)
        worker = await world.join("one", under=boss)
        below = await world.join("below", under=worker)
        await world.end(boss, "failed")
        (notice,) = await world.unread(worker)
        assert (notice.subject, notice.priority) == ("Your coordinator boss is failed", "high")
        assert "goes to top" in notice.body and await world.unread(below) == []

    async def test_workers_get_a_notice_that_their_lost_coordinator_will_be_resumed(self, world: World) -> None:
        boss = await world.boss("boss")
        worker = await world.join("w", under=boss)
        session = await world.session(boss)
        await world.store.write(
            lambda tx: notices.notify_workers_of_end(tx, session, SessionStatus.LOST, will_resume=True)
        )
        (notice,) = await world.unread(worker)
        assert "Maestro starts your coordinator again" in notice.body

    async def test_every_worker_gets_a_notice_about_the_end_of_its_coordinator_beyond_one_batch(
        self, world: World
    ) -> None:
        boss = await world.boss("boss")
        count = limits.job_batch_rows_max + 1
        workers = [make_session(name=f"w{number}", parent_id=boss.name) for number in range(count)]
        await world.store.write(
            lambda tx: [tx.sessions.insert(worker, token_hash=worker.id, member_id=None) for worker in workers]
        )
        await world.end(boss)
        assert all(await world.store.read(lambda tx: [tx.deliveries.has_open(worker.id) for worker in workers]))

    async def test_a_restart_is_reported_to_the_coordinator_and_the_workers(self, world: World) -> None:
        top = await world.boss("top")
        boss = await world.boss("boss", under=top)
        worker = await world.join("w", under=boss)
        session = await world.session(boss)
        await world.store.write(lambda tx: notices.notify_resumed(tx, session, SessionStatus.LOST))
        assert await inbox(world, top) == [("boss is started again", "normal")]
        assert await inbox(world, worker) == [("Your coordinator boss is started again", "normal")]


class TestRuns:
    async def test_the_starter_of_a_run_gets_a_notice_about_the_end_of_the_run(self, world: World) -> None:
        boss = await world.boss("boss")
        for starter in (boss.name, "dana"):
            await world.store.write(
                lambda tx, starter=starter: notices.notify_run_end(
                    tx, starter, boss.project_id, subject="run_1 completed", text="", priority=Priority.NORMAL
                )
            )
        for caller in (boss, None):
            (notice,) = await world.unread(caller)
            assert (notice.subject, notice.body) == ("run_1 completed", "run_1 completed.")


async def test_the_long_subject_of_a_notice_is_cut(world: World) -> None:
    session = await world.session(await world.join("w"))
    subject, text = "s" * (limits.subject_chars_max + 1), "t" * (limits.message_chars_max + 1)
    await world.store.write(lambda tx: notices.notify_session(tx, session, subject=subject, text=text))
    caller = await world.caller(session.id)
    (notice,) = await world.unread(caller)
    assert len(notice.subject) == limits.subject_chars_max
