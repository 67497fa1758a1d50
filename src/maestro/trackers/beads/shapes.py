"""What `bd` prints, read as plain values. Pure. Each trap that some generation sets is met here, and named.

Lists and single things come bare, or in an envelope (`BD_JSON_ENVELOPE`, and from 2.0 on by itself); `show`, `update`
and `close` give a list of one; a comment's id is a number or a text; errors are JSON on either stream, or words.
"""

from __future__ import annotations

from typing import Any

import msgspec

from maestro.domain.tasks import Priority
from maestro.domain.trackers import Stand, State
from maestro.trackers.base import Comment, Looked, TrackerIssue, Unreachable

_STATES = {
    "open": State.OPEN,
    "pinned": State.OPEN,
    "in_progress": State.STARTED,
    "hooked": State.STARTED,
    "blocked": State.BLOCKED,
    "deferred": State.BLOCKED,
    "closed": State.CLOSED,
    "tombstone": State.CLOSED,
}
# Issues that Beads and what runs on it keep for themselves.
_HELPERS = frozenset({"message", "molecule", "gate", "event", "wisp", "agent", "role", "slot", "rig"})
_PRIORITIES = (Priority.CRITICAL, Priority.HIGH, Priority.NORMAL, Priority.LOW)
_WORDS_MAX = 500


class Printed(msgspec.Struct, frozen=True):
    """How one call came out."""

    code: int
    out: str
    err: str = ""


class _Comment(msgspec.Struct):
    text: str = ""
    author: str = ""
    id: int | str = ""


class _Issue(msgspec.Struct):
    """The fields of an issue that we rely on. All but its id may be missing; kinds and states are plain text."""

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


def issues(printed: Printed) -> list[TrackerIssue]:
    """Of `list`. Without issues it prints an empty list or null; nothing at all is no answer."""
    if not printed.out.strip():
        raise Unreachable("bd listed nothing, not even that there is nothing.")
    return [_issue(one) for one in _issues(printed)]


def looked(printed: Printed) -> tuple[list[Looked], list[str]]:
    """Of `show`; and whose comments it left out, because they are many."""
    found = _issues(printed)
    short = [one.id for one in found if len(one.comments or []) < (one.comment_count or 0)]
    return [Looked(issue=_issue(one), comments=_comments(one.comments or [])) for one in found], short


def comments(printed: Printed) -> list[Comment]:
    """Of `comments`: a list, or null where there are none."""
    data = _data(printed)
    try:
        return _comments(msgspec.convert(data if data is not None else [], list[_Comment]))
    except msgspec.ValidationError as error:
        raise _not_understood(printed, error) from error


def changed(printed: Printed, ref: str = "") -> TrackerIssue | None:
    """Of a command that changes an issue: the issue as it then is, or nothing if it was not said."""
    if not printed.out.strip():
        return None
    found = [one for one in _issues(printed) if not ref or one.id == ref]
    return _issue(found[0]) if found else None


def complaint(printed: Printed) -> str:
    """What a call complained of: JSON on one of both streams, or plain words; notices of other things left out."""
    for text in (printed.err, printed.out):
        for line in (text, *text.splitlines()):
            found = _error_in(line)
            if found:
                return found
    words = [line for line in printed.err.splitlines() if line.strip() and not _is_notice(line)]
    return " ".join(words)[:_WORDS_MAX] or f"it ended with {printed.code} and said nothing"


def _error_in(text: str) -> str:
    try:
        said = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return ""
    if isinstance(said, dict) and isinstance(said.get("data"), dict):
        said = said["data"] if "error" in said["data"] else said
    error = said.get("error") if isinstance(said, dict) else None
    return str(error)[:_WORDS_MAX] if error else ""


def _is_notice(line: str) -> bool:
    said = line.lower()
    return "deprecat" in said or said.startswith(("warning", "notice", "hint", "note"))


def _issues(printed: Printed) -> list[_Issue]:
    data = _data(printed)
    if data is None:
        return []
    try:
        return msgspec.convert(data if isinstance(data, list) else [data], list[_Issue])
    except msgspec.ValidationError as error:
        raise _not_understood(printed, error) from error


def _data(printed: Printed) -> Any:
    """The JSON that was printed, out of its envelope; nothing is nothing."""
    if not printed.out.strip():
        return None
    try:
        said = msgspec.json.decode(printed.out)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise _not_understood(printed, error) from error
    if isinstance(said, dict) and "data" in said and "schema_version" in said:
        said = said["data"]
    # Some generations print what went wrong where others print the answer.
    return None if isinstance(said, dict) and "error" in said and "id" not in said else said


def _not_understood(printed: Printed, error: Exception) -> Unreachable:
    return Unreachable(f"bd answered what we do not understand ({error}): {printed.out.strip()[:100]!r}")


def _issue(one: _Issue) -> TrackerIssue:
    who = one.assignee or None
    state = _STATES.get(one.status, State.STARTED if who else State.OPEN)
    reason = one.close_reason or ""
    if state is State.BLOCKED:
        reason = f"It is {one.status} in the tracker."
    count = "" if one.comment_count is None else str(one.comment_count)
    return TrackerIssue(
        ref=one.id,
        title=one.title,
        description=one.description or "",
        stand=Stand(state, who if state is State.STARTED else None),
        priority=_PRIORITIES[min(max(one.priority, 0), len(_PRIORITIES) - 1)],
        by=one.created_by or "",
        reason=reason,
        outside_ref=one.external_ref or "",
        stamp=f"{one.updated_at}/{one.status}/{who or ''}/{count}",
        is_work=(one.issue_type or "task") not in _HELPERS,
    )


def _comments(found: list[_Comment]) -> list[Comment]:
    return [Comment(author=one.author, text=one.text) for one in found]
