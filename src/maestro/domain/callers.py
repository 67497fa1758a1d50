"""Who is calling, and the flags by which an operation says who may."""

from __future__ import annotations

import enum

import msgspec

from maestro.domain.members import Permission


class Role(enum.StrEnum):
    """What the server found the caller to be."""

    PERSON = "person"
    COORDINATOR = "coordinator"
    WORKER = "worker"
    NOBODY = "nobody"


class Callers(enum.Flag):
    """Who may call an operation. HOLDER is a worker, but only on a task that it holds."""

    PERSON = enum.auto()
    COORDINATOR = enum.auto()
    WORKER = enum.auto()
    HOLDER = enum.auto()
    NOBODY = enum.auto()

    SESSIONS = COORDINATOR | WORKER
    KNOWN = PERSON | COORDINATOR | WORKER
    MOVERS = PERSON | COORDINATOR | HOLDER
    OWNERS = PERSON | COORDINATOR
    ANYONE = KNOWN | NOBODY


class Caller(msgspec.Struct, frozen=True):
    """An attested caller: every field comes from the server's own knowledge, none from the request."""

    role: Role
    name: str  # who it is on every record: a session's id, or the person's name
    session_id: str | None = None
    project_id: str | None = None
    human: str = ""
    title: str = ""  # a session's own name
    address: str | None = None
    parent_id: str | None = None
    member_id: str | None = None
    workspace_id: str | None = None
    allow: frozenset[str] = frozenset()  # what its member may besides its role, and what not
    deny: frozenset[str] = frozenset()
    grant: Permission = Permission.PLAN  # the highest level that a session may give (domain/grants.py)

    @property
    def is_session(self) -> bool:
        return self.session_id is not None


# The server itself: what it does on its own stands in the log under this name.
SERVER = "maestro"
THE_SERVER = Caller(Role.PERSON, SERVER)


def nobody() -> Caller:
    """A caller that could not be placed. It may ask for help and status, and nothing else."""
    return Caller(Role.NOBODY, "nobody")


def person(name: str) -> Caller:
    """The person at the keyboard."""
    return Caller(Role.PERSON, name, human=name)


# As plain numbers: this is asked with every request.
_CALLS_AS = {
    Role.PERSON: Callers.PERSON.value,
    Role.COORDINATOR: Callers.COORDINATOR.value,
    Role.WORKER: (Callers.WORKER | Callers.HOLDER).value,
    Role.NOBODY: Callers.NOBODY.value,
}


def permits(callers: Callers, role: Role) -> bool:
    """Whether a role may call at all; a HOLDER's hold is checked where the task is read."""
    return bool(callers._value_ & _CALLS_AS[role])  # not `value`, which is ten times as slow


def may_call(caller: Caller, operation: str, callers: Callers) -> bool:
    """Whether a caller may call an operation: by its role, and by what its member is allowed and denied."""
    if operation in caller.deny:
        return False
    return permits(callers, caller.role) or operation in caller.allow
