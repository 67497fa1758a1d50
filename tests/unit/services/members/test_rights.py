"""The allow and deny lists of a member contain names of operations; only the person may widen the rights."""

from __future__ import annotations

import pytest

from maestro.core.errors import Invalid, NotPermitted
from maestro.domain.callers import Caller, Role, person_caller
from maestro.services.members.rights import operation_names, resolve_rights

DANA = person_caller("dana")
COORDINATOR = Caller(Role.COORDINATOR, "ses_1", session_id="ses_1", project_id="prj_1")


def test_an_operation_may_be_written_as_its_name_or_as_a_command() -> None:
    assert operation_names(["task.create", "task create", " Task  Claim", "whoami"]) == [
        "task.create",
        "task.start",
        "caller.whoami",
    ]


def test_an_unknown_operation_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(Invalid, match=r"did you mean `task\.create`") as refused:
        operation_names(["task.creat"])
    assert "task.create" in refused.value.data["nearest"]
    with pytest.raises(Invalid, match=r"There is no operation 'xyzzy'\.") as refused:
        operation_names(["xyzzy"])
    assert refused.value.data["nearest"] == []


def test_an_allow_or_deny_list_that_is_not_given_keeps_its_value() -> None:
    before = (["task.cancel"], ["task.create"])
    assert resolve_rights(DANA, allow=None, deny=None, before=before) == before
    assert resolve_rights(DANA, allow=[], deny=None, before=before) == ([], ["task.create"])
    assert resolve_rights(DANA, allow=None, deny=[], before=before) == (["task.cancel"], [])


def test_an_operation_cannot_be_allowed_and_denied_in_one_or_two_edits() -> None:
    with pytest.raises(Invalid, match="both"):
        resolve_rights(DANA, allow=["task.cancel"], deny=["task cancel"])
    with pytest.raises(Invalid, match="both"):
        resolve_rights(DANA, allow=None, deny=["task.cancel"], before=(["task.cancel"], []))


def test_a_coordinator_may_narrow_rights_and_may_not_widen_rights() -> None:
    before = (["task.cancel"], ["task.create"])
    assert resolve_rights(COORDINATOR, allow=None, deny=["task.create", "task.edit"], before=before)[1] == [
        "task.create",
        "task.edit",
    ]
    assert resolve_rights(COORDINATOR, allow=["task.cancel"], deny=None, before=before) == before
    with pytest.raises(NotPermitted, match="allow list"):
        resolve_rights(COORDINATOR, allow=["task.cancel", "server.stop"], deny=None, before=before)
    with pytest.raises(NotPermitted, match="allow list"):
        resolve_rights(COORDINATOR, allow=["server.stop"], deny=[])
    with pytest.raises(NotPermitted, match=r"from the deny list.*task\.create"):
        resolve_rights(COORDINATOR, allow=None, deny=["task.edit"], before=before)
    with pytest.raises(NotPermitted, match="from the deny list"):
        resolve_rights(COORDINATOR, allow=None, deny=[], before=before)
