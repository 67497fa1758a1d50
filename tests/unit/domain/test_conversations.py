"""The rules decide when mail is pushed again, and each attempt of a push has its own name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from maestro.core import limits
from maestro.domain.conversations import (
    PendingPush,
    PushDecision,
    decide_push,
    is_attempt_of_push,
    push_attempt_name,
    push_retry_at,
)

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
MOMENT = timedelta(microseconds=1)


def pending_push(*, attempts: int = 1, given_up: bool = False, push_id: str = "psh_1") -> PendingPush:
    return PendingPush(
        session_id="ses_1", id=push_id, receipt="rcp_1", attempts=attempts, pushed_at=AT, given_up=given_up
    )


def test_the_first_push_of_mail_is_not_delayed() -> None:
    assert decide_push(None, AT) is PushDecision.PUSH


def test_an_unconfirmed_push_is_repeated_only_after_its_time_to_confirm() -> None:
    retry_at = push_retry_at(pending_push())
    assert retry_at == AT + timedelta(seconds=limits.push_confirm_seconds)
    assert decide_push(pending_push(), retry_at - MOMENT) is PushDecision.WAIT
    assert decide_push(pending_push(), retry_at) is PushDecision.PUSH


@pytest.mark.parametrize("attempts", range(1, limits.push_attempts_max + 2))
def test_a_push_is_given_up_after_the_last_attempt(attempts: int) -> None:
    decision = decide_push(pending_push(attempts=attempts), push_retry_at(pending_push()))
    assert decision is (PushDecision.PUSH if attempts < limits.push_attempts_max else PushDecision.GIVE_UP)


def test_the_last_attempt_of_a_push_still_has_its_time_to_confirm() -> None:
    last = pending_push(attempts=limits.push_attempts_max)
    assert decide_push(last, push_retry_at(last) - MOMENT) is PushDecision.WAIT


def test_a_push_that_was_given_up_is_never_repeated() -> None:
    given_up = pending_push(given_up=True)
    assert decide_push(given_up, push_retry_at(given_up) + timedelta(days=1)) is PushDecision.WAIT


def test_each_attempt_of_a_push_has_its_own_name_and_the_first_is_the_push_id() -> None:
    names = [push_attempt_name(pending_push(attempts=attempts)) for attempts in (1, 2, 3)]
    assert names[0] == "psh_1"
    assert len(set(names)) == 3


def test_the_names_of_all_attempts_belong_to_the_push() -> None:
    names = [push_attempt_name(pending_push(attempts=attempts)) for attempts in (1, 2, 3)]
    assert all(is_attempt_of_push(pending_push(attempts=2), name) for name in names)


def test_the_name_of_another_push_does_not_belong_to_the_push() -> None:
    other = pending_push(push_id="psh_10", attempts=2)
    assert not is_attempt_of_push(pending_push(), push_attempt_name(other))
    assert not is_attempt_of_push(other, push_attempt_name(pending_push()))
