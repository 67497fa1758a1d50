"""Moves of tasks: claims with leases and fences, reports, reviews, and the errors of tasks that are not ready."""

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

    async def test_a_held_task_is_refused_to_others_with_the_name_of_its_holder(
        self, world: World, board: Board
    ) -> None:
        worker, other = await world.join("w"), await world.join("other")
        task = await board.create(held_by=worker)
        with pytest.raises(errors.AlreadyHeld, match="w already holds vc#1") as refused:
            await board.call(moves.start_task, task, by=other)
        assert refused.value.data["holder"] == worker.session_id
        with pytest.raises(errors.AlreadyHeld, match="You already hold vc#1"):
            await board.call(moves.start_task, task, by=worker)

    async def test_a_claim_whose_lease_is_over_gives_way_to_another_session(self, world: World, board: Board) -> None:
        worker, other = await world.join("w"), await world.join("other")
        task = await board.create()
        await board.call(moves.start_task, task, by=worker, lease=10_000)
        world.clock.advance(10)
        assert (await board.call(moves.start_task, task, by=other)).holder == other.session_id
        assert "task.claim_expired" in [event.kind for event in await world.log()]
        with pytest.raises(errors.NotHeld):
            await board.call(moves.complete_task, task, by=worker)

    async def test_a_waiting_task_is_refused_with_all_that_it_waits_on(self, board: Board) -> None:
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

    async def test_a_move_with_the_fence_of_an_earlier_claim_is_refused(self, world: World, board: Board) -> None:
        worker = await world.join("w")
        task = await board.create(held_by=worker)
        with pytest.raises(errors.ClaimLost):
            await board.call(moves.complete_task, task, by=worker, fence=7)
        assert (await board.call(moves.complete_task, task, by=worker, fence=1)).status == "completed"

    async def test_a_session_that_starts_a_task_is_working(self, world: World, board: Board) -> None:
        worker = await world.join("w")
        await board.call(moves.start_task, await board.create(), by=worker)
        assert (await world.session(worker)).status == "working"


class TestReviews:
    async def test_a_parent_with_unfinished_children_is_not_completed(self, board: Board) -> None:
        parent = await board.create()
        await board.create(parent=parent)
        await board.call(moves.start_task, parent)
        with pytest.raises(errors.Conflict) as refused:
            await board.call(moves.complete_task, parent)
        assert refused.value.data["children"] == ["vc#2"]

    async def test_a_worker_does_not_pass_its_own_review(self, world: World, board: Board) -> None:
        worker = await world.join("w1")
        task = await board.create(gates=["sleep 20"], held_by=worker)
        await board.call(moves.complete_task, task, by=worker)
        with pytest.raises(errors.Conflict):
            await board.call(moves.complete_task, task, by=worker)
        assert await board.statuses(task) == ["in_review"]

    async def test_a_coordinator_passes_a_review_without_the_gates(self, world: World, board: Board) -> None:
        worker, boss = await world.join("w"), await world.boss("boss")
        task = await board.create(gates=["make test"], held_by=worker)
        await board.call(moves.complete_task, task, by=worker)
        assert (await board.call(moves.complete_task, task, by=boss)).status == "completed"

    async def test_a_rejected_holder_gets_a_full_lease_after_a_long_review(self, world: World, board: Board) -> None:
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
    async def test_a_summary_is_kept_as_a_report(self, world: World, board: Board) -> None:
        task = await board.create()
        await board.call(moves.start_task, task)
        await board.call(moves.complete_task, task, summary="all tests pass")
        kept = await world.store.read(lambda tx: tx.documents.reports_of_task(task, limit=10))
        assert [(report.kind, report.text, report.by) for report in kept] == [("complete", "all tests pass", "dana")]

    async def test_a_summary_of_a_stranger_is_not_kept(self, world: World, board: Board) -> None:
        worker, stranger = await world.join("w"), await world.join("stranger")
        task = await board.create(held_by=worker)
        with pytest.raises(errors.NotHeld):
            await board.call(moves.complete_task, task, by=stranger, summary="done")
        assert await world.store.read(lambda tx: tx.documents.reports_of_task(task, limit=10)) == []

    async def test_a_report_renews_the_claim_of_the_task_that_it_blocks(self, world: World, board: Board) -> None:
        worker = await world.join("w1")
        task = await board.create()
        started = await board.call(moves.start_task, task, by=worker, lease=60_000)
        world.clock.advance(30)
        reported = await board.call(moves.report_task, task, by=worker, kind=ReportKind.BLOCKED, text="a key")
        assert (reported.lease_until - started.lease_until).total_seconds() == 30

    async def test_progress_unblocks_a_blocked_task(self, world: World, board: Board) -> None:
        worker = await world.join("w")
        task = await board.create(held_by=worker)
        await board.call(moves.block_task, task, by=worker, reason="no key")
        reported = await board.call(moves.report_task, task, by=worker, kind=ReportKind.PROGRESS, text="found it")
        assert (reported.status, reported.holder) == ("in_progress", worker.session_id)

    async def test_a_blocked_parent_with_completed_children_completes_by_its_report(
        self, world: World, board: Board
    ) -> None:
        worker = await world.join("w")
        parent = await board.create(held_by=worker)
        await board.call(moves.block_task, parent, by=worker, reason="the children")
        await board.complete(await board.create(parent=parent))
        reported = await board.call(moves.report_task, parent, by=worker, kind=ReportKind.COMPLETE, text="done")
        assert reported.status == "completed"

    async def test_moves_of_a_holder_notify_the_coordinator_like_reports(self, world: World, board: Board) -> None:
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
    async def test_moves_of_a_coordinator_on_a_workers_task_are_no_reports_of_the_coordinator(
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
