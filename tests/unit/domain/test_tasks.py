"""Each move changes a task as the transition table allows, and sets holder, lease, fence and reason."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from maestro.core import errors
from maestro.domain import tasks
from maestro.domain.tasks import MOVES, TRANSITIONS, Task, TaskStatus
from maestro.testing.factories import make_task

AT = datetime(2026, 3, 1, tzinfo=UTC)
ARGUMENTS: dict[str, dict[str, object]] = {
    "start": {"holder": "ses_x", "lease_seconds": 60},
    "reject": {"reason": "no"},
    "block": {"reason": "no"},
    "fail": {"reason": "no"},
    "cancel": {"reason": "no"},
}


def move(name: str, task: Task) -> tasks.TaskMove:
    return MOVES[name](task, at=AT, **ARGUMENTS.get(name, {}))


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("status", TaskStatus)
def test_a_move_is_allowed_exactly_from_the_statuses_in_the_transition_table(name: str, status: TaskStatus) -> None:
    task = make_task(status=status)
    if status in TRANSITIONS[name]:
        made = move(name, task)
        assert made.after.status in TRANSITIONS[name][status]
        assert made.after.updated_at == AT
        (change,) = made.events
        assert change.data["from"] == status.value and change.data["status"] == made.after.status.value
    else:
        with pytest.raises(errors.IllegalMove) as caught:
            move(name, task)
        allowed = caught.value.data["allowed"]
        assert name not in allowed
        assert all(status in TRANSITIONS[other] for other in allowed)


def test_a_claim_has_a_new_fence_a_holder_and_a_lease() -> None:
    started = tasks.start(make_task(fence=6), holder="ses_x", lease_seconds=60, at=AT).after
    assert (started.holder, started.fence, started.lease_until) == ("ses_x", 7, AT + timedelta(seconds=60))


def test_a_persons_claim_does_not_expire() -> None:
    started = tasks.start(make_task(), holder="dana", lease_seconds=None, at=AT).after
    assert started.lease_until is None and not tasks.is_lease_over(started, AT + timedelta(days=999))


def test_the_fence_of_a_task_stays_after_the_end_of_a_claim() -> None:
    started = tasks.start(make_task(fence=3), holder="ses_x", lease_seconds=60, at=AT).after
    for name in ("release", "expire", "fail", "cancel"):
        after = move(name, started).after
        assert after.holder is None and after.lease_until is None and after.fence == 4


def test_a_finished_task_with_gates_is_in_review_until_it_is_accepted() -> None:
    working = make_task(status=TaskStatus.IN_PROGRESS, gates=["make test"], holder="ses_x")
    review = tasks.complete(working, at=AT).after
    assert review.status is TaskStatus.IN_REVIEW and review.holder == "ses_x"
    assert tasks.complete(review, accepted=True, at=AT).after.status is TaskStatus.COMPLETED
    assert tasks.reject(review, reason="red", at=AT).after.status is TaskStatus.IN_PROGRESS


def test_a_blocked_task_keeps_its_holder_and_is_in_progress_again_when_unblocked() -> None:
    working = make_task(status=TaskStatus.IN_PROGRESS, holder="ses_x", fence=2)
    blocked = tasks.block(working, reason="key", at=AT).after
    assert blocked.holder == "ses_x" and blocked.reason == "key"
    assert tasks.unblock(blocked, at=AT).after.status is TaskStatus.IN_PROGRESS
    assert tasks.unblock(msgspec.structs.replace(blocked, holder=None), at=AT).after.status is TaskStatus.TODO


@pytest.mark.parametrize(
    ("status", "blockers", "held", "ready"),
    [
        (TaskStatus.TODO, 0, False, True),
        (TaskStatus.TODO, 1, False, False),
        (TaskStatus.TODO, 0, True, False),
        (TaskStatus.IN_PROGRESS, 0, False, False),
        (TaskStatus.COMPLETED, 0, False, False),
    ],
)
def test_a_todo_task_without_open_blockers_and_without_a_held_stage_is_ready(
    status: TaskStatus, blockers: int, held: bool, ready: bool
) -> None:
    assert tasks.is_ready(make_task(status=status, open_blockers=blockers, stage_held=held)) is ready
