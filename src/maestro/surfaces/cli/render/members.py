"""Members and teams as text."""

from __future__ import annotations

from collections.abc import Sequence

from maestro.domain.members import Member, Team
from maestro.operations.members import ChangedMember, MemberDetail, MemberList
from maestro.operations.teams import ChangedTeam, Colleague, TeamDetail, TeamList
from maestro.surfaces.cli.render.base import Rendered, listed, more, pairs, when
from maestro.surfaces.cli.render.style import View, aligned, indented, line, paint

_NONE = "–"  # a cell with nothing in it: the next one stays in its column


def member(value: Member, view: View) -> Rendered:
    return Rendered(_head(value) + pairs([*_facts(value), *_made(value)], indent="  "))


def changed_member(value: ChangedMember, view: View) -> Rendered:
    return Rendered(member(value, view).out, _warnings(value.warnings))


def member_list(value: MemberList, view: View) -> Rendered:
    if not value.members:
        return Rendered(notes=["no members here: `maestro member create NAME --role ROLE` makes one"])
    rows = [
        [_name(one), one.tool or _NONE, line(one.model or _NONE), one.id, line(one.role)] for one in value.members
    ]
    return Rendered(listed(rows, ["NAME", "TOOL", "MODEL", "ID", "ROLE"], view), more(value.cursor))


def member_detail(value: MemberDetail, view: View) -> Rendered:
    """One member whole: nothing is cut."""
    teams = [f"{line(name)} (leads)" if name in value.leads else line(name) for name in value.teams]
    sessions = [f"{line(one.name)} ({one.id})" for one in value.sessions]
    rows = [*_facts(value), ("teams", ", ".join(teams)), ("sessions", ", ".join(sessions)), *_made(value)]
    identity = f"\n{indented(value.identity)}\n" if value.identity else ""
    return Rendered(_head(value) + pairs(rows, indent="  ") + identity)


def team(value: Team, view: View) -> Rendered:
    return Rendered(f"{line(value.name)}  {value.id}  {_who(value)}\n")


def changed_team(value: ChangedTeam, view: View) -> Rendered:
    return Rendered(team(value, view).out, _warnings(value.warnings))


def team_list(value: TeamList, view: View) -> Rendered:
    if not value.teams:
        return Rendered(notes=["no teams here: `maestro team create NAME --member MEMBER` makes one"])
    rows = [[line(one.name), one.id, _who(one)] for one in value.teams]
    return Rendered(listed(rows, ["NAME", "ID", "MEMBERS"], view), more(value.cursor))


def team_detail(value: TeamDetail, view: View) -> Rendered:
    facts = [("id", value.id), ("leader", line(value.leader or "")), *_made(value)]
    roster = [_colleague(one) for one in value.roster]
    members = f"\n{paint('members', 'dim')}\n{aligned(roster, indent='  ')}" if roster else ""
    notes = [] if roster else ["nobody is in it"]
    return Rendered(f"{paint(line(value.name), 'bold')}\n{pairs(facts, indent='  ')}{members}", notes)


def _head(value: Member) -> str:
    avatar = f"  {line(value.avatar)}" if value.avatar else ""
    archived = paint("  (archived)", "dim") if value.archived else ""
    return f"{paint(line(value.name), 'bold')}{avatar}{archived}\n"


def _facts(value: Member) -> list[tuple[str, str | None]]:
    return [
        ("role", line(value.role)),
        ("mail", line(value.mail_id)),
        ("id", value.id),
        ("tool", value.tool),
        ("model", line(value.model or "")),
        ("permission", value.permission),
        ("skills", _names(value.skills)),
        ("allow", _names(value.allow)),
        ("deny", _names(value.deny)),
    ]


def _made(value: Member | Team) -> list[tuple[str, str | None]]:
    return [("created", f"{when(value.created_at)} by {line(value.created_by)}")]


def _name(value: Member) -> str:
    return line(value.name) + (paint(" (archived)", "dim") if value.archived else "")


def _who(value: Team) -> str:
    """Everyone in a team, its leader first."""
    others = [name for name in value.members if name != value.leader]
    led = [f"{value.leader} (leads)"] if value.leader else []
    return _names([*led, *others]) or "nobody"


def _colleague(one: Colleague) -> list[str]:
    name = f"{line(one.name)}  {line(one.avatar)}" if one.avatar else line(one.name)
    return [name, one.tool or _NONE, line(one.model or _NONE), line(one.role)]


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(line, names))


def _warnings(warnings: list[str]) -> list[str]:
    return [f"warning: {line(warning)}" for warning in warnings]
