"""The inbound policy decides which projects may open an issue, and a project is opener, receiver or no party."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from maestro.domain.issues import IssueParty, accepts_inbound, is_awaited, is_closed, is_issue, party_of
from maestro.domain.projects import InboundPolicy, Project
from maestro.domain.tasks import FINAL_STATUSES, TaskStatus
from maestro.testing.factories import make_task

AT = datetime(2026, 1, 1, tzinfo=UTC)
ISSUE = make_task(project_id="prj_asked", from_project_id="prj_asking")
OWN_TASK = make_task(project_id="prj_asked")


def test_a_task_that_another_project_opened_is_an_issue() -> None:
    assert is_issue(ISSUE)
    assert not is_issue(OWN_TASK)


@pytest.mark.parametrize("status", TaskStatus)
def test_an_issue_is_closed_in_the_final_statuses(status: TaskStatus) -> None:
    assert is_closed(make_task(status=status)) == (status in FINAL_STATUSES)


@pytest.mark.parametrize("status", TaskStatus)
def test_another_project_waits_for_an_issue_until_the_issue_is_closed(status: TaskStatus) -> None:
    issue = make_task(project_id="prj_asked", from_project_id="prj_asking", status=status)
    assert is_awaited(issue) == (status not in FINAL_STATUSES)


def test_no_other_project_waits_for_a_task_of_the_project_itself() -> None:
    assert not is_awaited(OWN_TASK)
    assert not is_awaited(make_task(project_id="prj_asked", from_project_id="prj_asked"))


@pytest.mark.parametrize(
    ("policy", "known", "unknown"),
    [(InboundPolicy.OPEN, True, True), (InboundPolicy.KNOWN, True, False), (InboundPolicy.CLOSED, False, False)],
)
def test_the_inbound_policy_decides_about_known_and_unknown_projects(
    policy: InboundPolicy, known: bool, unknown: bool
) -> None:
    receiver = Project(id="prj_1", name="vc", key="k", stages=[], inbound=policy, created_at=AT)
    assert accepts_inbound(receiver, is_known=True) is known
    assert accepts_inbound(receiver, is_known=False) is unknown


@pytest.mark.parametrize(
    ("project_id", "party"),
    [
        ("prj_asked", IssueParty.RECEIVER),
        ("prj_asking", IssueParty.OPENER),
        ("prj_third", None),
        (None, None),
    ],
)
def test_a_project_is_receiver_opener_or_no_party(project_id: str | None, party: IssueParty | None) -> None:
    assert party_of(ISSUE, project_id) is party


def test_a_caller_without_a_project_is_no_party_of_a_task_without_an_opener() -> None:
    assert party_of(OWN_TASK, None) is None


def test_a_project_that_opened_an_issue_for_itself_is_the_receiver() -> None:
    assert party_of(make_task(project_id="prj_1", from_project_id="prj_1"), "prj_1") is IssueParty.RECEIVER
