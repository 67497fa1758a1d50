"""Render members and teams as text."""

from __future__ import annotations

from collections.abc import Sequence

from maestro.domain.members import Member, Team
from maestro.operations.members import ChangedMember, MemberDetail, MemberList
from maestro.operations.teams import ChangedTeam, Colleague, TeamDetail, TeamList
from maestro.surfaces.cli.render.base import Rendered, listed, more, pairs, when
from maestro.surfaces.cli.render.style import View, aligned, indented, line, paint

_NONE = "–"  # fills an empty cell and keeps the next cell in the right column


def member(value: Member, view: View) -> Rendered:
    return Rendered(_member_headline(value) + pairs([*_member_facts(value), *_creation_fact(value)], indent="  "))


def changed_member(value: ChangedMember, view: View) -> Rendered:
    return Rendered(member(value, view).out, _warning_notes(value.warnings))


def member_list(value: MemberList, view: View) -> Rendered:
    if not value.members:
        return Rendered(notes=["no members yet: `maestro member create NAME --role ROLE` creates a member"])
    rows = [
        [_name_with_state(member), member.tool or _NONE, line(member.model or _NONE), member.id, line(member.role)]
        for member in value.members
    ]
    return Rendered(listed(rows, ["NAME", "TOOL", "MODEL", "ID", "ROLE"], view), more(value.cursor))


def member_detail(value: MemberDetail, view: View) -> Rendered:
    """Render one member in full."""
    teams = [f"{line(name)} (leads)" if name in value.leads else line(name) for name in value.teams]
    sessions = [f"{line(session.name)} ({session.id})" for session in value.sessions]
    rows = [
        *_member_facts(value),
        ("teams", ", ".join(teams)),
        ("sessions", ", ".join(sessions)),
        *_creation_fact(value),
    ]
    identity = f"\n{indented(value.identity)}\n" if value.identity else ""
    return Rendered(_member_headline(value) + pairs(rows, indent="  ") + identity)


def team(value: Team, view: View) -> Rendered:
    return Rendered(f"{line(value.name)}  {value.id}  {_member_names(value)}\n")


def changed_team(value: ChangedTeam, view: View) -> Rendered:
    return Rendered(team(value, view).out, _warning_notes(value.warnings))


def team_list(value: TeamList, view: View) -> Rendered:
    if not value.teams:
        return Rendered(notes=["no teams yet: `maestro team create NAME --member MEMBER` creates a team"])
    rows = [[line(team.name), team.id, _member_names(team)] for team in value.teams]
    return Rendered(listed(rows, ["NAME", "ID", "MEMBERS"], view), more(value.cursor))


def team_detail(value: TeamDetail, view: View) -> Rendered:
    facts = [("id", value.id), ("leader", line(value.leader or "")), *_creation_fact(value)]
    roster = [_roster_row(colleague) for colleague in value.roster]
    members = f"\n{paint('members', 'dim')}\n{aligned(roster, indent='  ')}" if roster else ""
    notes = [] if roster else ["the team has no members"]
    return Rendered(f"{paint(line(value.name), 'bold')}\n{pairs(facts, indent='  ')}{members}", notes)


def _member_headline(value: Member) -> str:
    avatar = f"  {line(value.avatar)}" if value.avatar else ""
    archived = paint("  (archived)", "dim") if value.archived else ""
    return f"{paint(line(value.name), 'bold')}{avatar}{archived}\n"


def _member_facts(value: Member) -> list[tuple[str, str | None]]:
    return [
        ("role", line(value.role)),
        ("mail", line(value.mail_id)),
        ("id", value.id),
        ("tool", value.tool),
        ("model", line(value.model or "")),
        ("permission", value.permission),
        ("skills", _joined_names(value.skills)),
        ("allow", _joined_names(value.allow)),
        ("deny", _joined_names(value.deny)),
    ]


def _creation_fact(value: Member | Team) -> list[tuple[str, str | None]]:
    return [("created", f"{when(value.created_at)} by {line(value.created_by)}")]


def _name_with_state(value: Member) -> str:
    return line(value.name) + (paint(" (archived)", "dim") if value.archived else "")


def _member_names(value: Team) -> str:
    """Return the names of a team's members, the leader first."""
    members = [name for name in value.members if name != value.leader]
    leader = [f"{value.leader} (leads)"] if value.leader else []
    return _joined_names([*leader, *members]) or "no members"


def _roster_row(colleague: Colleague) -> list[str]:
    name = f"{line(colleague.name)}  {line(colleague.avatar)}" if colleague.avatar else line(colleague.name)
    return [name, colleague.tool or _NONE, line(colleague.model or _NONE), line(colleague.role)]


def _joined_names(names: Sequence[str]) -> str:
    return ", ".join(map(line, names))


def _warning_notes(warnings: list[str]) -> list[str]:
    return [f"warning: {line(warning)}" for warning in warnings]
