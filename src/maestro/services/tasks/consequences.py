"""Apply the consequences of a task's change, in the same transaction.

A completed task unblocks its dependants, may open the next stage and may complete its parent. A reopened task takes
these consequences back, but never interrupts running work. Further consequences wait in a queue. Each queued task is
read again, because an earlier consequence may have changed the task.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import msgspec

from maestro.domain import tasks
from maestro.domain.callers import Caller
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.tasks import Task, TaskMove, TaskStatus
from maestro.operations import task_shapes as ops
from maestro.services import effects
from maestro.store.base import Tx


class TaskConsequences:
    """The consequences of one request, collected for the answer to its caller."""

    def __init__(self, tx: Tx, caller: Caller, *, message: str = "") -> None:
        self.tx = tx
        self.caller = caller
        self.message = message  # the caller's text about the move, for the other party of an issue
        self.unblocked: list[str] = []
        self.warnings: list[str] = []
        self._was_ready: set[str] = set()  # ready tasks that a stage held back; a later step may release them again
        self._unchecked: set[str] = set()  # tasks that may be ready and are still queued for the check
        self._due: deque[Callable[[], object]] = deque()

    def apply_move(self, move: TaskMove) -> Task:
        """Write a move and all its consequences."""
        self._write(move)
        self.run_queued_checks()
        return move.after

    def run_queued_checks(self) -> None:
        """Run the queued checks until the queue is empty."""
        while self._due:
            self._due.popleft()()

    def queue_task(self, task_id: str) -> None:
        """Queue a task that has lost a blocker: the task may be ready, or complete as a parent."""
        self._unchecked.add(task_id)
        self._due.append(lambda: self._check_freed_task(task_id))

    def queue_parent(self, parent_id: str | None) -> None:
        """Queue the parent of a task that is no longer open: it may have been the last open child."""
        if parent_id is not None:
            self._due.append(lambda: self._roll_up(parent_id))

    def queue_stages(self, project_id: str, parent_id: str | None) -> None:
        """Queue the stages of a scope: a parent's children, or a project's root tasks."""
        self._due.append(lambda: self._settle_stages(project_id, parent_id))

    def announce_ready(self, task: Task) -> None:
        """Log that the task has become ready, and name the task in the answer.

        A task is named once, even if it is released twice, and not at all if it was ready before.
        """
        if task.ref in self.unblocked or task.id in self._was_ready:
            return
        self.unblocked.append(task.ref)
        self.tx.log(
            NewEvent(EventKind.TASK_READY, task.id, task.project_id, {"ref": task.ref}), actor=self.caller.name
        )

    def answer_with_stored(self, task: Task) -> ops.MovedTask:
        """Return the task as stored now, with the consequences of the request."""
        return self.answer_with(self.tx.tasks.get(task.id) or task)

    def answer_with(self, task: Task) -> ops.MovedTask:
        """Return the given, current task with the consequences of the request."""
        fields = msgspec.structs.asdict(task)
        other_refs = [ref for ref in self.unblocked if ref != task.ref]
        return ops.MovedTask(**fields, unblocked=other_refs, warnings=self.warnings)

    def _write(self, move: TaskMove) -> None:
        before, after = move.before, move.after
        self.tx.tasks.move(before, after)
        self.tx.log(*move.events, actor=self.caller.name)
        if after.from_project_id is not None:
            effects.task_moved(self.tx, self.caller, move, self.message)
        if tasks.is_ready(after):
            self.announce_ready(after)
        self._update_dependants(before, after)
        if before.stage is not None and is_open(before) != is_open(after):
            self.queue_stages(after.project_id, after.parent_id)
        if is_open(before) and not is_open(after):
            self.queue_parent(after.parent_id)
        if is_open(after) and not is_open(before):
            self._warn_parent(after)
        if before.status is TaskStatus.BLOCKED and after.status is not TaskStatus.BLOCKED:
            self.queue_parent(after.id)  # all children may have ended while the blocked task could not complete

    def _update_dependants(self, before: Task, after: Task) -> None:
        was_completed, is_completed = before.status is TaskStatus.COMPLETED, after.status is TaskStatus.COMPLETED
        if was_completed == is_completed:
            return
        for task_id in self.tx.tasks.shift_blockers(after.id, -1 if is_completed else 1):
            if is_completed:
                self.queue_task(task_id)
            else:
                self._warn_dependant(task_id, after)

    def _check_freed_task(self, task_id: str) -> None:
        self._unchecked.discard(task_id)
        task = self.tx.tasks.get(task_id)
        if task is None or task.open_blockers or task.stage_held:
            return
        if not self._roll_up(task_id) and task.ready:
            self.announce_ready(task)

    def _roll_up(self, task_id: str) -> bool:
        """Complete a parent whose children are done and that has no open blockers. Return whether it completed."""
        parent = self.tx.tasks.get(task_id)
        if parent is None or parent.status not in tasks.TRANSITIONS["roll_up"]:
            return False
        if parent.open_blockers or parent.stage_held or not self.tx.tasks.children_are_done(task_id):
            return False
        self._write(tasks.roll_up(parent, at=self.tx.at))
        return True

    def _settle_stages(self, project_id: str, parent_id: str | None) -> None:
        """Hold back each stage while an earlier stage has open tasks, and release the tasks of the other stages."""
        project = self.tx.projects.get(project_id)
        held = False
        for stage in project.stages if project else []:
            changed = self.tx.tasks.hold_stage(project_id, parent_id, stage, held=held)
            for task_id in changed:
                self._hold_back(task_id) if held else self.queue_task(task_id)
            held = held or self.tx.tasks.has_open_in_stage(project_id, parent_id, stage)

    def _hold_back(self, task_id: str) -> None:
        task = self.tx.tasks.get(task_id) if task_id not in self._unchecked else None
        if task is not None and tasks.is_ready(msgspec.structs.replace(task, stage_held=False)):
            self._was_ready.add(task_id)

    def _warn_dependant(self, task_id: str, on: Task) -> None:
        task = self.tx.tasks.get(task_id)
        if task is not None and task.status is not TaskStatus.TODO:
            self.warnings.append(
                f"{task.ref} is {task.status} and continues, although it depends on {on.ref}, which is open again."
            )

    def _warn_parent(self, child: Task) -> None:
        parent = self.tx.tasks.get(child.parent_id) if child.parent_id else None
        if parent is not None and not is_open(parent):
            self.warnings.append(f"{parent.ref}, the parent of {child.ref}, stays {parent.status}.")


def is_open(task: Task) -> bool:
    """Return whether dependants still wait for the task. A failed task is open, because it may be reopened."""
    return task.status not in (TaskStatus.COMPLETED, TaskStatus.CANCELLED)
