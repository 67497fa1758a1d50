"""Choose the options of a new session from the request and the store: tool, directory, rights and limits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from maestro.core import errors, limits
from maestro.domain import grants
from maestro.domain.callers import Caller
from maestro.domain.conversations import DriverKind
from maestro.domain.manifests import ManifestSkill
from maestro.domain.members import COMMAND_TOOL, Member, Permission
from maestro.domain.projects import Project
from maestro.domain.sessions import Session, SessionMode
from maestro.domain.spawns import SpawnLimits
from maestro.domain.templates import WorkflowTemplate
from maestro.operations import spawning as ops
from maestro.prompts import skills, templates
from maestro.store.base import Tx
from maestro.text.choices import join_choices
from maestro.tools import registry
from maestro.tools.descriptor import ToolDescriptor


def choose_tool(
    tx: Tx, project: Project, tool: str | None, arguments: Sequence[str], members: Sequence[str]
) -> ToolDescriptor:
    """Return the tool: the named tool, `command` for a program of the caller's own, or a member's preferred tool."""
    if tool:
        return registry.find_tool(tool)
    if arguments:
        return registry.find_tool(COMMAND_TOOL)
    for name in members:
        member = tx.members.by_name(project.id, name.lower())
        if member is not None and member.tool is not None:
            return registry.find_tool(member.tool)
    raise errors.Invalid(
        "The tool of the new session is missing.",
        hint=f"Name the tool with --tool {_tool_choices()}, or give a program: -- PROGRAM ARGS…",
    )


def _tool_choices() -> str:
    """Return the tools that a caller can name, for a sentence."""
    return join_choices(name for name in registry.TOOLS if name != COMMAND_TOOL)


def choose_driver(tool: ToolDescriptor, requested: DriverKind | None) -> DriverKind:
    """Return the requested driver or the tool's best driver; refuse a driver that the tool does not have."""
    offered = tool.abilities.drivers
    if requested is not None and requested not in offered:
        raise errors.Invalid(
            f"{tool.name} has no driver {requested}.", hint=f"Drivers of {tool.name}: {', '.join(offered)}."
        )
    return requested or next(iter(offered))


def find_members(tx: Tx, project: Project, names: Sequence[str]) -> list[Member]:
    """Return the members that a session takes on."""
    found = []
    for name in dict.fromkeys(names):
        member = tx.members.by_name(project.id, name.lower())
        if member is None:
            raise errors.NotFound(f"{project.name} has no member {name!r}.", hint="maestro member list")
        found.append(member)
    return found


def usual_permission(mode: SessionMode, members: Sequence[Member]) -> Permission:
    """Return the usual permission level: coordinators and planners never write code."""
    of_member = next((member.permission for member in members if member.permission), None)
    return grants.usual_level(mode, of_member)


def child_grant(
    tx: Tx, caller: Caller, request: ops.SpawnSession, *, tool: str, permission: Permission
) -> Permission:
    """Return the new session's grant; refuse a program, a level or patterns beyond the caller's grant."""
    grants.require_program(caller, tool, request.arguments)
    grants.require_level(caller, permission)
    grants.require_patterns(caller, request.allow, own_patterns(tx, caller))
    return grants.child_grant(caller, request.grant, mode=request.mode, level=permission)


def own_patterns(tx: Tx, caller: Caller) -> list[str]:
    """Return the patterns that the caller's own session is allowed without asking."""
    conversation = tx.conversations.get(caller.session_id) if caller.session_id else None
    return conversation.allow if conversation else []


def choose_template(request: ops.SpawnSession, directory: str) -> WorkflowTemplate:
    """Return the session's workflow template, by name or by mode and strategy."""
    library = templates.load_templates(Path(directory) / templates.FOLDER)
    return (
        library.get_template(request.template)
        if request.template
        else library.choose_template(request.mode, request.strategy)
    )


def choose_skills(
    request: ops.SpawnSession, members: Sequence[Member], tool: ToolDescriptor, *, directory: str, home: Path
) -> tuple[ManifestSkill, ...]:
    """Return the requested skills and the skills of the session's members."""
    folders = [Path(directory) / skills.PROJECT_FOLDER, home / skills.HOME_FOLDER]
    member_skills = [skill for member in members for skill in member.skills]
    return skills.choose_skills(request.skill, member_skills, folders, whole=not tool.abilities.loads_skills)


def choose_directory(tx: Tx, path: str, project: Project) -> str:
    """Return the project's checkout that holds the caller's path; else the project's first checkout."""
    caller_path = Path(path) if path else None
    workspaces = tx.projects.workspaces_of(project.id, limit=limits.page_items_default)
    for workspace in workspaces:
        if caller_path is not None and caller_path.is_relative_to(workspace.path):
            return workspace.path
    if not workspaces:
        raise errors.NotFound(
            f"{project.name} has no checkout on this machine.", hint="Run `maestro init` in a checkout."
        )
    return workspaces[0].path


def start_directory(path: str, checkout: str) -> str:
    """Return the start directory in a checkout: the caller's path, unless `..` or a link leads out of it."""
    real = Path(path).resolve() if path else Path(checkout)
    return str(real) if real.is_relative_to(Path(checkout).resolve()) else checkout


def require_within_limits(tx: Tx, caller: Caller, project: Project, bounds: SpawnLimits) -> None:
    """Refuse a session that would exceed the number or the depth of sessions."""
    if caller.session_id is not None:
        own = tx.sessions.get(caller.session_id)
        if own is not None and count_ancestors(tx, own, bounds) >= bounds.depth_max:
            raise errors.Conflict(f"Sessions may start sessions at most {bounds.depth_max} levels deep.")
        if tx.spawns.count_below(caller.session_id) >= bounds.of_one_coordinator_max:
            raise errors.LimitReached(
                f"A coordinator may have at most {bounds.of_one_coordinator_max} workers at once.",
                hint="Wait for the end of a worker: maestro mail wait",
            )
    if tx.spawns.count_in_project(project.id) >= bounds.of_one_project_max:
        raise errors.LimitReached(
            f"A project may have at most {bounds.of_one_project_max} spawned sessions at once.",
            hint="Wait for the end of a session: maestro session wait",
        )


def count_ancestors(tx: Tx, session: Session, bounds: SpawnLimits) -> int:
    """Return the number of sessions above a session, counted a little beyond the limit at most."""
    depth, parent_id = 0, session.parent_id
    while parent_id is not None and depth <= bounds.depth_max:
        parent = tx.sessions.mail_route(parent_id)
        depth, parent_id = depth + 1, parent.parent_id if parent else None
    return depth
