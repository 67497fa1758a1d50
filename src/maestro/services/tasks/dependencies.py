"""Add and remove dependencies between tasks. A cycle is refused; running work is never interrupted."""

from __future__ import annotations

from maestro.core import errors, limits
from maestro.domain import graph
from maestro.domain.callers import Caller
from maestro.domain.events import Change, Kind
from maestro.domain.tasks import Status, Task
from maestro.operations import task_shapes as ops
from maestro.services.scope import may_move, task_of
from maestro.services.tasks import moves
from maestro.services.tasks.consequences import Outcome
from maestro.store.base import Tx


def depend(tx: Tx, caller: Caller, request: ops.DependTask) -> ops.MovedTask:
    """Add or remove all named dependencies, or none if one of them is refused."""
    task = moves.current(tx, caller, request.id, project=request.project)
    may_move(tx, caller, task)
    if not request.on:
        raise errors.Invalid(f"No task was named for {task.ref} to wait on.", hint='Name tasks: --on "#2,#3"')
    outcome = Outcome(tx, caller)
    change = remove if request.remove else add
    for ref in dict.fromkeys(request.on):
        change(outcome, task, task_of(tx, caller, ref, project=task.project_id))
    outcome.settle()
    return outcome.answer(task)


def add(outcome: Outcome, task: Task, on: Task) -> None:
    """Let `task` wait on `on`."""
    tx = outcome.tx
    check(tx, waiter=task, blocker=on)
    if not tx.tasks.graph.add(task.id, on.id):
        return
    if tx.tasks.graph.count(task.id) > limits.dependencies_of_one_task_max:
        most = limits.dependencies_of_one_task_max
        raise errors.Conflict(f"{task.ref} cannot wait on more than {most} tasks.")
    if on.status is not Status.COMPLETED:
        tx.tasks.graph.shift_open(task.id, 1)
        _warn_about_edge(outcome, task, on)
    _log_change(outcome, Kind.TASK_DEPENDENCY_ADDED, task, on)


def remove(outcome: Outcome, task: Task, on: Task) -> None:
    """Let `task` no longer wait on `on`."""
    tx = outcome.tx
    if not tx.tasks.graph.remove(task.id, on.id):
        raise errors.NotFound(f"{task.ref} does not depend on {on.ref}.")
    _log_change(outcome, Kind.TASK_DEPENDENCY_REMOVED, task, on)
    if on.status is Status.COMPLETED:
        return
    tx.tasks.graph.shift_open(task.id, -1)
    outcome.look_at(task.id)


def check(tx: Tx, *, waiter: Task, blocker: Task) -> None:
    """Refuse an edge that closes a cycle; the error names the tasks of the cycle."""
    try:
        tx.tasks.graph.make_room(waiter.id, blocker.id)
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


def _warn_about_edge(outcome: Outcome, task: Task, on: Task) -> None:
    if task.status in (Status.IN_PROGRESS, Status.IN_REVIEW):
        outcome.warnings.append(f"{task.ref} is already {task.status} and continues, although {on.ref} is open.")
    if _stages_cross(outcome.tx, task, on):
        outcome.warnings.append(
            f"{task.ref} ({task.stage}) and {on.ref} ({on.stage}) wait on each other: "
            "a stage waits for the stages before it."
        )
    if on.status in (Status.FAILED, Status.CANCELLED):
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


def _log_change(outcome: Outcome, kind: Kind, task: Task, on: Task) -> None:
    data = {"ref": task.ref, "on": on.id, "on_ref": on.ref}
    outcome.tx.log(Change(kind, task.id, task.project_id, data), actor=outcome.caller.name)
