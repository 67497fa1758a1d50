"""One body for every tracker: what each call must mean, whoever is behind it."""

from __future__ import annotations

import pytest

from maestro.domain.tasks import Priority
from maestro.domain.trackers import IssueStanding, IssueState
from maestro.trackers.base import IssueTaken, NewIssue, Tracker, TrackerRefused

AWKWARD = '--claim "quoted" $HOME\n- a list\n-d x\n\nüñí ✓ `code`'


def new(title: str = "Crash", **said: object) -> NewIssue:
    given = {
        "description": "It crashes.",
        "priority": Priority.HIGH,
        "actor": "finder",
        "outside_ref": "maestro:tsk_1",
    }
    return NewIssue(title=title, **{**given, **said})  # type: ignore[arg-type]


async def test_an_issue_from_its_making_to_its_end(tracker: Tracker) -> None:
    assert await tracker.read_version()
    assert await tracker.list_issues() == []
    made = await tracker.create_issue(new())
    assert (made.title, made.standing, made.priority) == ("Crash", IssueStanding(IssueState.OPEN), Priority.HIGH)
    (listed,) = await tracker.list_issues()
    assert (listed.ref, listed.description, listed.is_work) == (made.ref, "It crashes.", True)
    won = await tracker.claim_issue(made.ref, actor="keeper")
    assert won.standing == IssueStanding(IssueState.STARTED, "keeper")
    await tracker.add_comment(made.ref, "Which version?", actor="keeper")
    await tracker.add_comment(made.ref, "1.3", actor="finder")
    closed = await tracker.close_issue(made.ref, reason="Fixed.", actor="keeper")
    assert closed.standing.state is IssueState.CLOSED
    (looked,) = await tracker.read_issues([made.ref])
    assert looked.issue.standing.state is IssueState.CLOSED
    said = [(one.author, one.text) for one in looked.comments]
    assert said[:2] == [("keeper", "Which version?"), ("finder", "1.3")]
    again = await tracker.reopen_issue(made.ref, actor="finder")
    assert again.standing.state is IssueState.OPEN


async def test_who_comes_second_does_not_have_it(tracker: Tracker) -> None:
    made = await tracker.create_issue(new())
    await tracker.claim_issue(made.ref, actor="one")
    with pytest.raises(IssueTaken) as taken:
        await tracker.claim_issue(made.ref, actor="two")
    assert taken.value.issue is not None and taken.value.issue.standing == IssueStanding(IssueState.STARTED, "one")
    # Who has it already has it: a claim that was made and not recorded is made again.
    assert (await tracker.claim_issue(made.ref, actor="one")).standing == IssueStanding(IssueState.STARTED, "one")
    assert (await tracker.release_issue(made.ref, actor="one")).standing == IssueStanding(IssueState.OPEN)
    assert (await tracker.claim_issue(made.ref, actor="two")).standing == IssueStanding(IssueState.STARTED, "two")


async def test_to_do_what_is_done_changes_nothing(tracker: Tracker) -> None:
    made = await tracker.create_issue(new())
    for _ in range(2):
        assert (await tracker.close_issue(made.ref, reason="Done.", actor="a")).standing.state is IssueState.CLOSED
    for _ in range(2):
        assert (await tracker.reopen_issue(made.ref, actor="a")).standing.state is IssueState.OPEN
    assert (await tracker.block_issue(made.ref, actor="a")).standing.state is IssueState.BLOCKED
    assert (await tracker.release_issue(made.ref, actor="a")).standing.state is IssueState.OPEN
    assert (await tracker.rename_issue(made.ref, "Another title", actor="a")).title == "Another title"


async def test_texts_come_through_as_they_are(tracker: Tracker) -> None:
    made = await tracker.create_issue(new("-f looks like a flag", description=AWKWARD))
    await tracker.add_comment(made.ref, AWKWARD, actor="a b")
    (looked,) = await tracker.read_issues([made.ref])
    assert (looked.issue.title, looked.issue.description) == ("-f looks like a flag", AWKWARD)
    assert [one.text for one in looked.comments] == [AWKWARD]


async def test_what_is_not_there_is_left_out_or_refused(tracker: Tracker) -> None:
    made = await tracker.create_issue(new())
    assert await tracker.read_issues(["vc#404"]) == []
    found = await tracker.read_issues([made.ref, "vc#404"])
    assert [one.issue.ref for one in found] == [made.ref]
    with pytest.raises(TrackerRefused):
        await tracker.close_issue("vc#404", reason="", actor="a")


async def test_a_comment_or_a_move_is_seen_in_the_list_or_in_a_look(tracker: Tracker) -> None:
    made = await tracker.create_issue(new())
    (before,) = await tracker.list_issues()
    await tracker.claim_issue(made.ref, actor="keeper")
    (moved,) = await tracker.list_issues()
    assert moved.stamp != before.stamp
    await tracker.add_comment(made.ref, "Hello", actor="keeper")
    (looked,) = await tracker.read_issues([made.ref])
    assert [one.text for one in looked.comments] == ["Hello"]
    if tracker.stamps_cover_comments:
        (said,) = await tracker.list_issues()
        assert said.stamp != moved.stamp


async def test_what_is_closed_is_listed_when_asked_for(tracker: Tracker) -> None:
    made = await tracker.create_issue(new())
    await tracker.close_issue(made.ref, reason="Done.", actor="a")
    found = [one for one in await tracker.list_issues(with_closed=True) if one.ref == made.ref]
    assert [one.standing.state for one in found] == [IssueState.CLOSED]


async def test_many_comments_come_all(tracker: Tracker) -> None:
    made = await tracker.create_issue(new())
    texts = [f"Comment {number}" for number in range(8)]
    for text in texts:
        await tracker.add_comment(made.ref, text, actor="a")
    (looked,) = await tracker.read_issues([made.ref])
    assert [one.text for one in looked.comments] == texts
