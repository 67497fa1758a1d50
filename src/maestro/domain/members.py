"""Members and teams: reusable personas, and groups of them."""

from __future__ import annotations

import enum
from datetime import datetime

import msgspec

from maestro.core import errors, ids
from maestro.domain.identity import RESERVED


class Tool(enum.StrEnum):
    """An agent program."""

    CLAUDE = "claude"
    CODEX = "codex"
    GEMINI = "gemini"
    COMMAND = "command"


TOOL_ALIASES = {"claude-code": Tool.CLAUDE}


class Permission(enum.StrEnum):
    """What an agent may do on its own to files."""

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
    mail_id: str  # its box, as an address
    skills: list[str]
    model: str | None
    tool: Tool | None
    permission: Permission | None
    allow: list[str]  # operations its sessions may call besides those of their role
    deny: list[str]  # operations they may not
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


def name_of(text: str) -> str:
    """A member's or a team's name as it is kept; one that already means something else is refused."""
    name = text.lower()
    if name in RESERVED:
        raise errors.Invalid(f"{text!r} is a reserved word.", hint="Choose another name.")
    if ids.is_id(name):
        raise errors.Invalid(f"{text!r} looks like an id.", hint="Choose another name.")
    return name


def check_rights(*, allow: list[str], deny: list[str]) -> None:
    """What is allowed is not denied as well."""
    both = [operation for operation in allow if operation in deny]
    if both:
        raise errors.Invalid(
            f"{', '.join(both)} cannot be both allowed and denied.",
            hint="Take it from one of the lists; '' empties one.",
            data={"operations": both},
        )
