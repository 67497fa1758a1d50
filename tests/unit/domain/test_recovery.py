"""The recovery rules decide which ends are accidents, which sessions are started again, how often and when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from maestro.core import limits
from maestro.domain import recovery
from maestro.domain.members import Permission
from maestro.domain.recovery import SessionRecovery
from maestro.domain.sessions import SessionMode, SessionStatus, StatusSource
from maestro.domain.spawns import Spawn
from maestro.testing.factories import make_session

AT = datetime(2026, 3, 1, tzinfo=UTC)
LEAD = make_session(mode=SessionMode.COORDINATE, pid=7)
WORKER = make_session(pid=7)


def spawn(**fields: Any) -> Spawn:
    values: dict[str, Any] = {
        "session_id": "ses_1", "tool": "command", "arguments": ["true"], "model": None, "permission": Permission.EDIT,
        "strategy": "simple", "template": "execute-simple", "directory": "/", "run_id": None, "runner_pid": None,
        "runner_started": None, "exit_code": None, "exit_signal": None, "tail": None, "created_at": AT,
        "ended_at": None,
    }  # fmt: skip
    return Spawn(**(values | fields))


@pytest.mark.parametrize(
    ("final", "source", "was", "expected"),
    [
        (SessionStatus.LOST, StatusSource.PROCESS, SessionStatus.WORKING, True),
        (SessionStatus.LOST, StatusSource.HEARTBEAT, SessionStatus.IDLE, True),
        (SessionStatus.FAILED, StatusSource.PROCESS, SessionStatus.WORKING, True),
        (
            SessionStatus.FAILED,
            StatusSource.PROCESS,
            SessionStatus.COMPLETED,
            False,
        ),  # the session had reported its completion
        (
            SessionStatus.FAILED,
            StatusSource.PROCESS,
            SessionStatus.FAILED,
            False,
        ),  # the session had reported its failure
        (SessionStatus.FAILED, StatusSource.REPORT, SessionStatus.WORKING, False),  # a report ended the session
        (SessionStatus.LOST, StatusSource.REPORT, SessionStatus.WORKING, False),
        (SessionStatus.STOPPED, StatusSource.PROCESS, SessionStatus.WORKING, False),
        (SessionStatus.COMPLETED, StatusSource.PROCESS, SessionStatus.WORKING, False),
    ],
)
def test_an_end_is_an_accident_only_if_no_report_explains_it(
    final: SessionStatus, source: StatusSource, was: SessionStatus, expected: bool
) -> None:
    assert recovery.is_accident(make_session(status=was), final, source) is expected


@pytest.mark.parametrize(
    ("session", "how", "final", "tries", "expected"),
    [
        (LEAD, spawn(), SessionStatus.LOST, 0, True),
        (LEAD, spawn(), SessionStatus.FAILED, 0, True),
        (WORKER, spawn(), SessionStatus.LOST, 0, True),
        (WORKER, spawn(), SessionStatus.FAILED, 0, False),  # the failure of a worker is a result
        (WORKER, spawn(run_id="run_1"), SessionStatus.LOST, 0, False),  # the run starts a new attempt
        (LEAD, None, SessionStatus.LOST, 0, False),  # the spawn is unknown
        (make_session(mode=SessionMode.COORDINATE), spawn(), SessionStatus.FAILED, 0, False),  # the program never ran
        (make_session(mode=SessionMode.COORDINATE), spawn(), SessionStatus.FAILED, 1, True),  # the program ran before
    ],
)
def test_mode_spawn_and_final_status_decide_whether_a_session_is_started_again(
    session: Any, how: Spawn | None, final: SessionStatus, tries: int, expected: bool
) -> None:
    assert recovery.may_resume(session, how, final, attempts=tries) is expected


def test_a_session_is_started_again_after_growing_delays_a_limited_number_of_times() -> None:
    known: SessionRecovery | None = None
    waits = []
    while (due := recovery.next_resume_at(known, AT)) is not None:
        waits.append((due - AT).total_seconds())
        known = SessionRecovery(session_id="ses_1", attempts=recovery.recent_attempts(known, AT) + 1, resumed_at=AT)
    assert waits == list(limits.resume_delays_seconds) and waits == sorted(waits)
    later = AT + timedelta(seconds=limits.resume_attempts_forgotten_seconds + 1)
    assert recovery.next_resume_at(known, later) == later, (
        "The attempts of a session that ran for a long time are not forgotten."
    )
