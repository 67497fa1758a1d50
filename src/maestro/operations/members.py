"""Operations on members."""

from __future__ import annotations

import enum
from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.core import limits
from maestro.core.errors import Conflict, NameTaken, NotFound, NotPermitted
from maestro.domain.callers import Callers
from maestro.domain.members import Member, Permission
from maestro.operations import fields
from maestro.operations.base import GET, PATCH, POST, CommandSyntax, Effect, InProject, ListPage, Operation
from maestro.tools.registry import Tool

MemberRef = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=100,
        pattern=fields.LINE,
        description="A member: its name, @name or id.",
        extra={"complete": "member", "label": "MEMBER"},
    ),
]
_Role = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=limits.role_chars_max,
        pattern=fields.LINE,
        description="The member's role, on one line: frontend developer, tester.",
        extra={"label": "ROLE"},
    ),
]
_Identity = Annotated[
    str,
    Meta(
        max_length=limits.identity_chars_max,
        pattern=fields.TEXT,
        description="The member's character and way of working, for its sessions' prompts, in Markdown.",
        extra={"text": True, "label": "TEXT"},
    ),
]
_Avatar = Annotated[
    str,
    Meta(
        max_length=limits.avatar_chars_max,
        pattern=fields.LINE_OR_EMPTY,
        description="An emoji or a short word beside the name.",
        extra={"label": "AVATAR"},
    ),
]
_Model = Annotated[
    str,
    Meta(
        max_length=limits.model_chars_max,
        pattern=fields.LINE_OR_EMPTY,
        description="The preferred model, as the tool names it; '' for none.",
        extra={"label": "MODEL"},
    ),
]
_Skills = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=limits.skill_chars_max, pattern=fields.LINE)]],
    Meta(
        max_length=limits.skills_max,
        description="A skill for the member's sessions. May be repeated, or separated by commas.",
        extra={"flag": "skill", "label": "SKILL"},
    ),
]
_Operation = Annotated[str, Meta(min_length=1, max_length=100, pattern=fields.LINE)]
_Allow = Annotated[
    list[_Operation],
    Meta(
        max_length=limits.member_operations_max,
        description=(
            "An operation that the member's sessions may call beyond their role: mail.broadcast or 'mail broadcast'. "
            "Only the person may set it. May be repeated, or separated by commas."
        ),
        extra={"label": "OPERATION"},
    ),
]
_Deny = Annotated[
    list[_Operation],
    Meta(
        max_length=limits.member_operations_max,
        description="An operation that the member's sessions may not call. May be repeated, or separated by commas.",
        extra={"label": "OPERATION"},
    ),
]


def _choice_or_empty_pattern(choices: type[enum.StrEnum]) -> str:
    return rf"^({'|'.join(choices)})?$(?!\n)"


_Tool = Annotated[Tool, Meta(description="The agent program of the member.", extra={"label": "TOOL"})]
_ToolOrNone = Annotated[
    str,
    Meta(
        pattern=_choice_or_empty_pattern(Tool),
        description="The agent program of the member, or '' for any.",
        extra={"choices": Tool, "label": "TOOL"},
        extra_json_schema={"enum": ["", *Tool]},
    ),
]
_Permission = Annotated[
    Permission,
    Meta(description="What the member's agent may do to files without asking.", extra={"label": "PERMISSION"}),
]
_PermissionOrNone = Annotated[
    str,
    Meta(
        pattern=_choice_or_empty_pattern(Permission),
        description="What the member's agent may do to files without asking, or '' for the default.",
        extra={"choices": Permission, "label": "PERMISSION"},
        extra_json_schema={"enum": ["", *Permission]},
    ),
]


class OneMember(InProject, frozen=True, kw_only=True):
    id: MemberRef


class CreateMember(InProject, frozen=True, kw_only=True):
    name: fields.Name
    role: _Role
    identity: _Identity = ""
    avatar: _Avatar = ""
    model: _Model | None = None
    tool: _Tool | None = None
    permission: _Permission | None = None
    skills: _Skills = []
    allow: _Allow = []
    deny: _Deny = []


class EditMember(OneMember, frozen=True, kw_only=True):
    name: fields.Name | None = None
    role: _Role | None = None
    identity: _Identity | None = None
    avatar: _Avatar | None = None
    model: _Model | None = None
    tool: _ToolOrNone | None = None
    permission: _PermissionOrNone | None = None
    skills: _Skills | None = None
    allow: _Allow | None = None
    deny: _Deny | None = None


class ListMembers(InProject, frozen=True, kw_only=True):
    archived: Annotated[bool, Meta(description="Archived members too.")] = False
    limit: fields.Limit = limits.page_items_default
    cursor: fields.PageCursor = ""


class MemberList(ListPage, frozen=True, kw_only=True):
    members: list[Member]


class LiveSession(msgspec.Struct, frozen=True, kw_only=True):
    """A live session of a member."""

    id: str
    name: str


class MemberDetail(Member, frozen=True, kw_only=True):
    """A member with its teams, led teams and live sessions."""

    teams: list[str]
    leads: list[str]
    sessions: list[LiveSession]


class ChangedMember(Member, frozen=True, kw_only=True):
    """A member after a change, with warnings."""

    warnings: list[str] = []


_ABOUT = (NotFound, NotPermitted)

CREATE = Operation(
    "member.create",
    CreateMember,
    Member,
    callers=Callers.OWNERS,
    http=POST("/api/members"),
    summary="Create a member: a persona for sessions.",
    effect=Effect.WRITE,
    command=CommandSyntax("member create", ("name",)),
    examples=(
        'maestro member create ada --role "Backend engineer" --tool claude --model opus --skill sql',
        'maestro member create grace --role Tester --identity-file grace.md --permission plan --deny "task create"',
    ),
    errors=(*_ABOUT, NameTaken),
)
LIST = Operation(
    "member.list",
    ListMembers,
    MemberList,
    callers=Callers.KNOWN,
    http=GET("/api/members"),
    summary="List a project's members.",
    effect=Effect.READ,
    command=CommandSyntax("member list"),
    examples=("maestro member list", "maestro member list --archived --json"),
    errors=_ABOUT,
)
SHOW = Operation(
    "member.show",
    OneMember,
    MemberDetail,
    callers=Callers.KNOWN,
    http=GET("/api/members/{id}"),
    summary="Show a member with its teams and its live sessions.",
    effect=Effect.READ,
    command=CommandSyntax("member show", ("id",)),
    examples=("maestro member show ada",),
    errors=_ABOUT,
)
EDIT = Operation(
    "member.edit",
    EditMember,
    ChangedMember,
    callers=Callers.OWNERS,
    http=PATCH("/api/members/{id}"),
    summary="Change the given fields of a member.",
    effect=Effect.WRITE,
    command=CommandSyntax("member edit", ("id",)),
    examples=(
        "maestro member edit ada --model sonnet --skill sql,python",
        "maestro member edit ada --tool '' --allow 'mail broadcast'",
    ),
    errors=(*_ABOUT, NameTaken, Conflict),
)
ARCHIVE = Operation(
    "member.archive",
    OneMember,
    ChangedMember,
    callers=Callers.OWNERS,
    http=POST("/api/members/{id}/archive"),
    summary="Archive a member: its record stays, its name becomes free.",
    effect=Effect.WRITE,
    command=CommandSyntax("member archive", ("id",)),
    examples=("maestro member archive ada",),
    errors=(*_ABOUT, Conflict),
)

ALL = (CREATE, LIST, SHOW, EDIT, ARCHIVE)
