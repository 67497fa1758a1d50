"""The output of each generation of `bd` is decoded into issues, comments and error texts."""

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
def test_an_issue_is_decoded_from_an_object_a_list_or_an_envelope(value: Any) -> None:
    found = shapes.decode_changed_issue(printed(value), "bd-a1b")
    assert found is not None
    assert (found.ref, found.standing, found.priority) == (
        "bd-a1b",
        IssueStanding(IssueState.STARTED, "alice"),
        Priority.HIGH,
    )
    assert (found.outside_ref, found.is_work) == ("maestro:tsk_1", True)


@pytest.mark.parametrize("value", [[], None, enveloped([]), enveloped(None)])
def test_an_empty_list_is_decoded_as_no_issues(value: Any) -> None:
    assert shapes.decode_issue_list(printed(value)) == []


def test_empty_output_in_the_place_of_a_list_is_an_error() -> None:
    with pytest.raises(TrackerUnreachable):
        shapes.decode_issue_list(BeadsOutput(0, " \n"))


def test_a_refused_claim_without_output_is_decoded_as_no_issue() -> None:
    assert (
        shapes.decode_changed_issue(BeadsOutput(0, "", "Error claiming bd-a1b: already claimed by bob"), "bd-a1b")
        is None
    )


def test_output_about_another_issue_is_decoded_as_no_issue() -> None:
    assert shapes.decode_changed_issue(printed([ISSUE]), "bd-zzz") is None


@pytest.mark.parametrize(
    ("status", "assignee", "stand"),
    [
        ("open", "", IssueStanding(IssueState.OPEN)),
        ("open", "alice", IssueStanding(IssueState.OPEN)),  # an assignee alone does not start the work
        ("pinned", "", IssueStanding(IssueState.OPEN)),
        ("hooked", "alice", IssueStanding(IssueState.STARTED, "alice")),
        ("blocked", "alice", IssueStanding(IssueState.BLOCKED)),
        ("deferred", None, IssueStanding(IssueState.BLOCKED)),
        ("closed", "alice", IssueStanding(IssueState.CLOSED)),
        ("tombstone", None, IssueStanding(IssueState.CLOSED)),
        ("in_review_by_legal", "alice", IssueStanding(IssueState.STARTED, "alice")),  # a custom status
        ("someday", None, IssueStanding(IssueState.OPEN)),
    ],
)
def test_status_and_assignee_of_an_issue_decide_its_standing(
    status: str, assignee: str | None, stand: IssueStanding
) -> None:
    (found,) = shapes.decode_issue_list(printed([{"id": "x", "status": status, "assignee": assignee}]))
    assert found.standing == stand


def test_comments_are_decoded_with_ids_that_are_numbers_or_texts() -> None:
    said = [{"id": 1, "text": "old", "author": "a"}, {"id": "c-2", "text": "new", "author": "b", "issue_id": "x"}]
    assert [(one.author, one.text) for one in shapes.decode_comments(printed(said))] == [("a", "old"), ("b", "new")]
    assert shapes.decode_comments(printed(None)) == []


def test_decoding_shown_issues_returns_the_ids_of_issues_without_their_comments() -> None:
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
def test_the_error_text_is_found_in_each_form_of_error_output(said: BeadsOutput) -> None:
    assert shapes.error_text(said) == "no such thing"
    assert shapes.decode_shown_issues(said) == ([], [])


def test_a_warning_alone_is_not_an_error_text() -> None:
    assert "printed no error" in shapes.error_text(BeadsOutput(3, "", "warning: something else"))


@pytest.mark.parametrize("out", ["bd: command not found", "[1, 2]", '[{"title": "no id"}]', '"text"', "[{"])
def test_output_of_an_unknown_form_is_reported_as_not_understood(out: str) -> None:
    with pytest.raises(TrackerUnreachable, match="does not understand"):
        shapes.decode_issue_list(BeadsOutput(0, out))


@pytest.mark.parametrize(
    "change", [{"status": "open"}, {"assignee": "bob"}, {"updated_at": "z"}, {"comment_count": 1}]
)
def test_the_stamp_changes_with_status_assignee_update_time_and_comment_count(change: dict[str, Any]) -> None:
    before, after = shapes.decode_issue_list(printed([ISSUE, {**ISSUE, **change}]))
    assert before.stamp != after.stamp


def test_issues_of_beads_internal_types_are_not_work() -> None:
    kinds = ("task", "bug", "epic", "spike", "of their own", None, "message", "gate", "molecule", "event")
    found = shapes.decode_issue_list(printed([{"id": "x", "issue_type": kind} for kind in kinds]))
    assert [one.is_work for one in found] == [True] * 6 + [False] * 4
