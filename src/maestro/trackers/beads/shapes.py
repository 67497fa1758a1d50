"""Read the output of `bd` into plain values. Pure. The differences between the generations of `bd` are handled here.

Lists and single objects come bare or in an envelope (with `BD_JSON_ENVELOPE`, and always from 2.0 on). `show`,
`update` and `close` print a list of one issue. A comment's id is a number or a text. Errors are JSON on either
stream, or plain text.
"""

from __future__ import annotations

from typing import Any

import msgspec

from maestro.domain.trackers import IssueStanding, IssueState
from maestro.trackers.base import IssueWithComments, TrackerComment, TrackerIssue, TrackerUnreachable
from maestro.trackers.beads.priorities import priority_of_number

_STATES = {
    "open": IssueState.OPEN,
    "pinned": IssueState.OPEN,
    "in_progress": IssueState.STARTED,
    "hooked": IssueState.STARTED,
    "blocked": IssueState.BLOCKED,
    "deferred": IssueState.BLOCKED,
    "closed": IssueState.CLOSED,
    "tombstone": IssueState.CLOSED,
}
# Types of issues that Beads and programs based on Beads keep for their own use.
_INTERNAL_TYPES = frozenset({"message", "molecule", "gate", "event", "wisp", "agent", "role", "slot", "rig"})
_COMPLAINT_CHARS_MAX = 500


class BeadsOutput(msgspec.Struct, frozen=True):
    """The result of one call: exit code and output."""

    code: int
    out: str
    err: str = ""


class _Comment(msgspec.Struct):
    text: str = ""
    author: str = ""
    id: int | str = ""


class _Issue(msgspec.Struct):
    """The fields of an issue that Maestro uses. All but the id may be missing; types and states are plain text."""

    id: str
    title: str = ""
    description: str | None = ""
    status: str = "open"
    priority: int = 2
    issue_type: str | None = "task"
    assignee: str | None = None
    created_by: str | None = ""
    external_ref: str | None = ""
    close_reason: str | None = ""
    updated_at: str = ""
    comment_count: int | None = None
    comments: list[_Comment] | None = None


def decode_issue_list(printed: BeadsOutput) -> list[TrackerIssue]:
    """Return the issues of `list`. Without issues `bd` prints an empty list or null; no output is no answer."""
    if not printed.out.strip():
        raise TrackerUnreachable("bd list printed no output, not even an empty list.")
    return [_tracker_issue(issue) for issue in _decode_issues(printed)]


def decode_shown_issues(printed: BeadsOutput) -> tuple[list[IssueWithComments], list[str]]:
    """Return the issues of `show`, and the ids of issues whose comments `bd` left out because of their number."""
    found = _decode_issues(printed)
    incomplete = [issue.id for issue in found if len(issue.comments or []) < (issue.comment_count or 0)]
    complete = [
        IssueWithComments(issue=_tracker_issue(issue), comments=_comments(issue.comments or [])) for issue in found
    ]
    return complete, incomplete


def decode_comments(printed: BeadsOutput) -> list[TrackerComment]:
    """Return the comments of `comments`, which prints null for an issue without comments."""
    data = _decode_output(printed)
    try:
        return _comments(msgspec.convert(data if data is not None else [], list[_Comment]))
    except msgspec.ValidationError as error:
        raise _unreadable_output(printed, error) from error


def decode_changed_issue(printed: BeadsOutput, ref: str = "") -> TrackerIssue | None:
    """Return the issue that a changing command printed, or None if the command printed no issue."""
    if not printed.out.strip():
        return None
    found = [issue for issue in _decode_issues(printed) if not ref or issue.id == ref]
    return _tracker_issue(found[0]) if found else None


def error_text(printed: BeadsOutput) -> str:
    """Return the error that a call printed: JSON on either stream, or plain text without notices and warnings."""
    for text in (printed.err, printed.out):
        for line in (text, *text.splitlines()):
            error = _error_in(line)
            if error:
                return error
    lines = [line for line in printed.err.splitlines() if line.strip() and not _is_notice(line)]
    return " ".join(lines)[:_COMPLAINT_CHARS_MAX] or f"bd ended with code {printed.code} and printed no error"


def _error_in(text: str) -> str:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return ""
    if isinstance(value, dict) and isinstance(value.get("data"), dict):
        value = value["data"] if "error" in value["data"] else value
    error = value.get("error") if isinstance(value, dict) else None
    return str(error)[:_COMPLAINT_CHARS_MAX] if error else ""


def _is_notice(line: str) -> bool:
    text = line.lower()
    return "deprecat" in text or text.startswith(("warning", "notice", "hint", "note"))


def _decode_issues(printed: BeadsOutput) -> list[_Issue]:
    data = _decode_output(printed)
    if data is None:
        return []
    try:
        return msgspec.convert(data if isinstance(data, list) else [data], list[_Issue])
    except msgspec.ValidationError as error:
        raise _unreadable_output(printed, error) from error


def _decode_output(printed: BeadsOutput) -> Any:
    """Return the printed JSON without its envelope; None for empty output and for a printed error."""
    if not printed.out.strip():
        return None
    try:
        value = msgspec.json.decode(printed.out)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise _unreadable_output(printed, error) from error
    if isinstance(value, dict) and "data" in value and "schema_version" in value:
        value = value["data"]
    # Some generations print errors on the stream on which other generations print the answer.
    return None if isinstance(value, dict) and "error" in value and "id" not in value else value


def _unreadable_output(printed: BeadsOutput, error: Exception) -> TrackerUnreachable:
    return TrackerUnreachable(
        f"Maestro does not understand the output of bd ({error}): {printed.out.strip()[:100]!r}"
    )


def _tracker_issue(issue: _Issue) -> TrackerIssue:
    assignee = issue.assignee or None
    state = _STATES.get(issue.status, IssueState.STARTED if assignee else IssueState.OPEN)
    reason = issue.close_reason or ""
    if state is IssueState.BLOCKED:
        reason = f"The issue is {issue.status} in the tracker."
    count = "" if issue.comment_count is None else str(issue.comment_count)
    return TrackerIssue(
        ref=issue.id,
        title=issue.title,
        description=issue.description or "",
        standing=IssueStanding(state, assignee if state is IssueState.STARTED else None),
        priority=priority_of_number(issue.priority),
        created_by=issue.created_by or "",
        reason=reason,
        outside_ref=issue.external_ref or "",
        stamp=f"{issue.updated_at}/{issue.status}/{assignee or ''}/{count}",
        is_work=(issue.issue_type or "task") not in _INTERNAL_TYPES,
    )


def _comments(decoded: list[_Comment]) -> list[TrackerComment]:
    return [TrackerComment(author=comment.author, text=comment.text) for comment in decoded]
