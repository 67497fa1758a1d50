"""Decide what a caller may read. No other module makes this decision. Pure.

The person reads everything. A session reads all records of its own project. An issue belongs to two projects: the
asking project and the asked project. Of the tasks, members and events of other projects a session sees an outline:
the `redact_…` functions remove the other fields.
"""

from __future__ import annotations

import msgspec

from maestro.domain.callers import Caller, Role
from maestro.domain.events import Event, EventKind
from maestro.domain.members import Member
from maestro.domain.tasks import Task

# Events that quote an agent or a person, or tell what a project's programs did.
_HIDDEN_KINDS = frozenset(
    {
        EventKind.TASK_REPORTED,
        EventKind.TASK_DOCUMENT_ADDED,
        EventKind.SESSION_REPORTED,
        EventKind.SESSION_TURN_ENDED,
        EventKind.GATE_PASSED,
        EventKind.GATE_FAILED,
        EventKind.ASK_OPENED,
        EventKind.ASK_ANSWERED,
        EventKind.ASK_WITHDRAWN,
    }
)
# Fields of all other events that belong to the outline. `title` is the title of a task in such events.
_OUTLINE_FIELDS = frozenset(
    {"ref", "title", "from", "status", "holder", "fence", "on", "on_ref", "name", "mode", "parent"}
)


def may_read(caller: Caller, *owners: str | None) -> bool:
    """Return whether the caller may read records of the projects `owners`: the person always, a session its own."""
    if caller.role is Role.PERSON:
        return True
    return caller.is_session and caller.project_id is not None and caller.project_id in owners


def may_read_task(caller: Caller, task: Task) -> bool:
    """Return whether the caller may read a whole task. An issue also belongs to the project that opened it."""
    return may_read(caller, task.project_id, task.from_project_id)


def redact_task(caller: Caller, task: Task) -> Task:
    """Return the task as the caller may see it: of another project's task only the title, the status and the like."""
    if may_read_task(caller, task):
        return task
    return msgspec.structs.replace(task, description="", reason="", accept=[], gates=[])


def redact_tasks(caller: Caller, tasks: list[Task]) -> list[Task]:
    """Return a page of tasks, each as the caller may see it."""
    return tasks if caller.role is Role.PERSON else [redact_task(caller, task) for task in tasks]


def redact_member(caller: Caller, member: Member) -> Member:
    """Return the member as the caller may see it: of another project's member only the name and the role."""
    if may_read(caller, member.project_id):
        return member
    return msgspec.structs.replace(
        member, identity="", skills=[], model=None, tool=None, permission=None, allow=[], deny=[]
    )


def redact_event(event: Event) -> Event | None:
    """Return the outline of an event for a caller that may not read it; None for an event without an outline."""
    if event.kind in _HIDDEN_KINDS:
        return None
    kept = {name: value for name, value in event.data.items() if name in _OUTLINE_FIELDS}
    return msgspec.structs.replace(event, data=kept)
