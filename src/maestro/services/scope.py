"""Finding what a request is about: its project and its tasks, in every spelling people use."""

from __future__ import annotations

import re

from maestro.core import errors, ids
from maestro.domain.callers import Caller, Role
from maestro.domain.issues import is_issue
from maestro.domain.projects import Project
from maestro.domain.sight import may_read, may_read_task
from maestro.domain.tasks import Task
from maestro.store.base import Tx

_NUMBERED = re.compile(r"(?P<project>[^#]*)#(?P<number>[0-9]{1,15})")


def project_of(tx: Tx, caller: Caller, name: str, *, here: str = "") -> Project:
    """The project named, else the caller's own. `here`: the project at hand, whose checkouts may call it so."""
    if not name:
        name = caller.project_id or ""
    if not name:
        raise errors.NotFound(
            "No project was named, and this directory is not in one.",
            hint="Run `maestro init` in a project's directory, or say --project NAME.",
        )
    if name.startswith("prj_") and (known := tx.projects.get(name)) is not None:
        return known
    found = linked(tx, caller, name, here=here) or tx.projects.by_name(name) or tx.projects.by_key(name)
    if found is None:
        raise errors.NotFound(f"There is no project {name!r}.", hint="`maestro project list` shows those there are.")
    return found


def readable_project(tx: Tx, caller: Caller, name: str, *, what: str, hint: str) -> Project:
    """Return the project that is named, or refuse a session of another one. `what`: what the session does there."""
    project = project_of(tx, caller, name)
    if not may_read(caller, project.id):
        raise errors.NotPermitted(
            f"A session {what} of its own project, not of {project.name}.", hint=hint, data={"project": project.name}
        )
    return project


def linked(tx: Tx, caller: Caller, name: str, *, here: str = "") -> Project | None:
    """The project that a name means where the caller is: its own settings come before what the server calls it."""
    at_hand = caller.project_id or (tx.projects.get(here) or tx.projects.by_name(here) if here else None)
    owner = at_hand if isinstance(at_hand, str) or at_hand is None else at_hand.id
    if owner is None:
        return None
    found = tx.links.find(name.lower(), workspace_id=caller.workspace_id, project_id=owner)
    return tx.projects.get(found) if found else None


def task_of(tx: Tx, caller: Caller, ref: str, *, project: str = "") -> Task:
    """The task a reference names: an id, `vc#12`, or `#12` in the project at hand."""
    if ids.is_id(ref, "tsk"):
        task = tx.tasks.get(ref)
    else:
        task = _by_number(tx, caller, ref, project)
    if task is None:
        raise errors.NotFound(f"There is no task {ref!r}.", hint="`maestro task list` shows those there are.")
    return task


def _by_number(tx: Tx, caller: Caller, ref: str, project: str) -> Task | None:
    match = _NUMBERED.fullmatch(ref) or re.fullmatch(r"(?P<project>)(?P<number>[0-9]{1,15})", ref)
    if match is None:
        raise errors.NotFound(f"{ref!r} is not a task.", hint="Write vc#12, #12 or a task's id.")
    owner = project_of(tx, caller, match["project"] or project, here=project if match["project"] else "")
    return tx.tasks.by_number(owner.id, int(match["number"]))


def require_readable(caller: Caller, task: Task) -> None:
    """Refuse a caller who may not read a task as a whole: its texts, documents and gate output."""
    if not may_read_task(caller, task):
        readers = "the two projects of that issue" if is_issue(task) else "agents of its own project"
        raise errors.NotPermitted(
            f"What belongs to {task.ref} is for {readers}.",
            hint=f"Its title and status: maestro task show {task.ref}",
            data={"ref": task.ref},
        )


def may_write(caller: Caller, project: Project | None, *, what: str = "change tasks") -> None:
    """A session works in its own project; elsewhere it may only look."""
    if caller.is_session and project is not None and caller.project_id != project.id:
        raise errors.NotPermitted(
            f"This session may not {what} in project {project.name}: it belongs to another one.",
            data={"project": project.name},
        )


def may_move(tx: Tx, caller: Caller, task: Task, *, fence: int | None = None) -> None:
    """A worker moves only what it holds; a coordinator whatever its project has; an old fence moves nothing."""
    may_write(caller, tx.projects.get(task.project_id) if caller.project_id != task.project_id else None)
    if caller.role is Role.WORKER and task.holder != caller.session_id:
        raise _not_held(task)
    if fence is not None and fence != task.fence:
        raise _old_claim(caller, task, fence)


def _not_held(task: Task) -> errors.MaestroError:
    data = {"id": task.id, "status": task.status, "holder": task.holder}
    if task.holder is None:
        hint = f"Claim it: maestro task claim '{task.ref}'" if task.ready else ""
        return errors.NotHeld(f"You do not hold {task.ref}: nobody does; it is {task.status}.", hint=hint, data=data)
    return errors.NotHeld(f"You do not hold {task.ref}: {task.holder} does.", data=data)


def _old_claim(caller: Caller, task: Task, fence: int) -> errors.ClaimLost:
    told = f"{fence} is not the number of the present claim of {task.ref}: that is {task.fence}."
    hint = "Someone else has claimed the task since. Stop working on it."
    if task.holder == caller.name:
        hint = "You hold it under that number."
    return errors.ClaimLost(told, hint=hint, data={"id": task.id, "fence": task.fence, "holder": task.holder})
