"""Tests of the interface of trackers: the same tests for every tracker."""

from __future__ import annotations

import pytest

from maestro.domain.priorities import Priority
from maestro.domain.trackers import IssueStanding, IssueState
from maestro.trackers.base import IssueTaken, NewIssue, Tracker, TrackerRefused

AWKWARD = '--claim "quoted" $HOME\n- a list\n-d x\n\nüñí ✓ `code`'


def new_issue(title: str = "Crash", **fields: object) -> NewIssue:
    values = {
        "description": "It crashes.",
        "priority": Priority.HIGH,
        "actor": "finder",
        "outside_ref": "maestro:tsk_1",
    }
    return NewIssue(title=title, **{**values, **fields})  # type: ignore[arg-type]


async def test_an_issue_is_created_claimed_closed_and_reopened(tracker: Tracker) -> None:
    assert await tracker.read_version()
    assert await tracker.list_issues() == []
    created = await tracker.create_issue(new_issue())
    assert (created.title, created.standing, created.priority) == (
        "Crash",
        IssueStanding(IssueState.OPEN),
        Priority.HIGH,
    )
    (listed,) = await tracker.list_issues()
    assert (listed.ref, listed.description, listed.is_work) == (created.ref, "It crashes.", True)
    won = await tracker.claim_issue(created.ref, actor="keeper")
    assert won.standing == IssueStanding(IssueState.STARTED, "keeper")
    await tracker.add_comment(created.ref, "Which version?", actor="keeper")
    await tracker.add_comment(created.ref, "1.3", actor="finder")
    closed = await tracker.close_issue(created.ref, reason="Fixed.", actor="keeper")
    assert closed.standing.state is IssueState.CLOSED
    (shown,) = await tracker.read_issues([created.ref])
    assert shown.issue.standing.state is IssueState.CLOSED
    comments = [(item.author, item.text) for item in shown.comments]
    assert comments[:2] == [("keeper", "Which version?"), ("finder", "1.3")]
    again = await tracker.reopen_issue(created.ref, actor="finder")
    assert again.standing.state is IssueState.OPEN


async def test_only_the_first_claim_of_an_issue_succeeds(tracker: Tracker) -> None:
    created = await tracker.create_issue(new_issue())
    await tracker.claim_issue(created.ref, actor="one")
    with pytest.raises(IssueTaken) as taken:
        await tracker.claim_issue(created.ref, actor="two")
    assert taken.value.issue is not None and taken.value.issue.standing == IssueStanding(IssueState.STARTED, "one")
    # The same actor claims again when the first claim was made but not recorded.
    assert (await tracker.claim_issue(created.ref, actor="one")).standing == IssueStanding(IssueState.STARTED, "one")
    assert (await tracker.release_issue(created.ref, actor="one")).standing == IssueStanding(IssueState.OPEN)
    assert (await tracker.claim_issue(created.ref, actor="two")).standing == IssueStanding(IssueState.STARTED, "two")


async def test_a_repeated_close_or_reopen_is_no_error_and_other_changes_follow(tracker: Tracker) -> None:
    created = await tracker.create_issue(new_issue())
    for _ in range(2):
        assert (await tracker.close_issue(created.ref, reason="Done.", actor="a")).standing.state is IssueState.CLOSED
    for _ in range(2):
        assert (await tracker.reopen_issue(created.ref, actor="a")).standing.state is IssueState.OPEN
    assert (await tracker.block_issue(created.ref, actor="a")).standing.state is IssueState.BLOCKED
    assert (await tracker.release_issue(created.ref, actor="a")).standing.state is IssueState.OPEN
    assert (await tracker.rename_issue(created.ref, "Another title", actor="a")).title == "Another title"


async def test_texts_with_special_characters_are_kept_unchanged(tracker: Tracker) -> None:
    created = await tracker.create_issue(new_issue("-f looks like a flag", description=AWKWARD))
    await tracker.add_comment(created.ref, AWKWARD, actor="a b")
    (shown,) = await tracker.read_issues([created.ref])
    assert (shown.issue.title, shown.issue.description) == ("-f looks like a flag", AWKWARD)
    assert [item.text for item in shown.comments] == [AWKWARD]


async def test_a_missing_issue_is_absent_from_reads_and_refused_for_changes(tracker: Tracker) -> None:
    created = await tracker.create_issue(new_issue())
    assert await tracker.read_issues(["vc#404"]) == []
    found = await tracker.read_issues([created.ref, "vc#404"])
    assert [item.issue.ref for item in found] == [created.ref]
    with pytest.raises(TrackerRefused):
        await tracker.close_issue("vc#404", reason="", actor="a")


async def test_the_stamp_changes_with_a_move_and_a_read_shows_new_comments(tracker: Tracker) -> None:
    created = await tracker.create_issue(new_issue())
    (before,) = await tracker.list_issues()
    await tracker.claim_issue(created.ref, actor="keeper")
    (moved,) = await tracker.list_issues()
    assert moved.stamp != before.stamp
    await tracker.add_comment(created.ref, "Hello", actor="keeper")
    (shown,) = await tracker.read_issues([created.ref])
    assert [item.text for item in shown.comments] == ["Hello"]
    if tracker.stamps_cover_comments:
        (commented,) = await tracker.list_issues()
        assert commented.stamp != moved.stamp


async def test_closed_issues_are_listed_on_request(tracker: Tracker) -> None:
    created = await tracker.create_issue(new_issue())
    await tracker.close_issue(created.ref, reason="Done.", actor="a")
    found = [item for item in await tracker.list_issues(with_closed=True) if item.ref == created.ref]
    assert [item.standing.state for item in found] == [IssueState.CLOSED]


async def test_a_read_shows_all_comments_of_an_issue_with_many_comments(tracker: Tracker) -> None:
    created = await tracker.create_issue(new_issue())
    texts = [f"Comment {number}" for number in range(8)]
    for text in texts:
        await tracker.add_comment(created.ref, text, actor="a")
    (shown,) = await tracker.read_issues([created.ref])
    assert [item.text for item in shown.comments] == texts
