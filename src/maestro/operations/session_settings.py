"""Change the name of a session, and the permissions that the session may give to other sessions."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from maestro.core.errors import Conflict, NameTaken, NotFound, NotPermitted
from maestro.domain.callers import Callers
from maestro.domain.members import Permission
from maestro.domain.sessions import Session
from maestro.operations import fields
from maestro.operations.base import POST, CommandSyntax, Effect, Operation
from maestro.operations.sessions import OneSession


class GrantSession(OneSession, frozen=True, kw_only=True):
    grant: Annotated[
        Permission,
        Meta(
            description="The highest permission level that the session may give to sessions it starts from now on.",
            extra={"label": "LEVEL"},
        ),
    ]


class GrantedSession(Session, frozen=True, kw_only=True):
    """A session with its new grant."""


class RenameSession(OneSession, frozen=True, kw_only=True):
    name: Annotated[fields.Name, Meta(description="The new name.")]


GRANT = Operation(
    "session.grant",
    GrantSession,
    GrantedSession,
    callers=Callers.PERSON,
    http=POST("/api/sessions/{id}/grant"),
    summary="Set the highest permission level that a session may give to sessions it starts.",
    effect=Effect.WRITE,
    command=CommandSyntax("session grant", ("id", "grant")),
    examples=("maestro session grant lead full", "maestro session grant lead edit"),
    errors=(NotFound, NotPermitted),
)
RENAME = Operation(
    "session.rename",
    RenameSession,
    Session,
    callers=Callers.KNOWN,
    http=POST("/api/sessions/{id}/rename"),
    summary="Give a session another name. Its id, its mail and its tasks stay.",
    effect=Effect.WRITE,
    command=CommandSyntax("session rename", ("id", "name")),
    examples=("maestro session rename claude-2 parser",),
    errors=(NotFound, NotPermitted, NameTaken, Conflict),
)

ALL = (GRANT, RENAME)
