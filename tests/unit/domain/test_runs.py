"""What a run does next: each strategy, retries, and when it is over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from maestro.domain import runs
from maestro.domain.events import Event, Kind
from maestro.domain.runs import Attempt, Outcome, Plan, Run, RunStatus, Standing, Strategy
from maestro.domain.tasks import Priority, Status, Task
from maestro.testing.factories import make_task

AT = datetime(2026, 3, 1, tzinfo=UTC)
OVER = {"completed": Status.COMPLETED, "failed": Status.FAILED}


def run(strategy: Strategy = Strategy.DAG, *, max_parallel: int = 3, attempts_max: int = 2) -> Run:
    return Run(
        id="run_x",
        project_id="prj_x",
        task_id="tsk_root",
        strategy=strategy,
        max_parallel=max_parallel,
        attempts_max=attempts_max,
        member=None,
        tool="command",
        words=["true"],
        worktrees=False,
        directory="/",
        branch=None,
        status=RunStatus.RUNNING,
        note="",
        started_by="dana",
        created_at=AT,
        ended_at=None,
    )


def task(number: int, status: Status = Status.TODO, *, ready: bool | None = None, **fields: Any) -> Task:
    is_ready = status is Status.TODO if ready is None else ready
    return make_task(id=f"tsk_{number}", ref=f"vc#{number}", number=number, status=status, ready=is_ready, **fields)


def attempt(task_number: int, number: int, outcome: Outcome | None, *, ended: datetime = AT) -> Attempt:
    return Attempt(
        run_id="run_x",
        task_id=f"tsk_{task_number}",
        number=number,
        session_id=f"ses_{task_number}_{number}",
        outcome=outcome,
        started_at=AT - timedelta(minutes=1),
        ended_at=ended if outcome else None,
    )


def fresh(number: int, **fields: Any) -> Standing:
    return Standing(task(number, **fields), [])


def working(number: int) -> Standing:
    return Standing(task(number, Status.IN_PROGRESS), [attempt(number, 1, None)])


def done(number: int) -> Standing:
    return Standing(task(number, Status.COMPLETED), [attempt(number, 1, Outcome.COMPLETED)])


def tried(number: int, *outcomes: Outcome, status: Status = Status.TODO) -> Standing:
    return Standing(task(number, status), [attempt(number, n, one) for n, one in enumerate(outcomes, start=1)])


def starts(plan: Plan) -> list[int]:
    assert plan.verdict is None
    return [one.number for one in plan.start]


def test_a_graph_fills_up_by_priority_and_then_by_number() -> None:
    found = [fresh(4), fresh(3), fresh(9, priority=Priority.CRITICAL), fresh(1, priority=Priority.LOW), working(2)]
    assert starts(runs.plan(run(max_parallel=5), found, AT)) == [9, 3, 4, 1]
    assert starts(runs.plan(run(max_parallel=3), found, AT)) == [9, 3]
    assert starts(runs.plan(run(max_parallel=1), found, AT)) == []


def test_only_what_is_ready_is_started() -> None:
    found = [fresh(1), fresh(2, ready=False), tried(3, Outcome.FAILED, status=Status.FAILED), done(4)]
    assert starts(runs.plan(run(max_parallel=9), found, AT)) == [1]


def test_more_that_run_than_may_is_no_room() -> None:
    found = [working(1), working(2), fresh(3)]
    assert starts(runs.plan(run(max_parallel=1), found, AT)) == []


def test_a_batch_waits_for_all_of_it() -> None:
    batch = run(Strategy.BATCH, max_parallel=2)
    assert starts(runs.plan(batch, [fresh(1), fresh(2), fresh(3)], AT)) == [1, 2]
    assert starts(runs.plan(batch, [done(1), working(2), fresh(3)], AT)) == []
    assert starts(runs.plan(batch, [done(1), done(2), fresh(3)], AT)) == [3]


def test_a_pipeline_goes_one_after_another() -> None:
    pipeline = run(Strategy.PIPELINE, max_parallel=8)
    assert starts(runs.plan(pipeline, [fresh(2), fresh(1)], AT)) == [1]
    assert starts(runs.plan(pipeline, [working(1), fresh(2)], AT)) == []
    assert starts(runs.plan(pipeline, [done(1), fresh(2)], AT)) == [2]


def test_a_race_ends_with_the_first_that_is_completed() -> None:
    race = run(Strategy.RACE, attempts_max=3)
    assert starts(runs.plan(race, [fresh(1), fresh(2), fresh(3)], AT)) == [1, 2, 3]
    lost_one = [tried(1, Outcome.FAILED, status=Status.FAILED), working(2), working(3)]
    assert starts(runs.plan(race, lost_one, AT)) == []
    assert runs.plan(race, [working(1), done(2), working(3)], AT).verdict is RunStatus.COMPLETED
    failed = [tried(number, Outcome.FAILED, status=Status.FAILED) for number in (1, 2, 3)]
    over = runs.plan(race, failed, AT)
    assert (over.verdict, over.start) == (RunStatus.FAILED, [])
    assert over.note


def test_a_failure_is_tried_again_later_each_time() -> None:
    patient = run(attempts_max=16)
    waits = []
    for failures in range(1, 12):
        plan = runs.plan(patient, [tried(1, *[Outcome.FAILED] * failures)], AT)
        assert plan.start == [] and plan.look_again is not None
        assert starts(runs.plan(patient, [tried(1, *[Outcome.FAILED] * failures)], plan.look_again)) == [1]
        waits.append((plan.look_again - AT).total_seconds())
    assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]


def test_the_soonest_retry_is_looked_at_again_and_others_go_on() -> None:
    soon, late = tried(1, Outcome.FAILED), tried(2, Outcome.FAILED, Outcome.FAILED)
    plan = runs.plan(run(attempts_max=5), [late, soon, fresh(3)], AT)
    assert starts(plan) == [3]
    assert plan.look_again == AT + timedelta(seconds=2)


@pytest.mark.parametrize("outcome", [Outcome.LOST, Outcome.STOPPED])
def test_what_was_not_the_tasks_fault_does_not_wait(outcome: Outcome) -> None:
    plan = runs.plan(run(), [tried(1, outcome)], AT)
    assert starts(plan) == [1] and plan.look_again is None


def test_what_was_lost_counts_as_a_try_and_what_was_stopped_does_not() -> None:
    assert runs.plan(run(), [tried(1, Outcome.LOST, Outcome.LOST)], AT).verdict is RunStatus.FAILED
    assert starts(runs.plan(run(), [tried(1, *[Outcome.STOPPED] * 5)], AT)) == [1]


def test_what_was_tried_often_enough_is_left_and_the_rest_goes_on() -> None:
    given_up = tried(1, Outcome.FAILED, Outcome.FAILED)
    later = AT + timedelta(days=1)
    assert starts(runs.plan(run(), [given_up, fresh(2)], later)) == [2]
    assert starts(runs.plan(run(), [given_up, working(2)], later)) == []
    over = runs.plan(run(), [given_up, done(2), fresh(3, ready=False)], later)
    assert over.verdict is RunStatus.FAILED
    assert "vc#1" in over.note and "vc#3" in over.note and "vc#2" not in over.note


def test_all_done_is_completed_and_what_was_cancelled_is_no_matter() -> None:
    assert runs.plan(run(), [done(1), done(2)], AT).verdict is RunStatus.COMPLETED
    assert runs.plan(run(), [done(1), fresh(2, status=Status.CANCELLED)], AT).verdict is RunStatus.COMPLETED
    assert runs.plan(run(), [], AT).verdict is RunStatus.COMPLETED


@pytest.mark.parametrize("status", [Status.IN_PROGRESS, Status.IN_REVIEW])
def test_what_someone_else_works_on_is_waited_for(status: Status) -> None:
    plan = runs.plan(run(), [fresh(1, status=status), fresh(2, ready=False)], AT)
    assert plan.verdict is None and plan.start == []


def test_a_blocked_rest_is_a_failure_that_names_it() -> None:
    over = runs.plan(run(), [fresh(number, status=Status.BLOCKED) for number in range(1, 40)], AT)
    assert over.verdict is RunStatus.FAILED
    assert "vc#20" in over.note and "vc#21" not in over.note  # a note is a line, not a list of everything


def test_tries_before_a_resume_do_not_count_and_are_not_waited_for() -> None:
    before = tried(1, Outcome.FAILED, Outcome.FAILED)
    assert runs.plan(run(), [before], AT).verdict is RunStatus.FAILED
    resumed = Standing(before.task, before.attempts, since=AT)
    assert resumed.failures == 0
    assert starts(runs.plan(run(), [resumed], AT)) == [1]
    after = msgspec.structs.replace(attempt(1, 3, Outcome.FAILED), started_at=AT)
    plan = runs.plan(run(), [Standing(before.task, [*before.attempts, after], since=AT)], AT)
    assert plan.start == [] and plan.look_again == AT + timedelta(seconds=2)  # the first wait, not the third


@pytest.mark.parametrize(
    ("status", "holder", "expected"),
    [
        (Status.IN_PROGRESS, "ses_1_1", False),
        (Status.BLOCKED, "ses_1_1", False),
        (Status.IN_REVIEW, None, False),
        (Status.FAILED, None, False),
        (Status.TODO, None, True),
        (Status.BLOCKED, None, True),
        (Status.IN_PROGRESS, "dana", True),
    ],
)
def test_a_task_is_its_trys_while_that_holds_it_or_it_is_decided(
    status: Status, holder: str | None, expected: bool
) -> None:
    assert runs.is_taken_away(task(1, status, holder=holder), attempt(1, 1, None)) is expected


@pytest.mark.parametrize(
    ("kind", "actor", "expected"),
    [
        (Kind.TASK_RELEASED, "ses_1_1", Outcome.FAILED),
        (Kind.TASK_RELEASED, "dana", Outcome.STOPPED),
        (Kind.TASK_CLAIM_EXPIRED, "maestro", Outcome.LOST),
        (None, "", Outcome.STOPPED),
    ],
)
def test_who_gives_a_task_back_has_tried_and_who_is_robbed_of_it_has_not(
    kind: Kind | None, actor: str, expected: Outcome
) -> None:
    last = Event(1, AT, None, kind, 1, actor, "tsk_1", {"holder": "ses_1_1"}) if kind else None
    outcome, why = runs.taken_away(attempt(1, 1, None), last)
    assert outcome is expected and why
