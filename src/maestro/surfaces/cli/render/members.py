"""Render members and teams as text."""

from __future__ import annotations

from collections.abc import Sequence

from maestro.domain.members import Member, Team
from maestro.operations.members import ChangedMember, MemberDetail, MemberList
from maestro.operations.teams import ChangedTeam, RosterMember, TeamDetail, TeamList
from maestro.surfaces.cli.render.base import Rendered, format_time, next_page_note, render_pairs, render_table
from maestro.surfaces.cli.render.style import View, align_rows, indent_text, paint, safe_line

_NONE = "–"  # fills an empty cell and keeps the next cell in the right column


def render_member(value: Member, view: View) -> Rendered:
    return Rendered(
        _member_headline(value) + render_pairs([*_member_facts(value), *_creation_fact(value)], indent="  ")
    )


def render_changed_member(value: ChangedMember, view: View) -> Rendered:
    return Rendered(render_member(value, view).out, _warning_notes(value.warnings))


def render_member_list(value: MemberList, view: View) -> Rendered:
    if not value.members:
        return Rendered(notes=["no members yet: `maestro member create NAME --role ROLE` creates a member"])
    rows = [
        [
            _name_with_state(member),
            member.tool or _NONE,
            safe_line(member.model or _NONE),
            member.id,
            safe_line(member.role),
        ]
        for member in value.members
    ]
    return Rendered(render_table(rows, ["NAME", "TOOL", "MODEL", "ID", "ROLE"], view), next_page_note(value.cursor))


def render_member_detail(value: MemberDetail, view: View) -> Rendered:
    """Render one member in full."""
    teams = [f"{safe_line(name)} (leads)" if name in value.leads else safe_line(name) for name in value.teams]
    sessions = [f"{safe_line(session.name)} ({session.id})" for session in value.sessions]
    rows = [
        *_member_facts(value),
        ("teams", ", ".join(teams)),
        ("sessions", ", ".join(sessions)),
        *_creation_fact(value),
    ]
    identity = f"\n{indent_text(value.identity)}\n" if value.identity else ""
    return Rendered(_member_headline(value) + render_pairs(rows, indent="  ") + identity)


def render_team(value: Team, view: View) -> Rendered:
    return Rendered(f"{safe_line(value.name)}  {value.id}  {_member_names(value)}\n")


def render_changed_team(value: ChangedTeam, view: View) -> Rendered:
    return Rendered(render_team(value, view).out, _warning_notes(value.warnings))


def render_team_list(value: TeamList, view: View) -> Rendered:
    if not value.teams:
        return Rendered(notes=["no teams yet: `maestro team create NAME --member MEMBER` creates a team"])
    rows = [[safe_line(team.name), team.id, _member_names(team)] for team in value.teams]
    return Rendered(render_table(rows, ["NAME", "ID", "MEMBERS"], view), next_page_note(value.cursor))


def render_team_detail(value: TeamDetail, view: View) -> Rendered:
    facts = [("id", value.id), ("leader", safe_line(value.leader or "")), *_creation_fact(value)]
    roster = [_roster_row(colleague) for colleague in value.roster]
    members = f"\n{paint('members', 'dim')}\n{align_rows(roster, indent='  ')}" if roster else ""
    notes = [] if roster else ["the team has no members"]
    return Rendered(f"{paint(safe_line(value.name), 'bold')}\n{render_pairs(facts, indent='  ')}{members}", notes)


def _member_headline(value: Member) -> str:
    avatar = f"  {safe_line(value.avatar)}" if value.avatar else ""
    archived = paint("  (archived)", "dim") if value.archived else ""
    return f"{paint(safe_line(value.name), 'bold')}{avatar}{archived}\n"


def _member_facts(value: Member) -> list[tuple[str, str | None]]:
    return [
        ("role", safe_line(value.role)),
        ("mail", safe_line(value.mail_id)),
        ("id", value.id),
        ("tool", value.tool),
        ("model", safe_line(value.model or "")),
        ("permission", value.permission),
        ("skills", _joined_names(value.skills)),
        ("allow", _joined_names(value.allow)),
        ("deny", _joined_names(value.deny)),
    ]


def _creation_fact(value: Member | Team) -> list[tuple[str, str | None]]:
    return [("created", f"{format_time(value.created_at)} by {safe_line(value.created_by)}")]


def _name_with_state(value: Member) -> str:
    return safe_line(value.name) + (paint(" (archived)", "dim") if value.archived else "")


def _member_names(value: Team) -> str:
    """Return the names of a team's members, the leader first."""
    members = [name for name in value.members if name != value.leader]
    leader = [f"{value.leader} (leads)"] if value.leader else []
    return _joined_names([*leader, *members]) or "no members"


def _roster_row(colleague: RosterMember) -> list[str]:
    name = (
        f"{safe_line(colleague.name)}  {safe_line(colleague.avatar)}"
        if colleague.avatar
        else safe_line(colleague.name)
    )
    return [name, colleague.tool or _NONE, safe_line(colleague.model or _NONE), safe_line(colleague.role)]


def _joined_names(names: Sequence[str]) -> str:
    return ", ".join(map(safe_line, names))


def _warning_notes(warnings: list[str]) -> list[str]:
    return [f"warning: {safe_line(warning)}" for warning in warnings]
