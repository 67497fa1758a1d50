"""Moves claim tasks with leases and fences, review and report tasks, and refuse illegal moves."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.documents import ReportKind
from maestro.operations import sessions as session_ops
from maestro.services.sessions import lifecycle
from maestro.services.tasks import moves
from maestro.services.tasks.expired_claims import ClaimExpiryJob

World = Any
Board = Any


class TestClaims:
    async def test_a_session_gets_a_lease_and_each_claim_a_new_fence(self, world: World, board: Board) -> None:
        worker = await world.join("w")
        task = await board.create()
        started = await board.call(moves.start_task, task, by=worker, lease=60_000)
        assert (started.holder, started.holder_name, started.fence) == (worker.session_id, "w", 1)
        assert started.lease_until == world.clock.now() + timedelta(seconds=60)
        await board.call(moves.release_task, task, by=worker)
        assert (await board.call(moves.start_task, task, by=worker)).fence == 2

    async def test_the_person_holds_a_task_without_a_lease(self, board: Board) -> None:
        started = await board.call(moves.start_task, await board.create())
        assert (started.holder, started.holder_name, started.lease_until) == ("dana", None, None)

    async def test_the_start_of_a_held_task_is_refused_with_the_name_of_the_holder(
        self, world: World, board: Board
    ) -> None:
        worker, other = await world.join("w"), await world.join("other")
        task = await board.create(held_by=worker)
        with pytest.raises(errors.AlreadyHeld, match="w already holds vc#1") as refused:
            await board.call(moves.start_task, task, by=other)
        assert refused.value.data["holder"] == worker.session_id
        assert refused.value.hint == "Wait for the task, or take another task: `maestro task ready`."
        with pytest.raises(errors.AlreadyHeld, match="You already hold vc#1") as repeated:
            await board.call(moves.start_task, task, by=worker)
        assert repeated.value.hint == ""

    async def test_another_session_may_start_a_task_whose_lease_has_ended(self, world: World, board: Board) -> None:
        worker, other = await world.join("w"), await world.join("other")
        task = await board.create()
        await board.call(moves.start_task, task, by=worker, lease=10_000)
        world.clock.advance(10)
        assert (await board.call(moves.start_task, task, by=other)).holder == other.session_id
        assert "task.claim_expired" in [event.kind for event in await world.log()]
        with pytest.raises(errors.NotHeld):
            await board.call(moves.complete_task, task, by=worker)

    async def test_the_start_of_a_waiting_task_is_refused_with_its_blockers_and_its_stage(self, board: Board) -> None:
        await board.create(stage="plan")
        blocker = await board.create()
        task = await board.create(stage="implement", depends_on=[blocker])
        with pytest.raises(errors.NotReady, match=r"waits on vc#2 \(todo\), stage plan") as refused:
            await board.call(moves.start_task, task)
        assert refused.value.data["stage"] == "plan"
        assert [found["ref"] for found in refused.value.data["blockers"]] == ["vc#2"]

    async def test_a_completed_task_cannot_be_started(self, board: Board) -> None:
        task = await board.create()
        await board.complete(task)
        with pytest.raises(errors.IllegalMove):
            await board.call(moves.start_task, task)

    async def test_a_session_starts_no_task_of_another_project(self, world: World, board: Board) -> None:
        stranger = await world.join("stranger", project="other")
        with pytest.raises(errors.NotPermitted):
            await board.call(moves.start_task, await board.create(), by=stranger)

    async def test_a_move_with_a_wrong_fence_is_refused(self, world: World, board: Board) -> None:
        worker = await world.join("w")
        task = await board.create(held_by=worker)
        with pytest.raises(errors.ClaimLost):
            await board.call(moves.complete_task, task, by=worker, fence=7)
        assert (await board.call(moves.complete_task, task, by=worker, fence=1)).status == "completed"

    async def test_a_session_that_starts_a_task_has_the_status_working(self, world: World, board: Board) -> None:
        worker = await world.join("w")
        await board.call(moves.start_task, await board.create(), by=worker)
        assert (await world.session(worker)).status == "working"


class TestReviews:
    async def test_the_completion_of_a_parent_with_unfinished_children_is_refused(self, board: Board) -> None:
        parent = await board.create()
        await board.create(parent=parent)
        await board.call(moves.start_task, parent)
        with pytest.raises(errors.Conflict) as refused:
            await board.call(moves.complete_task, parent)
        assert refused.value.data["children"] == ["vc#2"]

    async def test_a_worker_cannot_complete_its_own_task_in_review(self, world: World, board: Board) -> None:
        worker = await world.join("w1")
        task = await board.create(gates=["sleep 20"], held_by=worker)
        await board.call(moves.complete_task, task, by=worker)
        with pytest.raises(errors.Conflict):
            await board.call(moves.complete_task, task, by=worker)
        assert await board.statuses(task) == ["in_review"]

    async def test_a_coordinator_completes_a_task_in_review_without_the_gates(
        self, world: World, board: Board
    ) -> None:
        worker, boss = await world.join("w"), await world.boss("boss")
        task = await board.create(gates=["make test"], held_by=worker)
        await board.call(moves.complete_task, task, by=worker)
        assert (await board.call(moves.complete_task, task, by=boss)).status == "completed"

    async def test_the_holder_of_a_rejected_task_gets_a_full_lease_after_a_long_review(
        self, world: World, board: Board
    ) -> None:
        worker = await world.join("w1")
        task = await board.create(gates=["sleep 20"])
        await board.call(moves.start_task, task, by=worker, lease=60_000)
        await board.call(moves.complete_task, task, by=worker)
        job = ClaimExpiryJob(world.store, clock=world.clock)
        await job.run_once()
        world.clock.advance(3600)
        await world.do(lifecycle.record_heartbeat, session_ops.SendHeartbeat(), by=worker)
        rejected = await board.call(moves.reject_task, task, reason="not yet")
        assert rejected.holder == worker.session_id
        assert rejected.lease_until == world.clock.now() + timedelta(seconds=60)
        await job.run_once()
        await board.call(moves.complete_task, task, by=worker)


class TestReports:
    async def test_the_summary_of_a_completion_is_stored_as_a_report(self, world: World, board: Board) -> None:
        task = await board.create()
        await board.call(moves.start_task, task)
        await board.call(moves.complete_task, task, summary="all tests pass")
        kept = await world.store.read(lambda tx: tx.documents.reports_of_task(task, limit=10))
        assert [(report.kind, report.text, report.by) for report in kept] == [("complete", "all tests pass", "dana")]

    async def test_the_summary_of_a_refused_completion_is_not_stored(self, world: World, board: Board) -> None:
        worker, stranger = await world.join("w"), await world.join("stranger")
        task = await board.create(held_by=worker)
        with pytest.raises(errors.NotHeld):
            await board.call(moves.complete_task, task, by=stranger, summary="done")
        assert await world.store.read(lambda tx: tx.documents.reports_of_task(task, limit=10)) == []

    async def test_a_report_that_blocks_a_task_renews_the_claim_of_the_task(self, world: World, board: Board) -> None:
        worker = await world.join("w1")
        task = await board.create()
        started = await board.call(moves.start_task, task, by=worker, lease=60_000)
        world.clock.advance(30)
        reported = await board.call(moves.report_task, task, by=worker, kind=ReportKind.BLOCKED, text="a key")
        assert (reported.lease_until - started.lease_until).total_seconds() == 30

    async def test_a_report_of_progress_unblocks_a_blocked_task(self, world: World, board: Board) -> None:
        worker = await world.join("w")
        task = await board.create(held_by=worker)
        await board.call(moves.block_task, task, by=worker, reason="no key")
        reported = await board.call(moves.report_task, task, by=worker, kind=ReportKind.PROGRESS, text="found it")
        assert (reported.status, reported.holder) == ("in_progress", worker.session_id)

    async def test_a_report_of_completion_completes_a_blocked_parent_with_completed_children(
        self, world: World, board: Board
    ) -> None:
        worker = await world.join("w")
        parent = await board.create(held_by=worker)
        await board.call(moves.block_task, parent, by=worker, reason="the children")
        await board.complete(await board.create(parent=parent))
        reported = await board.call(moves.report_task, parent, by=worker, kind=ReportKind.COMPLETE, text="done")
        assert reported.status == "completed"

    async def test_moves_of_a_holder_notify_the_coordinator_as_reports_do(self, world: World, board: Board) -> None:
        boss = await world.boss("boss")
        worker = await world.join("w", under=boss)
        blocked, failed, completed = [await board.create(held_by=worker) for _ in range(3)]
        await board.call(moves.block_task, blocked, by=worker, reason="no port")
        await board.call(moves.fail_task, failed, by=worker, reason="broken")
        await board.call(moves.complete_task, completed, by=worker, summary="all pass")
        assert {message.subject: message.body for message in await world.unread(boss)} == {
            "w is blocked on vc#1": "no port",
            "w reports an error on vc#2": "broken",
            "w has completed vc#3": "all pass",
        }

    @pytest.mark.parametrize("gates", [[], ["make test"]])
    async def test_moves_of_a_coordinator_on_tasks_of_a_worker_are_no_reports_of_the_coordinator(
        self, world: World, board: Board, gates: list[str]
    ) -> None:
        top = await world.boss("top")
        boss = await world.boss("boss", under=top)
        worker = await world.join("w", under=boss)
        passed, failed, blocked = [await board.create(gates=gates, held_by=worker) for _ in range(3)]
        if gates:
            await board.call(moves.complete_task, passed, by=worker)
        await board.call(moves.complete_task, passed, by=boss)
        await board.call(moves.fail_task, failed, by=boss, reason="wrong")
        await board.call(moves.block_task, blocked, by=boss, reason="later")
        assert (await world.session(boss)).status == "idle"
        assert await world.unread(top) == []
