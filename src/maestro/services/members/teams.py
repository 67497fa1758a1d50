"""Teams: groups of a project's members."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from maestro.core import errors, ids, limits
from maestro.domain import members
from maestro.domain.callers import Caller
from maestro.domain.events import Change, Kind
from maestro.domain.members import Member, Team
from maestro.domain.projects import Project
from maestro.domain.sight import redact_member
from maestro.operations import teams as ops
from maestro.services.members.records import member_of, require_present
from maestro.services.scope import may_write, project_of
from maestro.store.base import Tx


def create(tx: Tx, caller: Caller, request: ops.CreateTeam) -> Team:
    """A new team; whoever leads it is in it."""
    project = project_of(tx, caller, request.project)
    may_write(caller, project, what="create teams")
    name = _free_name(tx, project, request.name)
    joining, leader = _joining(tx, caller, request.members, request.leader, project)
    _check_size(len(joining))
    team = Team(
        id=ids.new("tea", tx.at),
        project_id=project.id,
        name=name,
        leader=leader.name if leader else None,
        members=sorted(member.name for member in joining),
        created_by=caller.name,
        created_at=tx.at,
    )
    tx.members.teams.insert(team, leader_id=leader.id if leader else None)
    for member in joining:
        tx.members.teams.join(team.id, member.id)
    data = {"name": name, "leader": team.leader, "members": team.members}
    tx.log(Change(Kind.TEAM_CREATED, team.id, project.id, data), actor=caller.name)
    return team


def list_page(tx: Tx, caller: Caller, request: ops.ListTeams) -> ops.TeamList:
    project = project_of(tx, caller, request.project)
    found = tx.members.teams.page(project.id, after=request.cursor, limit=request.limit + 1)
    more = len(found) > request.limit
    found = found[: request.limit]
    return ops.TeamList(teams=found, cursor=found[-1].name if more else None)


def show(tx: Tx, caller: Caller, request: ops.OneTeam) -> ops.TeamDetail:
    team = team_of(tx, caller, request.id, project=request.project)
    roster = [_colleague(redact_member(caller, member)) for member in tx.members.of_team(team.id)]
    return ops.TeamDetail(**msgspec.structs.asdict(team), roster=roster)


def add(tx: Tx, caller: Caller, request: ops.AddToTeam) -> ops.ChangedTeam:
    """Let members in, and give the team another leader where one is named."""
    team, project = _own(tx, caller, request)
    if not request.members and request.leader is None:
        raise errors.Invalid(
            "Nobody was named.", hint=f"Say: maestro team add {team.name} MEMBERS, or --leader MEMBER"
        )
    joining, leader = _joining(tx, caller, request.members, request.leader, project)
    added = sorted(member.name for member in joining if member.name not in team.members)
    _check_size(len(team.members) + len(added))
    for member in joining:
        tx.members.teams.join(team.id, member.id)
    there = [member.name for member in joining if member.name in team.members and member is not leader]
    warnings = [f"{name} is in team {team.name} already." for name in there]
    said: dict[str, object] = {"added": added} if added else {}
    if leader is not None and leader.name != team.leader:
        tx.members.teams.lead(team.id, leader.id)
        said["leader"] = leader.name
    return _changed(tx, caller, team, said, warnings)


def remove(tx: Tx, caller: Caller, request: ops.RemoveFromTeam) -> ops.ChangedTeam:
    """Take members out, all or none; a team whose leader goes has none."""
    team, project = _own(tx, caller, request)
    leaving = _distinct(member_of(tx, caller, ref, project=project.id) for ref in request.members)
    for member in leaving:
        if not tx.members.teams.has(team.id, member.id):
            raise errors.NotFound(
                f"{member.name} is not in team {team.name}.",
                hint=f"In it are: {', '.join(team.members) or 'nobody'}.",
                data={"members": team.members},
            )
    for member in leaving:
        tx.members.teams.leave(team.id, member.id)
    said: dict[str, object] = {"removed": sorted(member.name for member in leaving)}
    warnings = []
    if team.leader is not None and any(member.name == team.leader for member in leaving if not member.archived):
        tx.members.teams.lead(team.id, None)
        said["leader"] = None
        warnings.append(
            f"Team {team.name} has no leader now. Give it one: maestro team add {team.name} --leader MEMBER"
        )
    return _changed(tx, caller, team, said, warnings)


def team_of(tx: Tx, caller: Caller, ref: str, *, project: str = "") -> Team:
    """The team a reference names: its id, or its name in the project at hand."""
    name = ref.strip().lower()
    if ids.is_id(name, "tea"):
        team = tx.members.teams.get(name)
    else:
        team = tx.members.teams.by_name(project_of(tx, caller, project).id, name)
    if team is None:
        raise errors.NotFound(f"There is no team {ref!r}.", hint="`maestro team list` shows those there are.")
    return team


def _own(tx: Tx, caller: Caller, request: ops.OneTeam) -> tuple[Team, Project]:
    """A team that the caller may change, with its project."""
    team = team_of(tx, caller, request.id, project=request.project)
    project = project_of(tx, caller, team.project_id)
    may_write(caller, project, what="change teams")
    return team, project


def _free_name(tx: Tx, project: Project, text: str) -> str:
    name = members.name_of(text)
    there = tx.members.teams.by_name(project.id, name)
    if there is not None:
        raise errors.NameTaken(
            f"A team of {project.name} is already called {name!r}.",
            hint=f"Choose another name, or add to that one: maestro team add {name} MEMBERS",
            data={"id": there.id},
        )
    return name


def _joining(
    tx: Tx, caller: Caller, refs: list[str], leader_ref: str | None, project: Project
) -> tuple[list[Member], Member | None]:
    """Those who join a team, once each, and who of them leads it."""
    found = {member.id: member for member in (member_of(tx, caller, ref, project=project.id) for ref in refs)}
    leader = member_of(tx, caller, leader_ref, project=project.id) if leader_ref is not None else None
    if leader is not None:
        leader = found.setdefault(leader.id, leader)
    for member in found.values():
        require_present(member)
        if member.project_id != project.id:
            raise errors.Invalid(f"Member {member.name} ({member.id}) is not of project {project.name}.")
    return list(found.values()), leader


def _check_size(count: int) -> None:
    if count > limits.team_members_max:
        raise errors.Conflict(f"A team has at most {limits.team_members_max} members.")


def _changed(tx: Tx, caller: Caller, team: Team, said: dict[str, object], warnings: list[str]) -> ops.ChangedTeam:
    """Log what happened, if anything did, and answer with the team as it is now."""
    if said:
        change = Change(Kind.TEAM_CHANGED, team.id, team.project_id, {"name": team.name, **said})
        tx.log(change, actor=caller.name)
        team = tx.members.teams.get(team.id) or team
    return ops.ChangedTeam(**msgspec.structs.asdict(team), warnings=warnings)


def _distinct(found: Iterable[Member]) -> list[Member]:
    return list({member.id: member for member in found}.values())


def _colleague(member: Member) -> ops.Colleague:
    return ops.Colleague(
        id=member.id,
        name=member.name,
        role=member.role,
        avatar=member.avatar,
        mail_id=member.mail_id,
        model=member.model,
        tool=member.tool,
    )
