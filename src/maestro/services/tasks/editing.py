"""Create, edit, delete and read tasks."""

from __future__ import annotations

from typing import Any

import msgspec

from maestro.core import errors, ids, limits
from maestro.domain import grants, tasks
from maestro.domain.callers import Caller, Role
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.issues import is_awaited
from maestro.domain.projects import Project
from maestro.domain.tasks import Task, TaskStatus
from maestro.domain.visibility import may_read_task, redact_task, redact_tasks
from maestro.operations import task_shapes as ops
from maestro.services import cursors
from maestro.services.access.scope import find_project, find_task, require_movable_task, require_own_project
from maestro.services.sessions.run_ownership import require_own_runs
from maestro.services.task_links import task_links
from maestro.services.tasks import dependencies, moves
from maestro.services.tasks.consequences import TaskConsequences, is_open
from maestro.store.base import Tx


def create_task(tx: Tx, caller: Caller, request: ops.CreateTask) -> ops.MovedTask:
    """Create a task with its dependencies. A dependency that closes a cycle refuses the whole request."""
    project = find_project(tx, caller, request.project)
    require_own_project(caller, project, action="create tasks")
    if request.gates:
        _require_gate_rights(caller)
    _require_stage(project, request.stage)
    parent = _parent(tx, caller, request.parent, project) if request.parent else None
    found_in = find_task(tx, caller, request.found_in, project=project.id) if request.found_in else None
    outcome = TaskConsequences(tx, caller)
    task = new_task(tx, caller, request, project, parent, found_in)
    number = tx.tasks.insert(task)
    task = msgspec.structs.replace(task, number=number, ref=f"{project.name}#{number}")
    data = {"ref": task.ref, "title": task.title, "status": task.status.value}
    if found_in is not None:
        data["found_in"] = found_in.ref
    tx.log(NewEvent(EventKind.TASK_CREATED, task.id, project.id, data), actor=caller.name)
    for ref in dict.fromkeys(request.depends_on):
        dependencies.add_dependency(outcome, task, find_task(tx, caller, ref, project=project.id))
    _attach_to_parent(outcome, task, parent)
    if task.stage:
        outcome.queue_stages(project.id, task.parent_id)
    outcome.run_queued_checks()
    if request.depends_on or task.stage:
        task = tx.tasks.get(task.id) or task
    if task.ready:
        outcome.announce_ready(task)
    return outcome.answer_with(task)


def is_simple_creation(request: ops.CreateTask) -> bool:
    """Return whether the request writes only the task itself: no cycle search, and no stage to settle."""
    return not (request.depends_on or request.parent or request.stage)


def new_task(
    tx: Tx,
    caller: Caller,
    request: ops.CreateTask,
    project: Project,
    parent: Task | None,
    found_in: Task | None,
) -> Task:
    """Return a task as it is before the store assigns its number."""
    return Task(
        id=ids.new_id("tsk", tx.at),
        project_id=project.id,
        ref="",
        number=0,  # the store assigns the number
        title=request.title.strip(),
        description=request.description,
        status=TaskStatus.TODO,
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


def edit_task(tx: Tx, caller: Caller, request: ops.EditTask) -> ops.MovedTask:
    """Edit the fields of a task. Its status changes only by moves."""
    task = moves.current_task(tx, caller, request.id, project=request.project)
    require_movable_task(tx, caller, task)
    changed = _changed_fields(tx, caller, request, task)
    if not changed:
        hint = "Give at least one of --title, --description, …"
        raise errors.Invalid(f"No change was given for {task.ref}.", hint=hint)
    after = msgspec.structs.replace(task, updated_at=tx.at, **changed)
    outcome = TaskConsequences(tx, caller)
    unfinished = _unfinished_parents(tx, task.parent_id, after.parent_id)
    tx.tasks.update(after)
    data = {"ref": task.ref, "fields": sorted(changed)}
    tx.log(NewEvent(EventKind.TASK_EDITED, task.id, task.project_id, data), actor=caller.name)
    if "parent_id" in changed:
        _attach_to_parent(outcome, after, tx.tasks.get(after.parent_id) if after.parent_id else None)
    if "stage" in changed or "parent_id" in changed:
        # Stages come first: a parent that a stage holds back from now on must not complete.
        for scope in {task.parent_id, after.parent_id}:
            outcome.queue_stages(task.project_id, scope)
    if "parent_id" in changed:
        for parent_id in unfinished:
            outcome.queue_parent(parent_id)
    if task.stage_held and after.stage is None:
        outcome.queue_task(task.id)
    outcome.run_queued_checks()
    return outcome.answer_with_stored(after)


def _unfinished_parents(tx: Tx, *parents: str | None) -> list[str]:
    """Return the parents with open children: only these parents can complete by a change of their children."""
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
    _require_stage(project, changed.get("stage"))
    if request.parent is not None:
        below = tx.tasks.subtree_height(task.id)
        parent = _parent(tx, caller, request.parent, project, below=below) if request.parent else None
        changed["parent_id"] = parent.id if parent else None
    return changed


def delete_task(tx: Tx, caller: Caller, request: ops.OneTask) -> ops.DeletedTask:
    """Delete a task, unless other tasks depend on the task or another project waits for its end."""
    task = moves.current_task(tx, caller, request.id, project=request.project)
    require_movable_task(tx, caller, task)
    require_own_runs(tx, caller, task)
    if is_awaited(task):
        raise _awaited_error(tx, task)
    dependants = tx.tasks.list_dependants(task.id, limit=limits.blockers_shown_max)
    dependants += tx.tasks.list_children(task.id, limit=limits.blockers_shown_max)
    if dependants:
        refs = [dependant.ref for dependant in dependants]
        raise errors.Conflict(
            f"{task.ref} cannot be deleted: {', '.join(refs)} depend on {task.ref}.",
            hint=f"Cancel {task.ref} instead, or remove the dependencies first.",
            data={"dependants": refs},
        )
    outcome = TaskConsequences(tx, caller)
    unfinished = _unfinished_parents(tx, task.parent_id)
    tx.tasks.delete(task.id)
    tx.log(
        NewEvent(EventKind.TASK_DELETED, task.id, task.project_id, {"ref": task.ref, "title": task.title}),
        actor=caller.name,
    )
    if task.stage:
        outcome.queue_stages(task.project_id, task.parent_id)
    for parent_id in unfinished:
        outcome.queue_parent(parent_id)
    outcome.run_queued_checks()
    return ops.DeletedTask(id=task.id, ref=task.ref)


def _awaited_error(tx: Tx, task: Task) -> errors.Conflict:
    opener = tx.projects.get(task.from_project_id or "")
    name = opener.name if opener else "another project"
    return errors.Conflict(
        f"{task.ref} was opened from {name}. A deletion would not notify {name}.",
        hint=f"Close the issue, which notifies {name}: maestro issue close {task.ref} --wont-fix --message …",
        data={"ref": task.ref, "from": name},
    )


def list_tasks(tx: Tx, caller: Caller, request: ops.ListTasks) -> ops.TaskList:
    project = find_project(tx, caller, request.project)
    after, limit = cursors.parse_cursor(request.cursor), request.limit + 1
    if request.mine:
        listed = tx.tasks.of_holder_in(project.id, caller.name, after=after, limit=limit, status=request.status)
    else:
        listed = tx.tasks.list_page(
            project.id, after=after, limit=limit, status=request.status, archived=request.archived
        )
    return _page(caller, listed, request.limit)


def list_ready_tasks(tx: Tx, caller: Caller, request: ops.ReadyTasks) -> ops.ReadyTaskList:
    project = find_project(tx, caller, request.project)
    parent = find_task(tx, caller, request.parent, project=project.id) if request.parent else None
    listed = tx.tasks.list_ready(
        project.id,
        parent_id=parent.id if parent else None,
        after=_ready_position(request.cursor),
        limit=request.limit + 1,
    )
    has_more = len(listed) > request.limit
    shown = redact_tasks(caller, listed[: request.limit])
    cursor = f"{shown[-1].priority.rank}.{shown[-1].number}" if has_more else None
    is_empty = not shown and not request.cursor and parent is None
    return ops.ReadyTaskList(tasks=shown, cursor=cursor, not_ready=_count_open(tx, project) if is_empty else {})


def _count_open(tx: Tx, project: Project) -> dict[str, int]:
    """Return the number of open tasks of a project by status."""
    counts, _ = tx.tasks.count_by_status(project.id)
    return {status: count for status, count in counts.items() if TaskStatus(status) not in tasks.FINAL_STATUSES}


def list_blocked_tasks(tx: Tx, caller: Caller, request: ops.TaskPage) -> ops.WaitingTasks:
    project = find_project(tx, caller, request.project)
    listed = tx.tasks.list_waiting(project.id, after=cursors.parse_cursor(request.cursor), limit=request.limit + 1)
    page = _page(caller, listed, request.limit)
    waiting = [ops.WaitingTask(**msgspec.structs.asdict(task), **_open_waits(tx, task)) for task in page.tasks]
    return ops.WaitingTasks(tasks=waiting, cursor=page.cursor)


def list_children(tx: Tx, caller: Caller, request: ops.ListChildren) -> ops.TaskList:
    parent = find_task(tx, caller, request.id, project=request.project)
    listed = tx.tasks.list_children(parent.id, after=cursors.parse_cursor(request.cursor), limit=request.limit + 1)
    return _page(caller, listed, request.limit)


def show_task(tx: Tx, caller: Caller, request: ops.OneTask) -> ops.TaskDetail:
    task = find_task(tx, caller, request.id, project=request.project)
    limit = limits.page_items_default
    return ops.TaskDetail(
        **msgspec.structs.asdict(redact_task(caller, task)),
        **_open_waits(tx, task),
        dependencies=task_links(tx.tasks.list_dependencies(task.id, limit=limit)),
        dependants=task_links(tx.tasks.list_dependants(task.id, limit=limit)),
        children=task_links(tx.tasks.list_children(task.id, limit=limit)),
        found=task_links(tx.tasks.list_found_in(task.id, limit=limit)),
        origin=task_links([origin])[0] if (origin := _origin(tx, task)) else None,
        **_attachments(tx, caller, task),
    )


def _attachments(tx: Tx, caller: Caller, task: Task) -> dict[str, Any]:
    """Return reports, documents, evidence and usage of the task; none for a caller that sees only its outline."""
    if not may_read_task(caller, task):
        return {"reports": [], "documents": []}
    limit = limits.page_items_default
    return {
        "reports": tx.documents.reports_of_task(task.id, limit=limit),
        "documents": tx.documents.of_task(task.id, limit=limit),
        "evidence": tx.gates.of_task(task.id, limit=limit),
        "usage": tx.conversations.usage_of_task(task.id, limit=limit),
    }


def _origin(tx: Tx, task: Task) -> Task | None:
    return tx.tasks.get(task.found_in) if task.found_in else None


def show_tree(tx: Tx, caller: Caller, request: ops.ShowTaskTree) -> ops.TaskTree:
    """Return tasks below their parents, depth first and bounded."""
    if request.id:
        roots = [find_task(tx, caller, request.id, project=request.project)]
    else:
        project = find_project(tx, caller, request.project)
        roots = tx.tasks.list_roots(project.id, limit=limits.tree_items_max)
    nodes: list[ops.TaskNode] = []
    stack = [(task, 0) for task in reversed(roots)]
    while stack and len(nodes) < limits.tree_items_max:
        task, depth = stack.pop()
        blockers = tx.tasks.list_dependencies(task.id, limit=limits.blockers_shown_max)
        fields = msgspec.structs.asdict(redact_task(caller, task))
        nodes.append(ops.TaskNode(**fields, depth=depth, depends_on=[blocker.ref for blocker in blockers]))
        below = tx.tasks.list_children(task.id, limit=limits.tree_items_max)
        stack.extend((child, depth + 1) for child in reversed(below))
    return ops.TaskTree(tasks=nodes, truncated=bool(stack))


def _open_waits(tx: Tx, task: Task) -> dict[str, Any]:
    blockers = tx.tasks.list_blockers(task.id, limit=limits.blockers_shown_max) if task.open_blockers else []
    return {"blockers": task_links(blockers), "waits_for_stage": moves.earlier_stage(tx, task)}


def _page(caller: Caller, listed: list[Task], limit: int) -> ops.TaskList:
    """Return the first `limit` tasks, and a cursor if `listed` holds more."""
    shown = redact_tasks(caller, listed[:limit])
    return ops.TaskList(tasks=shown, cursor=str(shown[-1].number) if len(listed) > limit else None)


def _ready_position(cursor: str) -> tuple[int, int]:
    """Return the position that the cursor names in the list of ready tasks: priority rank and number."""
    if not cursor:
        return (-1, 0)
    rank, _, number = cursor.partition(".")
    return (cursors.parse_cursor(rank), cursors.parse_cursor(number))


def _parent(tx: Tx, caller: Caller, ref: str, project: Project, *, below: int = 0) -> Task:
    parent = find_task(tx, caller, ref, project=project.id)
    if parent.project_id != project.id:
        raise errors.Invalid(
            f"{parent.ref} is in another project: a parent must be in {project.name}, the project of its children.",
            hint="To wait on another project's task, use --depends-on.",
        )
    depth, above = 1 + below, parent
    while above.parent_id is not None and (next_above := tx.tasks.get(above.parent_id)):
        depth, above = depth + 1, next_above
    if depth >= limits.task_depth_max:
        raise errors.Invalid(f"{parent.ref} is too deep for another child: tasks nest {limits.task_depth_max} deep.")
    return parent


def _attach_to_parent(outcome: TaskConsequences, task: Task, parent: Task | None) -> None:
    """Let the parent wait on its new child: refuse a cycle, and reopen a finished parent."""
    if parent is None:
        return
    dependencies.require_no_cycle(outcome.tx, waiter=parent, blocker=task)
    if parent.status in tasks.FINAL_STATUSES and is_open(task):
        require_movable_task(outcome.tx, outcome.caller, parent)
        outcome.warnings.append(f"{parent.ref} was {parent.status} and is open again for its new child {task.ref}.")
        outcome.apply_move(tasks.reopen(parent, at=outcome.tx.at))


def _require_stage(project: Project, stage: str | None) -> None:
    if stage is not None and stage not in project.stages:
        raise errors.Invalid(
            f"{project.name} has no stage {stage!r}.",
            hint=f"Its stages are: {', '.join(project.stages)}. To change stages: maestro project edit --stages …",
            data={"stages": project.stages},
        )


def _require_gate_rights(caller: Caller) -> None:
    """Refuse a caller that may not set the gates of tasks."""
    if caller.role is Role.WORKER:
        raise errors.NotPermitted("Only the person or a coordinator sets gates.")
    grants.require_gates(caller)
