"""Who may call what."""

from __future__ import annotations

import pytest

from maestro.domain.callers import Caller, Callers, Role, may_call, person_caller, unidentified_caller

WORKER = Caller(
    Role.WORKER, "ses_1", session_id="ses_1", allow=frozenset({"task.cancel"}), deny=frozenset({"task.create"})
)


@pytest.mark.parametrize(
    ("operation", "callers", "may"),
    [
        ("task.list", Callers.KNOWN, True),
        ("task.delete", Callers.OWNERS, False),
        ("task.cancel", Callers.OWNERS, True),
        ("task.create", Callers.KNOWN, False),
    ],
)
def test_a_member_widens_and_narrows_what_a_role_may(operation: str, callers: Callers, may: bool) -> None:
    assert may_call(WORKER, operation, callers) is may


def test_others_have_their_role_alone() -> None:
    assert may_call(person_caller("dana"), "server.stop", Callers.PERSON)
    assert not may_call(unidentified_caller(), "task.list", Callers.KNOWN)
    assert may_call(unidentified_caller(), "", Callers.ANYONE)
