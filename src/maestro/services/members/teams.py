"""Create, list, show and change teams: groups of a project's members."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from maestro.core import errors, ids, limits
from maestro.domain import members
from maestro.domain.callers import Caller
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.members import Member, Team
from maestro.domain.projects import Project
from maestro.domain.visibility import redact_member
from maestro.operations import teams as ops
from maestro.services.access.scope import find_project, require_own_project
from maestro.services.members.registry import find_member, require_present
from maestro.store.base import Tx


def create_team(tx: Tx, caller: Caller, request: ops.CreateTeam) -> Team:
    """Create a team. The leader is also a member of the team."""
    project = find_project(tx, caller, request.project)
    require_own_project(caller, project, action="create teams")
    name = _free_name(tx, project, request.name)
    joining, leader = _joining_members(tx, caller, request.members, request.leader, project)
    _check_size(len(joining))
    team = Team(
        id=ids.new_id("tea", tx.at),
        project_id=project.id,
        name=name,
        leader=leader.name if leader else None,
        members=sorted(member.name for member in joining),
        created_by=caller.name,
        created_at=tx.at,
    )
    tx.members.teams.insert(team, leader_id=leader.id if leader else None)
    for member in joining:
        tx.members.teams.add_member(team.id, member.id)
    data = {"name": name, "leader": team.leader, "members": team.members}
    tx.log(NewEvent(EventKind.TEAM_CREATED, team.id, project.id, data), actor=caller.name)
    return team


def list_teams(tx: Tx, caller: Caller, request: ops.ListTeams) -> ops.TeamList:
    project = find_project(tx, caller, request.project)
    teams = tx.members.teams.list_page(project.id, after=request.cursor, limit=request.limit + 1)
    has_more = len(teams) > request.limit
    teams = teams[: request.limit]
    return ops.TeamList(teams=teams, cursor=teams[-1].name if has_more else None)


def show_team(tx: Tx, caller: Caller, request: ops.OneTeam) -> ops.TeamDetail:
    team = find_team(tx, caller, request.id, project=request.project)
    roster = [_roster_entry(redact_member(caller, member)) for member in tx.members.of_team(team.id)]
    return ops.TeamDetail(**msgspec.structs.asdict(team), roster=roster)


def add_to_team(tx: Tx, caller: Caller, request: ops.AddToTeam) -> ops.ChangedTeam:
    """Add members to a team, and set the leader if the request names a leader."""
    team, project = _changeable_team(tx, caller, request)
    if not request.members and request.leader is None:
        raise errors.Invalid(
            f"No member to add to team {team.name} was named.",
            hint=f"Name members: maestro team add {team.name} MEMBERS, or --leader MEMBER",
        )
    joining, leader = _joining_members(tx, caller, request.members, request.leader, project)
    added = sorted(member.name for member in joining if member.name not in team.members)
    _check_size(len(team.members) + len(added))
    for member in joining:
        tx.members.teams.add_member(team.id, member.id)
    already_in = [member.name for member in joining if member.name in team.members and member is not leader]
    warnings = [f"{name} is already in team {team.name}." for name in already_in]
    changes: dict[str, object] = {"added": added} if added else {}
    if leader is not None and leader.name != team.leader:
        tx.members.teams.set_leader(team.id, leader.id)
        changes["leader"] = leader.name
    return _log_changes(tx, caller, team, changes, warnings)


def remove_from_team(tx: Tx, caller: Caller, request: ops.RemoveFromTeam) -> ops.ChangedTeam:
    """Remove members from a team, all or none. A team whose leader is removed has no leader."""
    team, project = _changeable_team(tx, caller, request)
    leaving = _distinct_members(find_member(tx, caller, ref, project=project.id) for ref in request.members)
    for member in leaving:
        if not tx.members.teams.has_member(team.id, member.id):
            raise errors.NotFound(
                f"{member.name} is not in team {team.name}.",
                hint=f"Members of the team: {', '.join(team.members) or 'none'}.",
                data={"members": team.members},
            )
    for member in leaving:
        tx.members.teams.remove_member(team.id, member.id)
    changes: dict[str, object] = {"removed": sorted(member.name for member in leaving)}
    warnings = []
    if team.leader is not None and any(member.name == team.leader for member in leaving if not member.archived):
        tx.members.teams.set_leader(team.id, None)
        changes["leader"] = None
        warnings.append(
            f"Team {team.name} has no leader now. Name a leader: maestro team add {team.name} --leader MEMBER"
        )
    return _log_changes(tx, caller, team, changes, warnings)


def find_team(tx: Tx, caller: Caller, ref: str, *, project: str = "") -> Team:
    """Return the team that a reference names: an id, or a name in the project at hand."""
    name = ref.strip().lower()
    if ids.is_id(name, "tea"):
        team = tx.members.teams.get(name)
    else:
        team = tx.members.teams.by_name(find_project(tx, caller, project).id, name)
    if team is None:
        raise errors.NotFound(f"There is no team {ref!r}.", hint="List the teams: maestro team list")
    return team


def _changeable_team(tx: Tx, caller: Caller, request: ops.OneTeam) -> tuple[Team, Project]:
    """Return a team and its project, if the caller may change the team."""
    team = find_team(tx, caller, request.id, project=request.project)
    project = find_project(tx, caller, team.project_id)
    require_own_project(caller, project, action="change teams")
    return team, project


def _free_name(tx: Tx, project: Project, text: str) -> str:
    name = members.normalize_name(text)
    existing = tx.members.teams.by_name(project.id, name)
    if existing is not None:
        raise errors.NameTaken(
            f"Project {project.name} already has a team {name!r}.",
            hint=f"Choose another name, or add members to the existing team: maestro team add {name} MEMBERS",
            data={"id": existing.id},
        )
    return name


def _joining_members(
    tx: Tx, caller: Caller, refs: list[str], leader_ref: str | None, project: Project
) -> tuple[list[Member], Member | None]:
    """Return the joining members, each once, and the leader among the members."""
    member_by_id = {
        member.id: member for member in (find_member(tx, caller, ref, project=project.id) for ref in refs)
    }
    leader = find_member(tx, caller, leader_ref, project=project.id) if leader_ref is not None else None
    if leader is not None:
        leader = member_by_id.setdefault(leader.id, leader)
    for member in member_by_id.values():
        require_present(member)
        if member.project_id != project.id:
            raise errors.Invalid(
                f"Member {member.name} ({member.id}) does not belong to project {project.name}.",
                hint=f"List the members: maestro member list --project {project.name}",
            )
    return list(member_by_id.values()), leader


def _check_size(count: int) -> None:
    if count > limits.team_members_max:
        raise errors.Conflict(
            f"The team would have {count} members: at most {limits.team_members_max} are allowed.",
            hint="Create a second team, or remove members first.",
        )


def _log_changes(
    tx: Tx, caller: Caller, team: Team, changes: dict[str, object], warnings: list[str]
) -> ops.ChangedTeam:
    """Log the changes, if there are any, and return the present state of the team."""
    if changes:
        change = NewEvent(EventKind.TEAM_CHANGED, team.id, team.project_id, {"name": team.name, **changes})
        tx.log(change, actor=caller.name)
        team = tx.members.teams.get(team.id) or team
    return ops.ChangedTeam(**msgspec.structs.asdict(team), warnings=warnings)


def _distinct_members(found: Iterable[Member]) -> list[Member]:
    return list({member.id: member for member in found}.values())


def _roster_entry(member: Member) -> ops.RosterMember:
    return ops.RosterMember(
        id=member.id,
        name=member.name,
        role=member.role,
        avatar=member.avatar,
        mail_id=member.mail_id,
        model=member.model,
        tool=member.tool,
    )
