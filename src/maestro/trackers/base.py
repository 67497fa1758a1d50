"""The interface of every tracker, in plain values. A call may take long or fail, so mail never waits for a call.

TrackerFault
├── TrackerUnreachable   the tracker gives no usable answer: missing, too slow, broken, not understood
├── TrackerRefused       the tracker refuses the change
└── IssueTaken           another user has claimed the issue
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from maestro.domain.priorities import Priority
from maestro.domain.trackers import IssueStanding, TrackerKind


class TrackerFault(Exception):
    """A call of a tracker failed."""


class TrackerUnreachable(TrackerFault):
    """The tracker gives no usable answer."""


class TrackerRefused(TrackerFault):
    """The tracker refuses the change."""


class IssueTaken(TrackerFault):
    """Another user has claimed the issue."""

    def __init__(self, issue: TrackerIssue | None) -> None:
        self.issue = issue  # in its present state
        super().__init__(
            f"{issue.standing.assignee} has claimed {issue.ref}" if issue else "another user has claimed the issue"
        )


class TrackerIssue(msgspec.Struct, frozen=True, kw_only=True):
    """An issue as its tracker reports it."""

    ref: str
    title: str
    description: str = ""
    standing: IssueStanding
    priority: Priority = Priority.NORMAL
    created_by: str = ""  # the user who created the issue
    reason: str = ""  # why the issue is closed or blocked
    outside_ref: str = ""  # the reference that Maestro gave the issue at its creation
    stamp: str = ""  # changes whenever the issue or its comments may have changed
    is_work: bool = True  # False for issues that the tracker keeps for its own use


class TrackerComment(msgspec.Struct, frozen=True, kw_only=True):
    """A comment on an issue."""

    author: str
    text: str


class IssueWithComments(msgspec.Struct, frozen=True, kw_only=True):
    """An issue with its comments."""

    issue: TrackerIssue
    comments: Sequence[TrackerComment]


class NewIssue(msgspec.Struct, frozen=True, kw_only=True):
    """An issue to create."""

    title: str
    description: str
    priority: Priority
    actor: str
    outside_ref: str


class Tracker(Protocol):
    """An issue tracker. `actor` is the name under which a change is made."""

    kind: TrackerKind
    stamps_cover_comments: bool  # whether an issue's stamp changes with every comment

    async def read_version(self) -> str:
        """Return the tracker's version. This call comes first, so that a missing tracker is noticed as missing."""

    async def list_issues(self, *, with_closed: bool = False) -> list[TrackerIssue]:
        """Return all open issues in one call; `with_closed` adds closed issues. A tracker may always include them."""

    async def read_issues(self, refs: Sequence[str]) -> list[IssueWithComments]:
        """Return some issues with their comments in one call. Missing issues are left out."""

    async def create_issue(self, new: NewIssue) -> TrackerIssue: ...

    async def add_comment(self, ref: str, text: str, *, actor: str) -> None: ...

    async def claim_issue(self, ref: str, *, actor: str) -> TrackerIssue:
        """Claim the issue. Raise `IssueTaken` if another user has claimed it first."""

    async def release_issue(self, ref: str, *, actor: str) -> TrackerIssue:
        """Reopen the issue and remove its assignee."""

    async def block_issue(self, ref: str, *, actor: str) -> TrackerIssue: ...

    async def close_issue(self, ref: str, *, reason: str, actor: str) -> TrackerIssue: ...

    async def reopen_issue(self, ref: str, *, actor: str) -> TrackerIssue: ...

    async def rename_issue(self, ref: str, title: str, *, actor: str) -> TrackerIssue: ...
