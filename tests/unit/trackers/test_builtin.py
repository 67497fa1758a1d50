"""The built-in tracker lists all pages, creates an issue once for each reference, and refuses invalid calls."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.domain.priorities import Priority
from maestro.domain.trackers import IssueState
from maestro.operations.base import Operation
from maestro.server.app import Server
from maestro.trackers.base import IssueTaken, NewIssue, TrackerRefused
from maestro.trackers.builtin import BuiltinTracker


@pytest.fixture
def tracker(server: Server, vc: str) -> BuiltinTracker:
    """Return the tracker of the project vc."""

    async def call(operation: Operation, request: msgspec.Struct, caller: Caller, key: str) -> Any:
        return await server.call(operation, request, caller=caller, key=key)

    return BuiltinTracker(call, "vc")


def new_issue(title: str = "Crash", reference: str = "maestro:tsk_1") -> NewIssue:
    return NewIssue(
        title=title, description="It crashes.", priority=Priority.HIGH, actor="finder", outside_ref=reference
    )


async def test_all_pages_of_issues_are_listed(tracker: BuiltinTracker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "page_items_max", 2)
    for number in range(5):
        await tracker.create_issue(new_issue(f"Crash {number}", f"maestro:tsk_{number}"))
    assert sorted(issue.title for issue in await tracker.list_issues()) == [f"Crash {number}" for number in range(5)]


async def test_a_second_creation_with_the_same_reference_returns_the_first_issue(tracker: BuiltinTracker) -> None:
    first, second = [await tracker.create_issue(new_issue()) for _ in range(2)]
    assert first == second and first.outside_ref == "maestro:tsk_1"
    assert len(await tracker.list_issues()) == 1


async def test_a_closed_issue_is_not_in_the_list_of_open_issues(tracker: BuiltinTracker) -> None:
    created = await tracker.create_issue(new_issue())
    await tracker.close_issue(created.ref, reason="Done.", actor="keeper")
    assert await tracker.list_issues() == []
    (listed,) = await tracker.list_issues(with_closed=True)
    assert listed.standing.state is IssueState.CLOSED


async def test_a_closed_issue_cannot_be_claimed(tracker: BuiltinTracker) -> None:
    created = await tracker.create_issue(new_issue())
    await tracker.close_issue(created.ref, reason="Done.", actor="keeper")
    with pytest.raises(IssueTaken) as taken:
        await tracker.claim_issue(created.ref, actor="keeper")
    assert taken.value.issue is not None and taken.value.issue.standing.state is IssueState.CLOSED


async def test_a_blocked_issue_of_a_holder_is_released_in_two_steps(tracker: BuiltinTracker) -> None:
    created = await tracker.create_issue(new_issue())
    await tracker.claim_issue(created.ref, actor="keeper")
    blocked = await tracker.block_issue(created.ref, actor="keeper")
    assert (blocked.standing.state, blocked.standing.assignee) == (IssueState.BLOCKED, None)
    assert (await tracker.release_issue(created.ref, actor="keeper")).standing.state is IssueState.OPEN


async def test_another_issue_with_a_used_reference_is_refused(tracker: BuiltinTracker) -> None:
    await tracker.create_issue(new_issue("Crash"))
    with pytest.raises(TrackerRefused):
        await tracker.create_issue(new_issue("Another crash"))


async def test_the_first_message_of_an_issue_is_its_description_and_no_comment(tracker: BuiltinTracker) -> None:
    created = await tracker.create_issue(new_issue())
    (shown,) = await tracker.read_issues([created.ref])
    assert shown.comments == [] and shown.issue.description == "It crashes."
    assert shown.issue.created_by == "finder"
