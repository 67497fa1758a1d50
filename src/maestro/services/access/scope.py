"""Find the project and the tasks that a request names, and refuse callers without the right to read or write them."""

from __future__ import annotations

import re

from maestro.core import errors, ids
from maestro.domain.callers import Caller, Role
from maestro.domain.issues import is_issue
from maestro.domain.projects import Project
from maestro.domain.tasks import Task
from maestro.domain.visibility import may_read, may_read_task
from maestro.store.base import Tx

_TASK_REF = re.compile(r"(?P<project>[^#]*)#(?P<number>[0-9]{1,15})")


def find_project(tx: Tx, caller: Caller, name: str, *, project_at_hand: str = "") -> Project:
    """Return the named project, else the caller's own project.

    Checkouts of `project_at_hand` may link other projects under names of their own.
    """
    if not name:
        name = caller.project_id or ""
    if not name:
        raise errors.NotFound(
            "No project was named, and this directory belongs to no project.",
            hint="Run `maestro init` in a project's directory, or give --project NAME.",
        )
    if name.startswith("prj_") and (by_id := tx.projects.get(name)) is not None:
        return by_id
    found = (
        find_linked_project(tx, caller, name, project_at_hand=project_at_hand)
        or tx.projects.by_name(name)
        or tx.projects.by_key(name)
    )
    if found is None:
        raise errors.NotFound(f"There is no project {name!r}.", hint="List the projects: maestro project list")
    return found


def find_readable_project(tx: Tx, caller: Caller, name: str, *, action: str, hint: str) -> Project:
    """Return the named project, or refuse a session of another project. `action` is for the error text."""
    project = find_project(tx, caller, name)
    if not may_read(caller, project.id):
        raise errors.NotPermitted(
            f"A session {action} of its own project only, not of {project.name}.",
            hint=hint,
            data={"project": project.name},
        )
    return project


def find_linked_project(tx: Tx, caller: Caller, name: str, *, project_at_hand: str = "") -> Project | None:
    """Return the project that a link of the caller's checkout or project names, or None.

    A link comes before the server's names of projects.
    """
    current = caller.project_id or (
        tx.projects.get(project_at_hand) or tx.projects.by_name(project_at_hand) if project_at_hand else None
    )
    owner = current if isinstance(current, str) or current is None else current.id
    if owner is None:
        return None
    found = tx.links.find_project(name.lower(), workspace_id=caller.workspace_id, project_id=owner)
    return tx.projects.get(found) if found else None


def find_task(tx: Tx, caller: Caller, ref: str, *, project: str = "") -> Task:
    """Return the task that a reference names: an id, `vc#12`, or `#12` in the project at hand."""
    if ids.is_id(ref, "tsk"):
        task = tx.tasks.get(ref)
    else:
        task = _find_task_by_number(tx, caller, ref, project)
    if task is None:
        raise errors.NotFound(f"There is no task {ref!r}.", hint="List the tasks: maestro task list")
    return task


def _find_task_by_number(tx: Tx, caller: Caller, ref: str, project: str) -> Task | None:
    match = _TASK_REF.fullmatch(ref) or re.fullmatch(r"(?P<project>)(?P<number>[0-9]{1,15})", ref)
    if match is None:
        raise errors.NotFound(f"{ref!r} is not a task reference.", hint="Write vc#12, #12 or a task's id.")
    owner = find_project(tx, caller, match["project"] or project, project_at_hand=project if match["project"] else "")
    return tx.tasks.by_number(owner.id, int(match["number"]))


def require_readable_task(caller: Caller, task: Task) -> None:
    """Refuse a caller who may not read a task as a whole: its texts, documents and gate output."""
    if not may_read_task(caller, task):
        readers = "agents of the two projects of the issue" if is_issue(task) else "agents of its project"
        raise errors.NotPermitted(
            f"Only {readers} may read the texts, documents and gates of {task.ref}.",
            hint=f"See its title and status: maestro task show {task.ref}",
            data={"ref": task.ref},
        )


def require_own_project(caller: Caller, project: Project | None, *, action: str = "change tasks") -> None:
    """Refuse a session that would change another project. In other projects a session may only read."""
    if caller.is_session and project is not None and caller.project_id != project.id:
        raise errors.NotPermitted(
            f"This session may not {action} in project {project.name}: the session belongs to another project.",
            data={"project": project.name},
        )


def require_movable_task(tx: Tx, caller: Caller, task: Task, *, fence: int | None = None) -> None:
    """Refuse a caller who may not move a task.

    A worker moves only the tasks that it holds, a coordinator all tasks of its project. An old fence is refused.
    """
    require_own_project(caller, tx.projects.get(task.project_id) if caller.project_id != task.project_id else None)
    if caller.role is Role.WORKER and task.holder != caller.session_id:
        raise _not_held_error(task)
    if fence is not None and fence != task.fence:
        raise _old_claim_error(caller, task, fence)


def _not_held_error(task: Task) -> errors.MaestroError:
    data = {"id": task.id, "status": task.status, "holder": task.holder}
    if task.holder is None:
        hint = f"Claim the task: maestro task claim '{task.ref}'" if task.ready else ""
        return errors.NotHeld(
            f"You do not hold {task.ref}: the task has no holder and is {task.status}.", hint=hint, data=data
        )
    return errors.NotHeld(f"You do not hold {task.ref}: its holder is {task.holder}.", data=data)


def _old_claim_error(caller: Caller, task: Task, fence: int) -> errors.ClaimLost:
    text = f"The fence {fence} is not of the present claim of {task.ref}, whose fence is {task.fence}."
    hint = "Another session has claimed the task since. Stop working on the task."
    if task.holder == caller.name:
        hint = f"You hold the task: use the fence {task.fence}."
    return errors.ClaimLost(text, hint=hint, data={"id": task.id, "fence": task.fence, "holder": task.holder})
