"""What every tracker does, in plain values. One call may take long or fail; none is ever made on the way of mail.

TrackerFault
├── Unreachable      it cannot be asked at all: not there, too slow, broken, not understood
├── Refused          it was asked, and does not do it
└── Taken            someone else has the issue
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from maestro.domain.tasks import Priority
from maestro.domain.trackers import Kind, Stand


class TrackerFault(Exception):
    """Something went wrong with a tracker."""


class Unreachable(TrackerFault):
    """The tracker cannot be asked."""


class Refused(TrackerFault):
    """The tracker does not do it."""


class Taken(TrackerFault):
    """Someone else has the issue."""

    def __init__(self, issue: TrackerIssue | None) -> None:
        self.issue = issue  # as it stands
        super().__init__(f"{issue.stand.who} has it" if issue else "someone has it")


class TrackerIssue(msgspec.Struct, frozen=True, kw_only=True):
    """An issue as its tracker tells it."""

    ref: str
    title: str
    description: str = ""
    stand: Stand
    priority: Priority = Priority.NORMAL
    by: str = ""  # who made it
    reason: str = ""  # why it is closed, or blocked
    outside_ref: str = ""  # what we gave it when we made it
    stamp: str = ""  # changes whenever the issue or its comments may have
    is_work: bool = True  # not one of the tracker's own helpers


class Comment(msgspec.Struct, frozen=True, kw_only=True):
    """Something said about an issue."""

    author: str
    text: str


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """An issue with all that was said about it."""

    issue: TrackerIssue
    comments: Sequence[Comment]


class NewIssue(msgspec.Struct, frozen=True, kw_only=True):
    """An issue that is to be made."""

    title: str
    description: str
    priority: Priority
    actor: str
    outside_ref: str


class Tracker(Protocol):
    """Where issues live. `actor`: in whose name."""

    kind: Kind
    stamps_tell_comments: bool  # whether an issue's stamp changes with every comment

    async def version(self) -> str:
        """Who it is; the first thing asked, so that a tracker that is not there is known as such."""

    async def issues(self, *, closed: bool = False) -> list[TrackerIssue]:
        """Every issue, in one go; those that are closed only if asked for, or if it tells them anyway."""

    async def look(self, refs: Sequence[str]) -> list[Looked]:
        """Some issues with their comments, in one go; what is not there is left out."""

    async def create(self, new: NewIssue) -> TrackerIssue: ...

    async def comment(self, ref: str, text: str, *, actor: str) -> None: ...

    async def claim(self, ref: str, *, actor: str) -> TrackerIssue:
        """The first one has it; for whoever is later, `Taken`."""

    async def release(self, ref: str, *, actor: str) -> TrackerIssue:
        """Open, and nobody's."""

    async def block(self, ref: str, *, actor: str) -> TrackerIssue: ...

    async def close(self, ref: str, *, reason: str, actor: str) -> TrackerIssue: ...

    async def reopen(self, ref: str, *, actor: str) -> TrackerIssue: ...

    async def rename(self, ref: str, title: str, *, actor: str) -> TrackerIssue: ...
