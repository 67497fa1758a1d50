"""The role of a caller, and the rights of a member, decide which operations the caller may call."""

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
def test_the_rights_of_a_member_extend_and_restrict_the_rights_of_the_role(
    operation: str, callers: Callers, may: bool
) -> None:
    assert may_call(WORKER, operation, callers) is may


def test_a_caller_without_a_member_has_the_rights_of_its_role() -> None:
    assert may_call(person_caller("dana"), "server.stop", Callers.PERSON)
    assert not may_call(unidentified_caller(), "task.list", Callers.KNOWN)
    assert may_call(unidentified_caller(), "", Callers.ANYONE)
