"""The interface of every tracker, in plain values. A call may take long or fail, so mail never waits for a call.

TrackerFault
├── Unreachable      the tracker gives no usable answer: missing, too slow, broken, not understood
├── Refused          the tracker refuses the change
└── Taken            another user has claimed the issue
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from maestro.domain.tasks import Priority
from maestro.domain.trackers import Kind, Stand


class TrackerFault(Exception):
    """A call of a tracker failed."""


class Unreachable(TrackerFault):
    """The tracker gives no usable answer."""


class Refused(TrackerFault):
    """The tracker refuses the change."""


class Taken(TrackerFault):
    """Another user has claimed the issue."""

    def __init__(self, issue: TrackerIssue | None) -> None:
        self.issue = issue  # in its present state
        super().__init__(
            f"{issue.stand.who} has claimed {issue.ref}" if issue else "another user has claimed the issue"
        )


class TrackerIssue(msgspec.Struct, frozen=True, kw_only=True):
    """An issue as its tracker reports it."""

    ref: str
    title: str
    description: str = ""
    stand: Stand
    priority: Priority = Priority.NORMAL
    by: str = ""  # the user who created the issue
    reason: str = ""  # why the issue is closed or blocked
    outside_ref: str = ""  # the reference that Maestro gave the issue at its creation
    stamp: str = ""  # changes whenever the issue or its comments may have changed
    is_work: bool = True  # False for issues that the tracker keeps for its own use


class Comment(msgspec.Struct, frozen=True, kw_only=True):
    """A comment on an issue."""

    author: str
    text: str


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """An issue with its comments."""

    issue: TrackerIssue
    comments: Sequence[Comment]


class NewIssue(msgspec.Struct, frozen=True, kw_only=True):
    """An issue to create."""

    title: str
    description: str
    priority: Priority
    actor: str
    outside_ref: str


class Tracker(Protocol):
    """An issue tracker. `actor` is the name under which a change is made."""

    kind: Kind
    stamps_tell_comments: bool  # whether an issue's stamp changes with every comment

    async def version(self) -> str:
        """Return the tracker's version. This call comes first, so that a missing tracker is noticed as missing."""

    async def issues(self, *, closed: bool = False) -> list[TrackerIssue]:
        """Return all open issues in one call. `closed` includes closed issues; a tracker may always include them."""

    async def look(self, refs: Sequence[str]) -> list[Looked]:
        """Return some issues with their comments in one call. Missing issues are left out."""

    async def create(self, new: NewIssue) -> TrackerIssue: ...

    async def comment(self, ref: str, text: str, *, actor: str) -> None: ...

    async def claim(self, ref: str, *, actor: str) -> TrackerIssue:
        """Claim the issue. Raise `Taken` if another user has claimed it first."""

    async def release(self, ref: str, *, actor: str) -> TrackerIssue:
        """Reopen the issue and remove its assignee."""

    async def block(self, ref: str, *, actor: str) -> TrackerIssue: ...

    async def close(self, ref: str, *, reason: str, actor: str) -> TrackerIssue: ...

    async def reopen(self, ref: str, *, actor: str) -> TrackerIssue: ...

    async def rename(self, ref: str, title: str, *, actor: str) -> TrackerIssue: ...
