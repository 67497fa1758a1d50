"""All that follows from a change of a task, in the same transaction.

A completed task unblocks its dependants, may open the next stage and may complete its parent; a reopened one takes
that back, but never pulls running work back. What follows from what follows is kept in a queue and looked at one
after another, each task read anew: a change of one may have decided about another already.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import msgspec

from maestro.domain import tasks
from maestro.domain.callers import Caller
from maestro.domain.events import Change, Kind
from maestro.domain.tasks import Move, Status, Task
from maestro.operations import task_shapes as ops
from maestro.services.issues import news
from maestro.store.base import Tx


class Outcome:
    """What one request has set off, to be told to its caller."""

    def __init__(self, tx: Tx, caller: Caller, *, said: str = "") -> None:
        self.tx = tx
        self.caller = caller
        self.said = said  # what the caller says about it, for those whom it concerns
        self.unblocked: list[str] = []
        self.warnings: list[str] = []
        self._was_ready: set[str] = set()  # what was held back on the way, and may be let go before the end
        self._freed_now: set[str] = set()  # what may be ready, and was not looked at yet
        self._due: deque[Callable[[], object]] = deque()

    def apply(self, move: Move) -> Task:
        """Write a move and everything that follows from it."""
        self._write(move)
        self.settle()
        return move.after

    def settle(self) -> None:
        """Look at everything that is due, until nothing is."""
        while self._due:
            self._due.popleft()()

    def look_at(self, task_id: str) -> None:
        """Something that a task waited for is no more: it may be ready, or as a parent be done."""
        self._freed_now.add(task_id)
        self._due.append(lambda: self._freed(task_id))

    def look_at_parent(self, parent_id: str | None) -> None:
        """A child is no longer open: that may have been the last."""
        if parent_id is not None:
            self._due.append(lambda: self._roll_up(parent_id))

    def look_at_stages(self, project_id: str, parent_id: str | None) -> None:
        """In one scope (a parent's children, or a project's roots) a stage may have opened or closed."""
        self._due.append(lambda: self._settle_stages(project_id, parent_id))

    def say_ready(self, task: Task) -> None:
        """Log it, and remember it for the answer; once, also if a task was let go twice over, and not if it was ready
        before."""
        if task.ref in self.unblocked or task.id in self._was_ready:
            return
        self.unblocked.append(task.ref)
        self.tx.log(Change(Kind.TASK_READY, task.id, task.project_id, {"ref": task.ref}), actor=self.caller.name)

    def answer(self, task: Task) -> ops.MovedTask:
        """The task as it now is, with what happened besides."""
        return self.told(self.tx.tasks.get(task.id) or task)

    def told(self, task: Task) -> ops.MovedTask:
        """A task that is known to be as it now is, with what happened besides."""
        fields = msgspec.structs.asdict(task)
        others = [ref for ref in self.unblocked if ref != task.ref]
        return ops.MovedTask(**fields, unblocked=others, warnings=self.warnings)

    def _write(self, move: Move) -> None:
        before, after = move.before, move.after
        self.tx.tasks.move(before, after)
        self.tx.log(*move.changes, actor=self.caller.name)
        if after.from_project_id is not None:
            news.moved(self.tx, self.caller, move, said=self.said)
        if tasks.is_ready(after):
            self.say_ready(after)
        self._tell_dependants(before, after)
        if before.stage is not None and is_open(before) != is_open(after):
            self.look_at_stages(after.project_id, after.parent_id)
        if is_open(before) and not is_open(after):
            self.look_at_parent(after.parent_id)
        if is_open(after) and not is_open(before):
            self._warn_parent(after)
        if before.status is Status.BLOCKED and after.status is not Status.BLOCKED:
            self.look_at_parent(after.id)  # its children may have been done while it could not complete

    def _tell_dependants(self, before: Task, after: Task) -> None:
        was, now = before.status is Status.COMPLETED, after.status is Status.COMPLETED
        if was == now:
            return
        for task_id in self.tx.tasks.shift_blockers(after.id, -1 if now else 1):
            if now:
                self.look_at(task_id)
            else:
                self._warn_dependant(task_id, after)

    def _freed(self, task_id: str) -> None:
        self._freed_now.discard(task_id)
        task = self.tx.tasks.get(task_id)
        if task is None or task.open_blockers or task.stage_held:
            return
        if not self._roll_up(task_id) and task.ready:
            self.say_ready(task)

    def _roll_up(self, task_id: str) -> bool:
        """Complete a parent that waits on nothing any more; whether it was one."""
        parent = self.tx.tasks.get(task_id)
        if parent is None or parent.status not in tasks.TRANSITIONS["roll_up"]:
            return False
        if parent.open_blockers or parent.stage_held or not self.tx.tasks.children_are_done(task_id):
            return False
        self._write(tasks.roll_up(parent, at=self.tx.at))
        return True

    def _settle_stages(self, project_id: str, parent_id: str | None) -> None:
        """Hold each stage back while an earlier one has open tasks, and let go what may go."""
        project = self.tx.projects.get(project_id)
        held = False
        for stage in project.stages if project else []:
            changed = self.tx.tasks.hold_stage(project_id, parent_id, stage, held=held)
            for task_id in changed:
                self._hold_back(task_id) if held else self.look_at(task_id)
            held = held or self.tx.tasks.stage_has_open(project_id, parent_id, stage)

    def _hold_back(self, task_id: str) -> None:
        task = self.tx.tasks.get(task_id) if task_id not in self._freed_now else None
        if task is not None and tasks.is_ready(msgspec.structs.replace(task, stage_held=False)):
            self._was_ready.add(task_id)

    def _warn_dependant(self, task_id: str, on: Task) -> None:
        task = self.tx.tasks.get(task_id)
        if task is not None and task.status is not Status.TODO:
            self.warnings.append(
                f"{task.ref} is {task.status} and depends on {on.ref}, which is open again; it goes on."
            )

    def _warn_parent(self, child: Task) -> None:
        parent = self.tx.tasks.get(child.parent_id) if child.parent_id else None
        if parent is not None and not is_open(parent):
            self.warnings.append(f"{parent.ref}, its parent, stays {parent.status}.")


def is_open(task: Task) -> bool:
    """Whether others still wait for it: a failed task is open, for it may be taken up again."""
    return task.status not in (Status.COMPLETED, Status.CANCELLED)
