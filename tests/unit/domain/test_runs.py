"""The plan of a run decides which tasks start, when failed tasks are tried again, and when the run ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from maestro.domain import runs
from maestro.domain.events import Event, EventKind
from maestro.domain.priorities import Priority
from maestro.domain.runs import Attempt, AttemptOutcome, Run, RunPlan, RunStatus, RunStrategy, TaskAttempts
from maestro.domain.tasks import Task, TaskStatus
from maestro.testing.factories import make_task

AT = datetime(2026, 3, 1, tzinfo=UTC)
OVER = {"completed": TaskStatus.COMPLETED, "failed": TaskStatus.FAILED}


def run(strategy: RunStrategy = RunStrategy.DAG, *, max_parallel: int = 3, attempts_max: int = 2) -> Run:
    return Run(
        id="run_x",
        project_id="prj_x",
        task_id="tsk_root",
        strategy=strategy,
        max_parallel=max_parallel,
        attempts_max=attempts_max,
        member=None,
        tool="command",
        arguments=["true"],
        worktrees=False,
        directory="/",
        branch=None,
        status=RunStatus.RUNNING,
        note="",
        started_by="dana",
        created_at=AT,
        ended_at=None,
    )


def task(number: int, status: TaskStatus = TaskStatus.TODO, *, ready: bool | None = None, **fields: Any) -> Task:
    is_ready = status is TaskStatus.TODO if ready is None else ready
    return make_task(id=f"tsk_{number}", ref=f"vc#{number}", number=number, status=status, ready=is_ready, **fields)


def attempt(task_number: int, number: int, outcome: AttemptOutcome | None, *, ended: datetime = AT) -> Attempt:
    return Attempt(
        run_id="run_x",
        task_id=f"tsk_{task_number}",
        number=number,
        session_id=f"ses_{task_number}_{number}",
        outcome=outcome,
        started_at=AT - timedelta(minutes=1),
        ended_at=ended if outcome else None,
    )


def fresh(number: int, **fields: Any) -> TaskAttempts:
    return TaskAttempts(task(number, **fields), [])


def working(number: int) -> TaskAttempts:
    return TaskAttempts(task(number, TaskStatus.IN_PROGRESS), [attempt(number, 1, None)])


def done(number: int) -> TaskAttempts:
    return TaskAttempts(task(number, TaskStatus.COMPLETED), [attempt(number, 1, AttemptOutcome.COMPLETED)])


def tried(number: int, *outcomes: AttemptOutcome, status: TaskStatus = TaskStatus.TODO) -> TaskAttempts:
    return TaskAttempts(task(number, status), [attempt(number, n, one) for n, one in enumerate(outcomes, start=1)])


def starts(plan: RunPlan) -> list[int]:
    assert plan.final_status is None
    return [one.number for one in plan.tasks_to_start]


def test_a_dag_run_starts_ready_tasks_by_priority_and_then_by_number() -> None:
    found = [fresh(4), fresh(3), fresh(9, priority=Priority.CRITICAL), fresh(1, priority=Priority.LOW), working(2)]
    assert starts(runs.plan_run(run(max_parallel=5), found, AT)) == [9, 3, 4, 1]
    assert starts(runs.plan_run(run(max_parallel=3), found, AT)) == [9, 3]
    assert starts(runs.plan_run(run(max_parallel=1), found, AT)) == []


def test_a_run_starts_only_ready_tasks() -> None:
    found = [fresh(1), fresh(2, ready=False), tried(3, AttemptOutcome.FAILED, status=TaskStatus.FAILED), done(4)]
    assert starts(runs.plan_run(run(max_parallel=9), found, AT)) == [1]


def test_a_run_with_too_many_working_tasks_starts_no_task() -> None:
    found = [working(1), working(2), fresh(3)]
    assert starts(runs.plan_run(run(max_parallel=1), found, AT)) == []


def test_a_batch_run_starts_the_next_batch_after_the_whole_previous_batch() -> None:
    batch = run(RunStrategy.BATCH, max_parallel=2)
    assert starts(runs.plan_run(batch, [fresh(1), fresh(2), fresh(3)], AT)) == [1, 2]
    assert starts(runs.plan_run(batch, [done(1), working(2), fresh(3)], AT)) == []
    assert starts(runs.plan_run(batch, [done(1), done(2), fresh(3)], AT)) == [3]


def test_a_pipeline_run_starts_one_task_after_another() -> None:
    pipeline = run(RunStrategy.PIPELINE, max_parallel=8)
    assert starts(runs.plan_run(pipeline, [fresh(2), fresh(1)], AT)) == [1]
    assert starts(runs.plan_run(pipeline, [working(1), fresh(2)], AT)) == []
    assert starts(runs.plan_run(pipeline, [done(1), fresh(2)], AT)) == [2]


def test_a_race_run_ends_with_the_first_completed_task_or_when_all_tasks_failed() -> None:
    race = run(RunStrategy.RACE, attempts_max=3)
    assert starts(runs.plan_run(race, [fresh(1), fresh(2), fresh(3)], AT)) == [1, 2, 3]
    lost_one = [tried(1, AttemptOutcome.FAILED, status=TaskStatus.FAILED), working(2), working(3)]
    assert starts(runs.plan_run(race, lost_one, AT)) == []
    assert runs.plan_run(race, [working(1), done(2), working(3)], AT).final_status is RunStatus.COMPLETED
    failed = [tried(number, AttemptOutcome.FAILED, status=TaskStatus.FAILED) for number in (1, 2, 3)]
    over = runs.plan_run(race, failed, AT)
    assert (over.final_status, over.tasks_to_start) == (RunStatus.FAILED, [])
    assert over.note


def test_the_wait_before_each_retry_of_a_failed_task_doubles_up_to_a_limit() -> None:
    patient = run(attempts_max=16)
    waits = []
    for failures in range(1, 12):
        plan = runs.plan_run(patient, [tried(1, *[AttemptOutcome.FAILED] * failures)], AT)
        assert plan.tasks_to_start == [] and plan.check_again_at is not None
        assert starts(
            runs.plan_run(patient, [tried(1, *[AttemptOutcome.FAILED] * failures)], plan.check_again_at)
        ) == [1]
        waits.append((plan.check_again_at - AT).total_seconds())
    assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]


def test_a_run_is_checked_again_at_the_soonest_retry_and_starts_other_tasks_meanwhile() -> None:
    soon, late = tried(1, AttemptOutcome.FAILED), tried(2, AttemptOutcome.FAILED, AttemptOutcome.FAILED)
    plan = runs.plan_run(run(attempts_max=5), [late, soon, fresh(3)], AT)
    assert starts(plan) == [3]
    assert plan.check_again_at == AT + timedelta(seconds=2)


@pytest.mark.parametrize("outcome", [AttemptOutcome.LOST, AttemptOutcome.STOPPED])
def test_a_task_with_a_lost_or_stopped_attempt_is_started_again_at_once(outcome: AttemptOutcome) -> None:
    plan = runs.plan_run(run(), [tried(1, outcome)], AT)
    assert starts(plan) == [1] and plan.check_again_at is None


def test_a_lost_attempt_counts_as_an_attempt_and_a_stopped_attempt_does_not() -> None:
    assert (
        runs.plan_run(run(), [tried(1, AttemptOutcome.LOST, AttemptOutcome.LOST)], AT).final_status
        is RunStatus.FAILED
    )
    assert starts(runs.plan_run(run(), [tried(1, *[AttemptOutcome.STOPPED] * 5)], AT)) == [1]


def test_a_run_continues_with_other_tasks_after_the_last_attempt_of_a_task_failed() -> None:
    given_up = tried(1, AttemptOutcome.FAILED, AttemptOutcome.FAILED)
    later = AT + timedelta(days=1)
    assert starts(runs.plan_run(run(), [given_up, fresh(2)], later)) == [2]
    assert starts(runs.plan_run(run(), [given_up, working(2)], later)) == []
    over = runs.plan_run(run(), [given_up, done(2), fresh(3, ready=False)], later)
    assert over.final_status is RunStatus.FAILED
    assert "vc#1" in over.note and "vc#3" in over.note and "vc#2" not in over.note


def test_a_run_is_completed_when_all_tasks_are_completed_or_cancelled() -> None:
    assert runs.plan_run(run(), [done(1), done(2)], AT).final_status is RunStatus.COMPLETED
    assert (
        runs.plan_run(run(), [done(1), fresh(2, status=TaskStatus.CANCELLED)], AT).final_status is RunStatus.COMPLETED
    )
    assert runs.plan_run(run(), [], AT).final_status is RunStatus.COMPLETED


@pytest.mark.parametrize("status", [TaskStatus.IN_PROGRESS, TaskStatus.IN_REVIEW])
def test_a_run_waits_for_tasks_that_others_work_on(status: TaskStatus) -> None:
    plan = runs.plan_run(run(), [fresh(1, status=status), fresh(2, ready=False)], AT)
    assert plan.final_status is None and plan.tasks_to_start == []


def test_a_run_with_only_blocked_tasks_fails_and_names_the_first_of_them() -> None:
    over = runs.plan_run(run(), [fresh(number, status=TaskStatus.BLOCKED) for number in range(1, 40)], AT)
    assert over.final_status is RunStatus.FAILED
    assert "vc#20" in over.note and "vc#21" not in over.note  # the note names at most 20 tasks


def test_attempts_before_a_resume_count_neither_as_failures_nor_for_the_wait() -> None:
    before = tried(1, AttemptOutcome.FAILED, AttemptOutcome.FAILED)
    assert runs.plan_run(run(), [before], AT).final_status is RunStatus.FAILED
    resumed = TaskAttempts(before.task, before.attempts, counted_from=AT)
    assert resumed.failures == 0
    assert starts(runs.plan_run(run(), [resumed], AT)) == [1]
    after = msgspec.structs.replace(attempt(1, 3, AttemptOutcome.FAILED), started_at=AT)
    plan = runs.plan_run(run(), [TaskAttempts(before.task, [*before.attempts, after], counted_from=AT)], AT)
    assert plan.tasks_to_start == [] and plan.check_again_at == AT + timedelta(
        seconds=2
    )  # the wait after a first failure


@pytest.mark.parametrize(
    ("status", "holder", "expected"),
    [
        (TaskStatus.IN_PROGRESS, "ses_1_1", False),
        (TaskStatus.BLOCKED, "ses_1_1", False),
        (TaskStatus.IN_REVIEW, None, False),
        (TaskStatus.FAILED, None, False),
        (TaskStatus.TODO, None, True),
        (TaskStatus.BLOCKED, None, True),
        (TaskStatus.IN_PROGRESS, "dana", True),
    ],
)
def test_an_attempt_has_lost_its_task_when_its_session_no_longer_holds_the_open_task(
    status: TaskStatus, holder: str | None, expected: bool
) -> None:
    assert runs.has_lost_task(task(1, status, holder=holder), attempt(1, 1, None)) is expected


@pytest.mark.parametrize(
    ("kind", "actor", "expected"),
    [
        (EventKind.TASK_RELEASED, "ses_1_1", AttemptOutcome.FAILED),
        (EventKind.TASK_RELEASED, "dana", AttemptOutcome.STOPPED),
        (EventKind.TASK_CLAIM_EXPIRED, "maestro", AttemptOutcome.LOST),
        (None, "", AttemptOutcome.STOPPED),
    ],
)
def test_the_last_event_of_a_lost_task_decides_the_outcome_of_the_attempt(
    kind: EventKind | None, actor: str, expected: AttemptOutcome
) -> None:
    last = Event(1, AT, None, kind, 1, actor, "tsk_1", {"holder": "ses_1_1"}) if kind else None
    outcome, why = runs.outcome_of_lost_task(attempt(1, 1, None), last)
    assert outcome is expected and why
