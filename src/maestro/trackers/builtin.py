"""Maestro's own issues behind the tracker interface, over the same operations that every caller uses.

The built-in tracker needs no synchronisation. The contract suite of trackers uses it as the reference.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from maestro import __version__
from maestro.core import errors, limits
from maestro.domain.callers import Caller, person_caller
from maestro.domain.tasks import Task
from maestro.domain.trackers import IssueStanding, IssueState, TrackerKind, issue_state_of
from maestro.operations import issues as ops
from maestro.operations import task_shapes, tasks
from maestro.operations.base import Operation
from maestro.trackers.base import (
    IssueTaken,
    IssueWithComments,
    NewIssue,
    TrackerComment,
    TrackerIssue,
    TrackerRefused,
)

CallOperation = Callable[[Operation, msgspec.Struct, Caller, str], Awaitable[Any]]


class BuiltinTracker:
    """The issues of one project. `call` runs an operation for a caller, under an idempotency key."""

    kind = TrackerKind.BUILTIN
    stamps_cover_comments = False

    def __init__(self, call: CallOperation, project: str) -> None:
        self._call = call
        self._project = project

    async def read_version(self) -> str:
        return __version__

    async def list_issues(self, *, with_closed: bool = False) -> list[TrackerIssue]:
        listed: list[TrackerIssue] = []
        cursor: str | None = ""
        while cursor is not None:
            which = ops.IssueFilter.ALL if with_closed else ops.IssueFilter.OPEN
            request = ops.ListIssues(project=self._project, status=which, limit=limits.page_items_max, cursor=cursor)
            page = await self._run_operation(ops.LIST, request)
            listed += [_issue(task) for task in page.issues]
            cursor = page.cursor
        return listed

    async def read_issues(self, refs: Sequence[str]) -> list[IssueWithComments]:
        found = []
        for ref in refs:
            try:
                shown = await self._run_operation(ops.SHOW, ops.OneIssue(id=ref, project=self._project))
            except errors.NotFound:
                continue
            comments = [
                TrackerComment(author=message.sender.name, text=message.body) for message in shown.comments[1:]
            ]
            found.append(IssueWithComments(issue=_issue(shown), comments=comments))
        return found

    async def create_issue(self, new: NewIssue) -> TrackerIssue:
        request = ops.OpenIssue(
            to=self._project,
            title=new.title,
            message=new.description,
            priority=new.priority,
        )
        created = await self._run_operation(ops.OPEN, request, new.actor, key=new.outside_ref)
        return msgspec.structs.replace(_issue(created), outside_ref=new.outside_ref)

    async def add_comment(self, ref: str, text: str, *, actor: str) -> None:
        await self._run_operation(ops.REPLY, ops.ReplyIssue(id=ref, project=self._project, message=text), actor)

    async def claim_issue(self, ref: str, *, actor: str) -> TrackerIssue:
        try:
            await self._run_operation(ops.CLAIM, ops.ClaimIssue(id=ref, project=self._project), actor)
        except (errors.AlreadyHeld, errors.IllegalMove) as error:
            now = await self._read_issue(ref)
            if now.standing != IssueStanding(IssueState.STARTED, actor):
                raise IssueTaken(now) from error
        return await self._read_issue(ref)

    async def release_issue(self, ref: str, *, actor: str) -> TrackerIssue:
        now = await self._read_issue(ref)
        if now.standing.state is IssueState.BLOCKED:
            await self._run_operation(tasks.UNBLOCK, task_shapes.HeldTask(id=ref, project=self._project), actor)
        if (await self._read_issue(ref)).standing.state is IssueState.STARTED:
            await self._run_operation(tasks.RELEASE, task_shapes.HeldTask(id=ref, project=self._project), actor)
        return await self._read_issue(ref)

    async def block_issue(self, ref: str, *, actor: str) -> TrackerIssue:
        request = task_shapes.BlockTask(id=ref, project=self._project, reason="The issue is blocked.")
        await self._run_operation(tasks.BLOCK, request, actor)
        return await self._read_issue(ref)

    async def close_issue(self, ref: str, *, reason: str, actor: str) -> TrackerIssue:
        if (await self._read_issue(ref)).standing.state is not IssueState.CLOSED:
            await self._run_operation(ops.CLOSE, ops.CloseIssue(id=ref, project=self._project, message=reason), actor)
        return await self._read_issue(ref)

    async def reopen_issue(self, ref: str, *, actor: str) -> TrackerIssue:
        if (await self._read_issue(ref)).standing.state is IssueState.CLOSED:
            await self._run_operation(ops.REOPEN, ops.ReopenIssue(id=ref, project=self._project), actor)
        return await self._read_issue(ref)

    async def rename_issue(self, ref: str, title: str, *, actor: str) -> TrackerIssue:
        await self._run_operation(tasks.EDIT, task_shapes.EditTask(id=ref, project=self._project, title=title), actor)
        return await self._read_issue(ref)

    async def _read_issue(self, ref: str) -> TrackerIssue:
        found = await self.read_issues([ref])
        if not found:
            raise TrackerRefused(f"There is no issue {ref}.")
        return found[0].issue

    async def _run_operation(
        self, operation: Operation, request: msgspec.Struct, actor: str = "", *, key: str = ""
    ) -> Any:
        try:
            return await self._call(operation, request, person_caller(actor or "maestro"), key)
        except (errors.NotFound, errors.ClaimLost, errors.IllegalMove):
            raise
        except errors.MaestroError as error:
            raise TrackerRefused(error.message) from error


def _issue(task: Task) -> TrackerIssue:
    state = issue_state_of(task)
    return TrackerIssue(
        ref=task.ref,
        title=task.title,
        description=task.description,
        standing=IssueStanding(state, task.holder if state is IssueState.STARTED else None),
        priority=task.priority,
        created_by=task.created_by,
        reason=task.reason,
        stamp=f"{task.updated_at.isoformat()}/{task.status}/{task.fence}",
    )
