"""Operations on teams."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.core import limits
from maestro.core.errors import Conflict, NameTaken, NotFound, NotPermitted
from maestro.domain.callers import Callers
from maestro.domain.members import Team
from maestro.operations import fields
from maestro.operations.base import GET, POST, CommandSyntax, Effect, InProject, ListPage, Operation
from maestro.operations.members import MemberRef

_TeamRef = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=100,
        pattern=fields.LINE,
        description="A team: its name or id.",
        extra={"complete": "team", "label": "TEAM"},
    ),
]
_Members = Annotated[
    list[MemberRef],
    Meta(
        max_length=limits.team_members_max,
        description="Members: names, @names or ids, separated by commas.",
        extra={"label": "MEMBERS", "complete": "member"},
    ),
]
_Leader = Annotated[
    MemberRef, Meta(description="The member that leads the team; the leader belongs to the team too.")
]


class OneTeam(InProject, frozen=True, kw_only=True):
    id: _TeamRef


class CreateTeam(InProject, frozen=True, kw_only=True):
    name: fields.Name
    leader: _Leader | None = None
    members: Annotated[
        _Members,
        Meta(
            description="A member of the team. May be repeated, or separated by commas.",
            extra={"flag": "member", "label": "MEMBER"},
        ),
    ] = []


class ListTeams(InProject, frozen=True, kw_only=True):
    limit: fields.Limit = limits.page_items_default
    cursor: fields.PageCursor = ""


class AddToTeam(OneTeam, frozen=True, kw_only=True):
    members: _Members = []
    leader: _Leader | None = None


class RemoveFromTeam(OneTeam, frozen=True, kw_only=True):
    members: Annotated[_Members, Meta(min_length=1)]


class TeamList(ListPage, frozen=True, kw_only=True):
    teams: list[Team]


class RosterMember(msgspec.Struct, frozen=True, kw_only=True):
    """A member of a team, for the team's roster."""

    id: str
    name: str
    role: str
    avatar: str
    mail_id: str
    model: str | None
    tool: str | None


class TeamDetail(Team, frozen=True, kw_only=True):
    """A team with its members' roles and tools."""

    roster: list[RosterMember]


class ChangedTeam(Team, frozen=True, kw_only=True):
    """A team after a change, with warnings."""

    warnings: list[str] = []


_ABOUT = (NotFound, NotPermitted)

CREATE = Operation(
    "team.create",
    CreateTeam,
    Team,
    callers=Callers.OWNERS,
    http=POST("/api/teams"),
    summary="Create a team of members.",
    effect=Effect.WRITE,
    command=CommandSyntax("team create", ("name",)),
    examples=("maestro team create backend --leader ada --member grace,linus",),
    errors=(*_ABOUT, NameTaken, Conflict),
)
LIST = Operation(
    "team.list",
    ListTeams,
    TeamList,
    callers=Callers.KNOWN,
    http=GET("/api/teams"),
    summary="List a project's teams.",
    effect=Effect.READ,
    command=CommandSyntax("team list"),
    examples=("maestro team list",),
    errors=_ABOUT,
)
SHOW = Operation(
    "team.show",
    OneTeam,
    TeamDetail,
    callers=Callers.KNOWN,
    http=GET("/api/teams/{id}"),
    summary="Show a team with its members' roles and tools.",
    effect=Effect.READ,
    command=CommandSyntax("team show", ("id",)),
    examples=("maestro team show backend",),
    errors=_ABOUT,
)
ADD = Operation(
    "team.add",
    AddToTeam,
    ChangedTeam,
    callers=Callers.OWNERS,
    http=POST("/api/teams/{id}/add"),
    summary="Add members to a team, or give it another leader.",
    effect=Effect.WRITE,
    command=CommandSyntax("team add", ("id", "members")),
    examples=("maestro team add backend grace,linus", "maestro team add backend --leader grace"),
    errors=(*_ABOUT, Conflict),
)
REMOVE = Operation(
    "team.remove",
    RemoveFromTeam,
    ChangedTeam,
    callers=Callers.OWNERS,
    http=POST("/api/teams/{id}/remove"),
    summary="Remove members from a team.",
    effect=Effect.WRITE,
    command=CommandSyntax("team remove", ("id", "members")),
    examples=("maestro team remove backend linus",),
    errors=_ABOUT,
)

ALL = (CREATE, LIST, SHOW, ADD, REMOVE)
