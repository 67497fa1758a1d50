"""Maestro's own issues behind the tracker interface, over the same operations that every caller uses.

The built-in tracker needs no synchronisation. The contract suite of trackers uses it as the reference.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from maestro import __version__
from maestro.core import errors, limits
from maestro.domain.callers import Caller, person
from maestro.domain.tasks import Task
from maestro.domain.trackers import Kind, Stand, State, stand_of
from maestro.operations import issues as ops
from maestro.operations import task_shapes, tasks
from maestro.operations.base import Operation
from maestro.trackers.base import Comment, Looked, NewIssue, Refused, Taken, TrackerIssue

Call = Callable[[Operation, msgspec.Struct, Caller, str], Awaitable[Any]]


class Builtin:
    """The issues of one project. `call` runs an operation for a caller, under an idempotency key."""

    kind = Kind.BUILTIN
    stamps_tell_comments = False

    def __init__(self, call: Call, project: str) -> None:
        self._call = call
        self._project = project

    async def version(self) -> str:
        return __version__

    async def issues(self, *, closed: bool = False) -> list[TrackerIssue]:
        listed: list[TrackerIssue] = []
        cursor: str | None = ""
        while cursor is not None:
            which = ops.Which.ALL if closed else ops.Which.OPEN
            request = ops.ListIssues(project=self._project, status=which, limit=limits.page_items_max, cursor=cursor)
            page = await self._run_operation(ops.LIST, request)
            listed += [_issue(task) for task in page.issues]
            cursor = page.cursor
        return listed

    async def look(self, refs: Sequence[str]) -> list[Looked]:
        found = []
        for ref in refs:
            try:
                shown = await self._run_operation(ops.SHOW, ops.OneIssue(id=ref, project=self._project))
            except errors.NotFound:
                continue
            comments = [Comment(author=message.sender.name, text=message.body) for message in shown.comments[1:]]
            found.append(Looked(issue=_issue(shown), comments=comments))
        return found

    async def create(self, new: NewIssue) -> TrackerIssue:
        request = ops.OpenIssue(
            to=self._project,
            title=new.title,
            message=new.description,
            priority=new.priority,
        )
        created = await self._run_operation(ops.OPEN, request, new.actor, key=new.outside_ref)
        return msgspec.structs.replace(_issue(created), outside_ref=new.outside_ref)

    async def comment(self, ref: str, text: str, *, actor: str) -> None:
        await self._run_operation(ops.REPLY, ops.ReplyIssue(id=ref, project=self._project, message=text), actor)

    async def claim(self, ref: str, *, actor: str) -> TrackerIssue:
        try:
            await self._run_operation(ops.CLAIM, ops.ClaimIssue(id=ref, project=self._project), actor)
        except (errors.AlreadyHeld, errors.IllegalMove) as error:
            now = await self._read_issue(ref)
            if now.stand != Stand(State.STARTED, actor):
                raise Taken(now) from error
        return await self._read_issue(ref)

    async def release(self, ref: str, *, actor: str) -> TrackerIssue:
        now = await self._read_issue(ref)
        if now.stand.state is State.BLOCKED:
            await self._run_operation(tasks.UNBLOCK, task_shapes.HeldTask(id=ref, project=self._project), actor)
        if (await self._read_issue(ref)).stand.state is State.STARTED:
            await self._run_operation(tasks.RELEASE, task_shapes.HeldTask(id=ref, project=self._project), actor)
        return await self._read_issue(ref)

    async def block(self, ref: str, *, actor: str) -> TrackerIssue:
        request = task_shapes.BlockTask(id=ref, project=self._project, reason="The issue is blocked.")
        await self._run_operation(tasks.BLOCK, request, actor)
        return await self._read_issue(ref)

    async def close(self, ref: str, *, reason: str, actor: str) -> TrackerIssue:
        if (await self._read_issue(ref)).stand.state is not State.CLOSED:
            await self._run_operation(ops.CLOSE, ops.CloseIssue(id=ref, project=self._project, message=reason), actor)
        return await self._read_issue(ref)

    async def reopen(self, ref: str, *, actor: str) -> TrackerIssue:
        if (await self._read_issue(ref)).stand.state is State.CLOSED:
            await self._run_operation(ops.REOPEN, ops.ReopenIssue(id=ref, project=self._project), actor)
        return await self._read_issue(ref)

    async def rename(self, ref: str, title: str, *, actor: str) -> TrackerIssue:
        await self._run_operation(tasks.EDIT, task_shapes.EditTask(id=ref, project=self._project, title=title), actor)
        return await self._read_issue(ref)

    async def _read_issue(self, ref: str) -> TrackerIssue:
        found = await self.look([ref])
        if not found:
            raise Refused(f"There is no issue {ref}.")
        return found[0].issue

    async def _run_operation(
        self, operation: Operation, request: msgspec.Struct, actor: str = "", *, key: str = ""
    ) -> Any:
        try:
            return await self._call(operation, request, person(actor or "maestro"), key)
        except (errors.NotFound, errors.ClaimLost, errors.IllegalMove):
            raise
        except errors.MaestroError as error:
            raise Refused(error.message) from error


def _issue(task: Task) -> TrackerIssue:
    state = stand_of(task)
    return TrackerIssue(
        ref=task.ref,
        title=task.title,
        description=task.description,
        stand=Stand(state, task.holder if state is State.STARTED else None),
        priority=task.priority,
        by=task.created_by,
        reason=task.reason,
        stamp=f"{task.updated_at.isoformat()}/{task.status}/{task.fence}",
    )
