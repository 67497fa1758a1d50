"""What each generation prints, read: the shapes and the traps, one by one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from maestro.domain.priorities import Priority
from maestro.domain.trackers import IssueStanding, IssueState
from maestro.trackers.base import TrackerUnreachable
from maestro.trackers.beads import shapes
from maestro.trackers.beads.shapes import BeadsOutput

ISSUE = {
    "id": "bd-a1b",
    "title": "Crash",
    "description": "It crashes.",
    "status": "in_progress",
    "priority": 1,
    "issue_type": "bug",
    "assignee": "alice",
    "external_ref": "maestro:tsk_1",
    "updated_at": "2026-01-01T00:00:00.123456789Z",
}


def printed(value: Any, *, code: int = 0, err: str = "") -> BeadsOutput:
    return BeadsOutput(code, json.dumps(value), err)


def enveloped(value: Any) -> Any:
    return {"schema_version": 1, "data": value}


@pytest.mark.parametrize(
    "value", [[ISSUE], ISSUE, enveloped([ISSUE]), enveloped(ISSUE), {**ISSUE, "schema_version": 1}]
)
def test_one_issue_however_it_is_wrapped(value: Any) -> None:
    found = shapes.decode_changed_issue(printed(value), "bd-a1b")
    assert found is not None
    assert (found.ref, found.standing, found.priority) == (
        "bd-a1b",
        IssueStanding(IssueState.STARTED, "alice"),
        Priority.HIGH,
    )
    assert (found.outside_ref, found.is_work) == ("maestro:tsk_1", True)


@pytest.mark.parametrize("value", [[], None, enveloped([]), enveloped(None)])
def test_an_empty_list_is_an_answer(value: Any) -> None:
    assert shapes.decode_issue_list(printed(value)) == []


def test_nothing_at_all_is_no_list() -> None:
    with pytest.raises(TrackerUnreachable):
        shapes.decode_issue_list(BeadsOutput(0, " \n"))


def test_a_lost_claim_prints_nothing() -> None:
    assert (
        shapes.decode_changed_issue(BeadsOutput(0, "", "Error claiming bd-a1b: already claimed by bob"), "bd-a1b")
        is None
    )


def test_another_issue_than_the_one_asked_for_is_no_answer() -> None:
    assert shapes.decode_changed_issue(printed([ISSUE]), "bd-zzz") is None


@pytest.mark.parametrize(
    ("status", "assignee", "stand"),
    [
        ("open", "", IssueStanding(IssueState.OPEN)),
        ("open", "alice", IssueStanding(IssueState.OPEN)),  # assigned is not begun
        ("pinned", "", IssueStanding(IssueState.OPEN)),
        ("hooked", "alice", IssueStanding(IssueState.STARTED, "alice")),
        ("blocked", "alice", IssueStanding(IssueState.BLOCKED)),
        ("deferred", None, IssueStanding(IssueState.BLOCKED)),
        ("closed", "alice", IssueStanding(IssueState.CLOSED)),
        ("tombstone", None, IssueStanding(IssueState.CLOSED)),
        ("in_review_by_legal", "alice", IssueStanding(IssueState.STARTED, "alice")),  # one of their own
        ("someday", None, IssueStanding(IssueState.OPEN)),
    ],
)
def test_where_an_issue_stands(status: str, assignee: str | None, stand: IssueStanding) -> None:
    (found,) = shapes.decode_issue_list(printed([{"id": "x", "status": status, "assignee": assignee}]))
    assert found.standing == stand


def test_comments_have_numbers_or_texts_for_ids() -> None:
    said = [{"id": 1, "text": "old", "author": "a"}, {"id": "c-2", "text": "new", "author": "b", "issue_id": "x"}]
    assert [(one.author, one.text) for one in shapes.decode_comments(printed(said))] == [("a", "old"), ("b", "new")]
    assert shapes.decode_comments(printed(None)) == []


def test_a_look_says_whose_comments_were_left_out() -> None:
    full = {**ISSUE, "comment_count": 1, "comments": [{"id": 1, "text": "t", "author": "a"}]}
    short = {**ISSUE, "id": "bd-b", "comment_count": 9}
    old = {**ISSUE, "id": "bd-c", "comments": None}
    found, left = shapes.decode_shown_issues(printed([full, short, old]))
    assert [len(one.comments) for one in found] == [1, 0, 0] and left == ["bd-b"]


@pytest.mark.parametrize(
    "said",
    [
        BeadsOutput(1, "", '{"error": "no such thing", "code": "x"}'),
        BeadsOutput(1, '{"error": "no such thing"}'),
        BeadsOutput(1, "", "DEPRECATED: legacy JSON\nno such thing"),
        BeadsOutput(1, "", 'Deprecation: set BD_JSON_ENVELOPE\n{"error": "no such thing"}'),
        BeadsOutput(1, '{"schema_version": 1, "data": {"error": "no such thing"}}'),
    ],
)
def test_a_complaint_is_found_wherever_it_stands(said: BeadsOutput) -> None:
    assert shapes.error_text(said) == "no such thing"
    assert shapes.decode_shown_issues(said) == ([], [])


def test_a_notice_alone_is_no_complaint() -> None:
    assert "printed no error" in shapes.error_text(BeadsOutput(3, "", "warning: something else"))


@pytest.mark.parametrize("out", ["bd: command not found", "[1, 2]", '[{"title": "no id"}]', '"text"', "[{"])
def test_what_makes_no_sense_is_said_so(out: str) -> None:
    with pytest.raises(TrackerUnreachable, match="does not understand"):
        shapes.decode_issue_list(BeadsOutput(0, out))


@pytest.mark.parametrize(
    "change", [{"status": "open"}, {"assignee": "bob"}, {"updated_at": "z"}, {"comment_count": 1}]
)
def test_the_stamp_changes_with_everything(change: dict[str, Any]) -> None:
    before, after = shapes.decode_issue_list(printed([ISSUE, {**ISSUE, **change}]))
    assert before.stamp != after.stamp


def test_helpers_of_beads_are_no_work() -> None:
    kinds = ("task", "bug", "epic", "spike", "of their own", None, "message", "gate", "molecule", "event")
    found = shapes.decode_issue_list(printed([{"id": "x", "issue_type": kind} for kind in kinds]))
    assert [one.is_work for one in found] == [True] * 6 + [False] * 4
