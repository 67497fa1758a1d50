"""The caller of an operation, and the flags with which an operation declares its permitted callers."""

from __future__ import annotations

import enum

import msgspec

from maestro.domain.members import Permission


class Role(enum.StrEnum):
    """The role of a caller, as the server found it."""

    PERSON = "person"
    COORDINATOR = "coordinator"
    WORKER = "worker"
    NOBODY = "nobody"


class Callers(enum.Flag):
    """The callers that an operation permits. HOLDER permits a worker, but only on a task that the worker holds."""

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
    """An attested caller. The server fills every field from its own records; no field comes from the request."""

    role: Role
    name: str  # written into every record: a session's id, or the person's name
    session_id: str | None = None
    project_id: str | None = None
    human: str = ""
    title: str = ""  # a session's own name
    address: str | None = None
    parent_id: str | None = None
    member_id: str | None = None
    workspace_id: str | None = None
    allow: frozenset[str] = frozenset()  # operations that the caller's member may call in addition to the role
    deny: frozenset[str] = frozenset()  # operations that the caller's member may not call
    grant: Permission = Permission.PLAN  # the highest level that a session may give (domain/grants.py)

    @property
    def is_session(self) -> bool:
        return self.session_id is not None


# The server's name in the log, for changes that the server makes without a request.
SERVER_NAME = "maestro"
SERVER_CALLER = Caller(Role.PERSON, SERVER_NAME)


def unidentified_caller() -> Caller:
    """Return a caller that could not be identified. Such a caller may only ask for help and status."""
    return Caller(Role.NOBODY, "nobody")


def person_caller(name: str) -> Caller:
    """Return the person as a caller."""
    return Caller(Role.PERSON, name, human=name)


# Plain numbers, because every request checks them.
_FLAGS_OF_ROLE = {
    Role.PERSON: Callers.PERSON.value,
    Role.COORDINATOR: Callers.COORDINATOR.value,
    Role.WORKER: (Callers.WORKER | Callers.HOLDER).value,
    Role.NOBODY: Callers.NOBODY.value,
}


def permits_role(callers: Callers, role: Role) -> bool:
    """Return whether a role may call at all. The service that reads the task checks a HOLDER's claim."""
    return bool(callers._value_ & _FLAGS_OF_ROLE[role])  # `value` is ten times as slow


def may_call(caller: Caller, operation: str, callers: Callers) -> bool:
    """Return whether a caller may call an operation, by its role and by the rights of its member."""
    if operation in caller.deny:
        return False
    return permits_role(callers, caller.role) or operation in caller.allow
