"""What a new session will be, from what was asked for and what is known: its program, place, rights and limits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from maestro.core import errors, limits
from maestro.domain import grants
from maestro.domain.callers import Caller
from maestro.domain.manifests import Skill
from maestro.domain.members import Member, Permission
from maestro.domain.projects import Project
from maestro.domain.sessions import Mode, Session
from maestro.domain.spawns import Bounds
from maestro.domain.talks import Driver
from maestro.domain.templates import Template
from maestro.operations import spawning as ops
from maestro.prompts import skills, templates
from maestro.store.base import Tx
from maestro.tools import registry
from maestro.tools.base import Agent


def tool_of(tx: Tx, project: Project, tool: str | None, words: Sequence[str], members: Sequence[str]) -> Agent:
    """The agent program: the one named, a program of one's own, or what a member prefers."""
    if tool:
        return registry.find(tool)
    if words:
        return registry.find("command")
    for name in members:
        member = tx.members.by_name(project.id, name.lower())
        if member is not None and member.tool is not None:
            return registry.find(member.tool.value)
    raise errors.Invalid(
        "Which agent program is to run?", hint="Say --tool claude, codex or gemini; or a program: -- PROGRAM ARGS…"
    )


def driver_of(agent: Agent, wanted: Driver | None) -> Driver:
    """How it is spoken with: as asked for, or by the best way that its program has."""
    offered = agent.abilities.drivers
    if wanted is not None and wanted not in offered:
        raise errors.Invalid(f"{agent.name} cannot be driven by {wanted}.", hint=f"It can by: {', '.join(offered)}.")
    return wanted or next(iter(offered))


def members_of(tx: Tx, project: Project, names: Sequence[str]) -> list[Member]:
    """The members that a session takes on."""
    found = []
    for name in dict.fromkeys(names):
        member = tx.members.by_name(project.id, name.lower())
        if member is None:
            raise errors.NotFound(f"{project.name} has no member {name!r}.", hint="maestro member list")
        found.append(member)
    return found


def usual_permission(mode: Mode, members: Sequence[Member]) -> Permission:
    """A coordinator never writes code, nor does who only plans."""
    given = next((one.permission for one in members if one.permission), None)
    return grants.usual_level(mode, given)


def child_grant(
    tx: Tx, caller: Caller, request: ops.SpawnSession, *, tool: str, permission: Permission
) -> Permission:
    """Return the new session's grant; refuse a program, a level or patterns beyond the caller's grant."""
    grants.require_program(caller, tool, request.words)
    grants.require_level(caller, permission)
    grants.require_patterns(caller, request.allow, own_patterns(tx, caller))
    return grants.child_grant(caller, request.grant, mode=request.mode, level=permission)


def own_patterns(tx: Tx, caller: Caller) -> list[str]:
    """Return what the caller's own session may do without asking."""
    talk = tx.talks.get(caller.session_id) if caller.session_id else None
    return talk.allow if talk else []


def template_of(request: ops.SpawnSession, directory: str) -> Template:
    """The workflow it follows: the one named, or that of its mode and strategy."""
    library = templates.load(Path(directory) / templates.FOLDER)
    return library.get(request.template) if request.template else library.choose(request.mode, request.strategy)


def skills_of(
    request: ops.SpawnSession, members: Sequence[Member], agent: Agent, *, directory: str, home: Path
) -> tuple[Skill, ...]:
    """What it was asked to know, and what its members do."""
    folders = [Path(directory) / skills.PROJECT, home / skills.OWN]
    words = [skill for one in members for skill in one.skills]
    return skills.chosen(request.skill, words, folders, whole=not agent.abilities.takes_skills)


def directory_of(tx: Tx, path: str, project: Project) -> str:
    """Where an agent starts: where the caller is, if that is in the project; else the project's first checkout."""
    here = Path(path) if path else None
    found = tx.projects.workspaces(project.id, limit=limits.page_items_default)
    for workspace in found:
        if here is not None and here.is_relative_to(workspace.path):
            return workspace.path
    if not found:
        raise errors.NotFound(f"{project.name} has no checkout on this machine.", hint="Run `maestro init` in one.")
    return found[0].path


def start_directory(path: str, checkout: str) -> str:
    """Return where in a checkout an agent starts: at the caller's path, unless `..` or a link leads out of it."""
    real = Path(path).resolve() if path else Path(checkout)
    return str(real) if real.is_relative_to(Path(checkout).resolve()) else checkout


def within_limits(tx: Tx, caller: Caller, project: Project, bounds: Bounds) -> None:
    """Refuse what would be one too many, or one too deep."""
    if caller.session_id is not None:
        own = tx.sessions.get(caller.session_id)
        if own is not None and depth_of(tx, own, bounds) >= bounds.depth_max:
            raise errors.Conflict(f"Sessions start others at most {bounds.depth_max} levels deep.")
        if tx.spawns.count_below(caller.session_id) >= bounds.of_one_coordinator_max:
            raise errors.LimitReached(
                f"A coordinator has at most {bounds.of_one_coordinator_max} workers at once.",
                hint="Wait for one to end: maestro mail wait",
            )
    if tx.spawns.count_in_project(project.id) >= bounds.of_one_project_max:
        raise errors.LimitReached(
            f"A project has at most {bounds.of_one_project_max} spawned sessions at once.",
            hint="Wait for one to end: maestro session wait",
        )


def depth_of(tx: Tx, session: Session, bounds: Bounds) -> int:
    """How many sessions are above one."""
    depth, above = 0, session.parent_id
    while above is not None and depth <= bounds.depth_max:
        found = tx.sessions.route(above)
        depth, above = depth + 1, found.parent_id if found else None
    return depth
