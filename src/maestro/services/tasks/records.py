"""Making, changing and reading tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from maestro.core import errors, ids, limits
from maestro.domain import grants, tasks
from maestro.domain.callers import Caller, Role
from maestro.domain.events import Change, Kind
from maestro.domain.issues import is_awaited
from maestro.domain.projects import Project
from maestro.domain.sight import may_read_task, redact_task, redact_tasks
from maestro.domain.tasks import Status, Task
from maestro.operations import task_shapes as ops
from maestro.services import cursors
from maestro.services.runs.ownership import require_own_runs
from maestro.services.scope import may_move, may_write, project_of, task_of
from maestro.services.tasks import dependencies, moves
from maestro.services.tasks.consequences import Outcome, is_open
from maestro.store.base import Tx


def create(tx: Tx, caller: Caller, request: ops.CreateTask) -> ops.MovedTask:
    """A new task, its edges checked before it is there."""
    project = project_of(tx, caller, request.project)
    may_write(caller, project, what="create tasks")
    if request.gates:
        _require_gate_rights(caller)
    _known_stage(project, request.stage)
    parent = _parent(tx, caller, request.parent, project) if request.parent else None
    found_in = task_of(tx, caller, request.found_in, project=project.id) if request.found_in else None
    outcome = Outcome(tx, caller)
    task = new_task(tx, caller, request, project, parent, found_in)
    number = tx.tasks.insert(task)
    task = msgspec.structs.replace(task, number=number, ref=f"{project.name}#{number}")
    data = {"ref": task.ref, "title": task.title, "status": task.status.value}
    if found_in is not None:
        data["found_in"] = found_in.ref
    tx.log(Change(Kind.TASK_CREATED, task.id, project.id, data), actor=caller.name)
    for ref in dict.fromkeys(request.depends_on):
        dependencies.add(outcome, task, task_of(tx, caller, ref, project=project.id))
    _place_under(outcome, task, parent)
    if task.stage:
        outcome.look_at_stages(project.id, task.parent_id)
    outcome.settle()
    if request.depends_on or task.stage:
        task = tx.tasks.get(task.id) or task
    if task.ready:
        outcome.say_ready(task)
    return outcome.told(task)


def is_simple(request: ops.CreateTask) -> bool:
    """Whether nothing but the task itself is written: no edge to be searched for, no stage to be settled."""
    return not (request.depends_on or request.parent or request.stage)


def new_task(
    tx: Tx,
    caller: Caller,
    request: ops.CreateTask,
    project: Project,
    parent: Task | None,
    found_in: Task | None,
) -> Task:
    """A task as it is before the store has given it a number."""
    return Task(
        id=ids.new("tsk", tx.at),
        project_id=project.id,
        ref="",
        number=0,  # the store gives it one
        title=request.title.strip(),
        description=request.description,
        status=Status.TODO,
        priority=request.priority,
        ready=True,
        stage=request.stage,
        parent_id=parent.id if parent else None,
        found_in=found_in.id if found_in else None,
        member=request.member,
        accept=request.accept,
        gates=request.gates,
        archived=False,
        reason="",
        holder=None,
        holder_name=None,
        fence=0,
        lease_seconds=None,
        lease_until=None,
        open_blockers=0,
        stage_held=False,
        created_by=caller.name,
        created_at=tx.at,
        updated_at=tx.at,
        started_at=None,
        finished_at=None,
    )


def edit(tx: Tx, caller: Caller, request: ops.EditTask) -> ops.MovedTask:
    """Change what a task says; its status has moves of its own."""
    task = moves.current(tx, caller, request.id, project=request.project)
    may_move(tx, caller, task)
    changed = _changed_fields(tx, caller, request, task)
    if not changed:
        raise errors.Invalid("Nothing to change was given.", hint="Say at least one of --title, --description, …")
    after = msgspec.structs.replace(task, updated_at=tx.at, **changed)
    outcome = Outcome(tx, caller)
    unfinished = _unfinished(tx, task.parent_id, after.parent_id)
    tx.tasks.edit(after)
    told = {"ref": task.ref, "fields": sorted(changed)}
    tx.log(Change(Kind.TASK_EDITED, task.id, task.project_id, told), actor=caller.name)
    if "parent_id" in changed:
        _place_under(outcome, after, tx.tasks.get(after.parent_id) if after.parent_id else None)
    if "stage" in changed or "parent_id" in changed:
        # Stages first: a parent that is held back from now on does not complete.
        for scope in {task.parent_id, after.parent_id}:
            outcome.look_at_stages(task.project_id, scope)
    if "parent_id" in changed:
        for parent_id in unfinished:
            outcome.look_at_parent(parent_id)
    if task.stage_held and after.stage is None:
        outcome.look_at(task.id)
    outcome.settle()
    return outcome.answer(after)


def _unfinished(tx: Tx, *parents: str | None) -> list[str]:
    """Those that still have something open below them: only they can be done by a change of their children."""
    return [parent for parent in dict.fromkeys(parents) if parent and not tx.tasks.children_are_done(parent)]


def _changed_fields(tx: Tx, caller: Caller, request: ops.EditTask, task: Task) -> dict[str, Any]:
    names = ("title", "description", "priority", "accept", "gates", "archived")
    changed = {name: value for name in names if (value := getattr(request, name)) is not None}
    if request.gates is not None:
        _require_gate_rights(caller)
    for name in ("stage", "member"):
        if (value := getattr(request, name)) is not None:
            changed[name] = value or None
    project = tx.projects.get(task.project_id)
    assert project is not None
    _known_stage(project, changed.get("stage"))
    if request.parent is not None:
        below = tx.tasks.height(task.id)
        parent = _parent(tx, caller, request.parent, project, below=below) if request.parent else None
        changed["parent_id"] = parent.id if parent else None
    return changed


def delete(tx: Tx, caller: Caller, request: ops.OneTask) -> ops.Deleted:
    """Remove a task, unless others rest on it or wait to hear of it."""
    task = moves.current(tx, caller, request.id, project=request.project)
    may_move(tx, caller, task)
    require_own_runs(tx, caller, task)
    if is_awaited(task):
        raise _awaited(tx, task)
    resting = tx.tasks.dependants(task.id, limit=limits.blockers_shown_max)
    resting += tx.tasks.children(task.id, limit=limits.blockers_shown_max)
    if resting:
        raise errors.Conflict(
            f"{task.ref} cannot be deleted: {', '.join(other.ref for other in resting)} rest on it.",
            hint="Cancel it instead, or take the dependencies away first.",
            data={"dependants": [other.ref for other in resting]},
        )
    outcome = Outcome(tx, caller)
    unfinished = _unfinished(tx, task.parent_id)
    tx.tasks.delete(task.id)
    tx.log(
        Change(Kind.TASK_DELETED, task.id, task.project_id, {"ref": task.ref, "title": task.title}),
        actor=caller.name,
    )
    if task.stage:
        outcome.look_at_stages(task.project_id, task.parent_id)
    for parent_id in unfinished:
        outcome.look_at_parent(parent_id)
    outcome.settle()
    return ops.Deleted(id=task.id, ref=task.ref)


def _awaited(tx: Tx, task: Task) -> errors.Conflict:
    opener = tx.projects.get(task.from_project_id or "")
    name = opener.name if opener else "another project"
    return errors.Conflict(
        f"{task.ref} was opened from {name}, which would not hear of its end.",
        hint=f"Close it, and they are told: maestro issue close {task.ref} --wont-fix --message …",
        data={"ref": task.ref, "from": name},
    )


def list_page(tx: Tx, caller: Caller, request: ops.ListTasks) -> ops.TaskList:
    project = project_of(tx, caller, request.project)
    after, limit = cursors.number(request.cursor), request.limit + 1
    if request.mine:
        found = tx.tasks.of_holder_in(project.id, caller.name, after=after, limit=limit, status=request.status)
    else:
        found = tx.tasks.page(project.id, after=after, limit=limit, status=request.status, archived=request.archived)
    return _page(caller, found, request.limit)


def ready(tx: Tx, caller: Caller, request: ops.ReadyTasks) -> ops.TaskList:
    project = project_of(tx, caller, request.project)
    parent = task_of(tx, caller, request.parent, project=project.id) if request.parent else None
    found = tx.tasks.ready(
        project.id,
        parent_id=parent.id if parent else None,
        after=_place(request.cursor),
        limit=request.limit + 1,
    )
    more = len(found) > request.limit
    found = redact_tasks(caller, found[: request.limit])
    cursor = f"{found[-1].priority.rank}.{found[-1].number}" if more else None
    return ops.TaskList(tasks=found, cursor=cursor)


def blocked(tx: Tx, caller: Caller, request: ops.Page) -> ops.WaitingTasks:
    project = project_of(tx, caller, request.project)
    found = tx.tasks.waiting(project.id, after=cursors.number(request.cursor), limit=request.limit + 1)
    page = _page(caller, found, request.limit)
    waiting = [ops.WaitingTask(**msgspec.structs.asdict(task), **_waits(tx, task)) for task in page.tasks]
    return ops.WaitingTasks(tasks=waiting, cursor=page.cursor)


def children(tx: Tx, caller: Caller, request: ops.ChildrenOf) -> ops.TaskList:
    parent = task_of(tx, caller, request.id, project=request.project)
    found = tx.tasks.children(parent.id, after=cursors.number(request.cursor), limit=request.limit + 1)
    return _page(caller, found, request.limit)


def show(tx: Tx, caller: Caller, request: ops.OneTask) -> ops.TaskDetail:
    task = task_of(tx, caller, request.id, project=request.project)
    many = limits.page_items_default
    return ops.TaskDetail(
        **msgspec.structs.asdict(redact_task(caller, task)),
        **_waits(tx, task),
        dependencies=links(tx.tasks.dependencies(task.id, limit=many)),
        dependants=links(tx.tasks.dependants(task.id, limit=many)),
        children=links(tx.tasks.children(task.id, limit=many)),
        found=links(tx.tasks.found_in(task.id, limit=many)),
        origin=links([origin])[0] if (origin := _origin(tx, task)) else None,
        **_belongings(tx, caller, task),
    )


def _belongings(tx: Tx, caller: Caller, task: Task) -> dict[str, Any]:
    """Return what was put to a task; nothing of it for a caller who sees only the outline."""
    if not may_read_task(caller, task):
        return {"reports": [], "documents": []}
    many = limits.page_items_default
    return {
        "reports": tx.documents.reports(task.id, limit=many),
        "documents": tx.documents.of_task(task.id, limit=many),
        "evidence": tx.gates.of_task(task.id, limit=many),
        "usage": tx.talks.usage_of_task(task.id, limit=many),
    }


def _origin(tx: Tx, task: Task) -> Task | None:
    return tx.tasks.get(task.found_in) if task.found_in else None


def tree(tx: Tx, caller: Caller, request: ops.TreeOf) -> ops.TaskTree:
    """Tasks under their parents, depth first, bounded."""
    if request.id:
        tops = [task_of(tx, caller, request.id, project=request.project)]
    else:
        project = project_of(tx, caller, request.project)
        tops = tx.tasks.roots(project.id, limit=limits.tree_items_max)
    nodes: list[ops.TaskNode] = []
    waiting = [(task, 0) for task in reversed(tops)]
    while waiting and len(nodes) < limits.tree_items_max:
        task, depth = waiting.pop()
        waits_on = tx.tasks.dependencies(task.id, limit=limits.blockers_shown_max)
        fields = msgspec.structs.asdict(redact_task(caller, task))
        nodes.append(ops.TaskNode(**fields, depth=depth, depends_on=[other.ref for other in waits_on]))
        below = tx.tasks.children(task.id, limit=limits.tree_items_max)
        waiting.extend((child, depth + 1) for child in reversed(below))
    return ops.TaskTree(tasks=nodes, truncated=bool(waiting))


def _waits(tx: Tx, task: Task) -> dict[str, Any]:
    blockers = tx.tasks.blockers(task.id, limit=limits.blockers_shown_max) if task.open_blockers else []
    return {"blockers": links(blockers), "waits_for_stage": moves.earlier_stage(tx, task)}


def links(found: Sequence[Task]) -> list[ops.TaskLink]:
    return [ops.TaskLink(task.id, task.ref, task.title, task.status) for task in found]


def _page(caller: Caller, found: list[Task], limit: int) -> ops.TaskList:
    shown = redact_tasks(caller, found[:limit])
    return ops.TaskList(tasks=shown, cursor=str(shown[-1].number) if len(found) > limit else None)


def _place(cursor: str) -> tuple[int, int]:
    """A place in the list of ready tasks: priority and number."""
    if not cursor:
        return (-1, 0)
    rank, _, number = cursor.partition(".")
    return (cursors.number(rank), cursors.number(number))


def _parent(tx: Tx, caller: Caller, ref: str, project: Project, *, below: int = 0) -> Task:
    parent = task_of(tx, caller, ref, project=project.id)
    if parent.project_id != project.id:
        raise errors.Invalid(
            f"{parent.ref} is in another project: a parent must be in the same.",
            hint="To wait on another project's task, use --depends-on.",
        )
    depth, above = 1 + below, parent
    while above.parent_id is not None and (next_above := tx.tasks.get(above.parent_id)):
        depth, above = depth + 1, next_above
    if depth >= limits.task_depth_max:
        raise errors.Invalid(f"Tasks nest at most {limits.task_depth_max} deep.")
    return parent


def _place_under(outcome: Outcome, task: Task, parent: Task | None) -> None:
    """A parent waits on its children: refuse what would wait on itself, and open a finished parent again."""
    if parent is None:
        return
    dependencies.check(outcome.tx, waiter=parent, blocker=task)
    if parent.status in tasks.FINAL and is_open(task):
        may_move(outcome.tx, outcome.caller, parent)
        outcome.warnings.append(f"{parent.ref} was {parent.status}; it is open again for its new child.")
        outcome.apply(tasks.reopen(parent, at=outcome.tx.at))


def _known_stage(project: Project, stage: str | None) -> None:
    if stage is not None and stage not in project.stages:
        raise errors.Invalid(
            f"{project.name} has no stage {stage!r}.",
            hint=f"Its stages are: {', '.join(project.stages)}. Change them: maestro project edit --stages …",
            data={"stages": project.stages},
        )


def _require_gate_rights(caller: Caller) -> None:
    """Refuse a caller that may not set the gates of tasks."""
    if caller.role is Role.WORKER:
        raise errors.NotPermitted("Only the person or a coordinator sets gates.")
    grants.require_gates(caller)
