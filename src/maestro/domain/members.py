"""Members and teams: reusable personas, and groups of them."""

from __future__ import annotations

import enum
from datetime import datetime

import msgspec

from maestro.core import errors, ids
from maestro.domain.identity import RESERVED_NAMES

COMMAND_TOOL = "command"  # the tool that runs any program of the caller's choice


class Permission(enum.StrEnum):
    """How far an agent may change files without an ask."""

    PLAN = "plan"
    EDIT = "edit"
    FULL = "full"


PERMISSION_ALIASES = {"readOnly": Permission.PLAN, "acceptEdits": Permission.EDIT}


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A persona that sessions can take on."""

    id: str
    project_id: str
    name: str
    role: str
    identity: str
    avatar: str
    mail_id: str  # the address of the member's mailbox
    skills: list[str]
    model: str | None
    tool: str | None
    permission: Permission | None
    allow: list[str]  # operations that the member's sessions may call in addition to their role
    deny: list[str]  # operations that the member's sessions may not call
    archived: bool
    created_by: str
    created_at: datetime
    updated_at: datetime


class Team(msgspec.Struct, frozen=True, kw_only=True):
    """A group of members."""

    id: str
    project_id: str
    name: str
    leader: str | None
    members: list[str]
    created_by: str
    created_at: datetime


def normalize_name(text: str) -> str:
    """Return the name of a member or team in lower case; refuse a reserved name or an id."""
    name = text.lower()
    if name in RESERVED_NAMES:
        raise errors.Invalid(f"{text!r} is a reserved word.", hint="Choose another name.")
    if ids.is_id(name):
        raise errors.Invalid(f"{text!r} looks like an id.", hint="Choose another name.")
    return name


def check_rights(*, allow: list[str], deny: list[str]) -> None:
    """Refuse operations that are both allowed and denied."""
    both = [operation for operation in allow if operation in deny]
    if both:
        raise errors.Invalid(
            f"{', '.join(both)} cannot be both allowed and denied.",
            hint="Remove the operation from --allow or from --deny; '' empties a list.",
            data={"operations": both},
        )
