"""Provide a project with a tracker in memory, and an agent of another project that opens issues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from tests.unit.services.conftest import OTHER, World

from maestro.domain.callers import Caller
from maestro.domain.links import LinkSource
from maestro.domain.messages import Message
from maestro.domain.tasks import Task
from maestro.domain.trackers import IssueStanding, IssueState, MirroredIssue, ProjectTracker, TrackerKind
from maestro.operations import issues as ops
from maestro.services.issues import moves as issue_moves
from maestro.services.issues.operations import IssueOperations
from maestro.services.trackers.sync_round import TrackerRound
from maestro.trackers.base import (
    IssueTaken,
    IssueWithComments,
    NewIssue,
    TrackerComment,
    TrackerFault,
    TrackerIssue,
    TrackerRefused,
)


class MemoryTracker:
    """A tracker without a program. `fault` makes every call fail; `refused` contains titles that are refused."""

    kind = TrackerKind.BEADS
    stamps_cover_comments = True

    def __init__(self) -> None:
        self.issues: dict[str, TrackerIssue] = {}
        self.comments: dict[str, list[TrackerComment]] = {}
        self.calls: list[str] = []
        self.fault: TrackerFault | None = None
        self.refused: set[str] = set()

    def _record(self, call: str) -> None:
        self.calls.append(call)
        if self.fault is not None:
            raise self.fault

    def edit(self, ref: str, **changes: Any) -> TrackerIssue:
        """Change an issue as a user of the tracker does, with a new stamp, and return the issue."""
        stamp = str(int(self.issues[ref].stamp or 0) + 1)
        self.issues[ref] = msgspec.structs.replace(self.issues[ref], stamp=stamp, **changes)
        return self.issues[ref]

    def add_issue(self, title: str = "Leak", **fields: Any) -> TrackerIssue:
        """Create an issue as a user of the tracker does, and return the issue."""
        ref = f"bd-{len(self.issues) + 1}"
        values: dict[str, Any] = {"standing": IssueStanding(IssueState.OPEN), "created_by": "alice", "stamp": "1"}
        self.issues[ref] = TrackerIssue(ref=ref, title=title, **(values | fields))
        self.comments[ref] = []
        return self.issues[ref]

    def write_comment(self, ref: str, author: str, text: str) -> None:
        """Write a comment as a user of the tracker does."""
        self.comments[ref].append(TrackerComment(author=author, text=text))
        self.edit(ref)

    async def read_version(self) -> str:
        self._record("version")
        return "1.0"

    async def list_issues(self, *, with_closed: bool = False) -> list[TrackerIssue]:
        self._record("list")
        return [
            issue for issue in self.issues.values() if with_closed or issue.standing.state is not IssueState.CLOSED
        ]

    async def read_issues(self, refs: Sequence[str]) -> list[IssueWithComments]:
        self._record(f"read {' '.join(refs)}")
        return [
            IssueWithComments(issue=self.issues[ref], comments=tuple(self.comments[ref]))
            for ref in refs
            if ref in self.issues
        ]

    async def create_issue(self, new: NewIssue) -> TrackerIssue:
        self._record(f"create {new.title}")
        if new.title in self.refused:
            raise TrackerRefused(f"{new.title} is refused.")
        return self.add_issue(
            new.title, description=new.description, created_by=new.actor, outside_ref=new.outside_ref
        )

    async def add_comment(self, ref: str, text: str, *, actor: str) -> None:
        self._record(f"comment {ref}")
        self.write_comment(ref, actor, text)

    async def claim_issue(self, ref: str, *, actor: str) -> TrackerIssue:
        self._record(f"claim {ref} {actor}")
        present = self.issues[ref]
        if present.standing.assignee not in (None, actor):
            raise IssueTaken(present)
        return self.edit(ref, standing=IssueStanding(IssueState.STARTED, actor))

    async def release_issue(self, ref: str, *, actor: str) -> TrackerIssue:
        self._record(f"release {ref}")
        return self.edit(ref, standing=IssueStanding(IssueState.OPEN))

    async def block_issue(self, ref: str, *, actor: str) -> TrackerIssue:
        self._record(f"block {ref}")
        return self.edit(ref, standing=IssueStanding(IssueState.BLOCKED))

    async def close_issue(self, ref: str, *, reason: str, actor: str) -> TrackerIssue:
        self._record(f"close {ref}")
        return self.edit(ref, standing=IssueStanding(IssueState.CLOSED), reason=reason)

    async def reopen_issue(self, ref: str, *, actor: str) -> TrackerIssue:
        self._record(f"reopen {ref}")
        return self.edit(ref, standing=IssueStanding(IssueState.OPEN))

    async def rename_issue(self, ref: str, title: str, *, actor: str) -> TrackerIssue:
        self._record(f"rename {ref}")
        return self.edit(ref, title=title)


class Tracked:
    """The project `other` with its tracker, its agent `keeper`, and `finder` of the project `vc`."""

    def __init__(self, world: World, tracker: MemoryTracker, finder: Caller, keeper: Caller) -> None:
        self.world, self.tracker, self.finder, self.keeper = world, tracker, finder, keeper
        self.issues = IssueOperations(world.guard)

    async def open_issue(self, title: str = "Crash", message: str = "The parser crashes.") -> Any:
        self.world.clock.advance(0.01)
        request = ops.OpenIssue(to="other", title=title, message=message)
        return await self.world.do(self.issues.open_issue, request, by=self.finder)

    async def claim(self, issue: Any) -> None:
        await self.world.do(issue_moves.claim_issue, ops.ClaimIssue(id=issue.id), by=self.keeper)

    async def reply(self, issue: Any, text: str) -> Any:
        return await self.world.do(
            self.issues.reply_to_issue, ops.ReplyIssue(id=issue.id, message=text), by=self.keeper
        )

    async def synchronise(self, *, whole: bool = True) -> TrackerRound:
        """Run one round of the tracker, and return the round."""
        sync = TrackerRound(self.world.store, self.tracker, OTHER)
        await sync.collect_changes()
        await sync.run_round(whole=whole)
        return sync

    async def mirror(self, issue: Any) -> MirroredIssue:
        found = await self.world.store.read(lambda tx: tx.trackers.get_mirror(issue.id))
        assert found is not None
        return found

    async def put_mirror(self, mirror: MirroredIssue) -> None:
        await self.world.store.write(lambda tx: tx.trackers.put_mirror(mirror))

    async def choice(self) -> ProjectTracker:
        found = await self.world.store.read(lambda tx: tx.trackers.get(OTHER.id))
        assert found is not None
        return found

    async def task(self, issue: Any) -> Task:
        found = await self.world.store.read(lambda tx: tx.tasks.get(issue.id))
        assert found is not None
        return found

    async def imported(self, ref: str) -> Task:
        """Return the task of an issue that was created in the tracker."""
        mirror = await self.world.store.read(lambda tx: tx.trackers.mirror_of_ref(OTHER.id, ref))
        assert mirror is not None
        found = await self.world.store.read(lambda tx: tx.tasks.get(mirror.task_id))
        assert found is not None
        return found

    async def thread(self, task_id: str) -> list[Message]:
        issue = await self.world.store.read(lambda tx: tx.issues.of_task(task_id))
        assert issue is not None
        return await self.world.store.read(lambda tx: tx.mail.of_thread(issue.thread_id, after=0, limit=100))


@pytest.fixture
async def tracked(world: World) -> Tracked:
    finder, keeper = await world.join("finder"), await world.join("keeper", project=OTHER.id)
    choice = ProjectTracker(OTHER.id, TrackerKind.BEADS, "/src/other", LinkSource.CONFIG)
    await world.store.write(lambda tx: tx.trackers.put(choice))
    return Tracked(world, MemoryTracker(), finder, keeper)
