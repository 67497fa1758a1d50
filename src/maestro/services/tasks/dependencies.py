"""Add and remove dependencies between tasks. A cycle is refused; running work is never interrupted."""

from __future__ import annotations

from maestro.core import errors, limits
from maestro.domain import graph
from maestro.domain.callers import Caller
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.tasks import Task, TaskStatus
from maestro.operations import task_shapes as ops
from maestro.services.access.scope import find_task, require_movable_task
from maestro.services.tasks import moves
from maestro.services.tasks.consequences import TaskConsequences
from maestro.store.base import Tx


def change_dependencies(tx: Tx, caller: Caller, request: ops.DependTask) -> ops.MovedTask:
    """Add or remove all named dependencies, or none if one of them is refused."""
    task = moves.current_task(tx, caller, request.id, project=request.project)
    require_movable_task(tx, caller, task)
    if not request.on:
        raise errors.Invalid(f"No task was named for {task.ref} to wait on.", hint='Name tasks: --on "#2,#3"')
    outcome = TaskConsequences(tx, caller)
    change = remove_dependency if request.remove else add_dependency
    for ref in dict.fromkeys(request.on):
        change(outcome, task, find_task(tx, caller, ref, project=task.project_id))
    outcome.run_queued_checks()
    return outcome.answer_with_stored(task)


def add_dependency(outcome: TaskConsequences, task: Task, blocker: Task) -> None:
    """Let `task` wait on `blocker`."""
    tx = outcome.tx
    require_no_cycle(tx, waiter=task, blocker=blocker)
    if not tx.tasks.graph.add_edge(task.id, blocker.id):
        return
    if tx.tasks.graph.count_dependencies(task.id) > limits.dependencies_of_one_task_max:
        most = limits.dependencies_of_one_task_max
        raise errors.Conflict(f"{task.ref} cannot wait on more than {most} tasks.")
    if blocker.status is not TaskStatus.COMPLETED:
        tx.tasks.graph.shift_open_blockers(task.id, 1)
        _warn_about_edge(outcome, task, blocker)
    _log_change(outcome, EventKind.TASK_DEPENDENCY_ADDED, task, blocker)


def remove_dependency(outcome: TaskConsequences, task: Task, blocker: Task) -> None:
    """Let `task` no longer wait on `blocker`."""
    tx = outcome.tx
    if not tx.tasks.graph.remove_edge(task.id, blocker.id):
        raise errors.NotFound(f"{task.ref} does not depend on {blocker.ref}.")
    _log_change(outcome, EventKind.TASK_DEPENDENCY_REMOVED, task, blocker)
    if blocker.status is TaskStatus.COMPLETED:
        return
    tx.tasks.graph.shift_open_blockers(task.id, -1)
    outcome.queue_task(task.id)


def require_no_cycle(tx: Tx, *, waiter: Task, blocker: Task) -> None:
    """Refuse an edge that closes a cycle; the error names the tasks of the cycle."""
    try:
        tx.tasks.graph.adjust_ranks(waiter.id, blocker.id)
    except graph.CycleFound as cycle:
        raise _cycle_error(tx, waiter, blocker, cycle.path) from None


def _cycle_error(tx: Tx, waiter: Task, blocker: Task, path: list[str]) -> errors.Cycle:
    shown = path[: limits.cycle_names_shown_max]
    names = [task.ref for task_id in shown if (task := tx.tasks.get(task_id))]
    if len(path) > len(shown):
        names += ["…", waiter.ref]
    return errors.Cycle(
        f"{waiter.ref} cannot wait on {blocker.ref}: {' → '.join(names)} would wait on itself.",
        hint="An arrow means: waits on. A parent waits on its children.",
        data={"cycle": names, "length": len(path) - 1},
    )


def _warn_about_edge(outcome: TaskConsequences, task: Task, on: Task) -> None:
    if task.status in (TaskStatus.IN_PROGRESS, TaskStatus.IN_REVIEW):
        outcome.warnings.append(f"{task.ref} is already {task.status} and continues, although {on.ref} is open.")
    if _stages_cross(outcome.tx, task, on):
        outcome.warnings.append(
            f"{task.ref} ({task.stage}) and {on.ref} ({on.stage}) wait on each other: "
            "a stage waits for the stages before it."
        )
    if on.status in (TaskStatus.FAILED, TaskStatus.CANCELLED):
        outcome.warnings.append(f"{on.ref} is {on.status}: {task.ref} waits until {on.ref} is reopened.")


def _stages_cross(tx: Tx, task: Task, on: Task) -> bool:
    """Return whether `on` is in a later stage of the same scope and therefore already waits for `task`."""
    project = tx.projects.get(task.project_id)
    if project is None or (task.project_id, task.parent_id) != (on.project_id, on.parent_id):
        return False
    stages = project.stages
    if task.stage not in stages or on.stage not in stages:
        return False
    return stages.index(on.stage) > stages.index(task.stage)


def _log_change(outcome: TaskConsequences, kind: EventKind, task: Task, on: Task) -> None:
    data = {"ref": task.ref, "on": on.id, "on_ref": on.ref}
    outcome.tx.log(NewEvent(kind, task.id, task.project_id, data), actor=outcome.caller.name)
