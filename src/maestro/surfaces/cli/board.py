"""Answer bare `maestro`: open asks, unread mail, all live sessions, the state of the project and the next steps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from maestro.core.errors import NotFound
from maestro.domain.callers import Caller, Role
from maestro.domain.runs import RunStatus
from maestro.domain.sessions import Session
from maestro.domain.tasks import TaskStatus
from maestro.operations import asks, projects, runs, sessions, task_shapes, tasks
from maestro.operations.app import App
from maestro.surfaces.cli import project_resolver
from maestro.surfaces.cli.invocation import Invocation
from maestro.surfaces.cli.local_commands import Board
from maestro.surfaces.cli.parse import ParsedCommand

shown_max = 10
sessions_shown_max = 50


async def build_board(
    app: App, parsed: ParsedCommand, *, invocation: Invocation, caller: Caller
) -> tuple[Board, list[str]]:
    """Return the board, and notes about how its project was found."""
    if caller.role is Role.NOBODY:
        return _empty_board("maestro help"), []
    needs = {**await _caller_needs(app, caller), **await _live_sessions(app, caller)}
    located = await _find_project(app, parsed, invocation, caller)
    if located is None:
        shown = _empty_board("maestro init (in a git checkout), or maestro project list", "maestro help")
        return msgspec.structs.replace(shown, **needs), []
    project = located.project
    running = task_shapes.ListTasks(project=project, status=TaskStatus.IN_PROGRESS, limit=shown_max)
    ready = task_shapes.ReadyTasks(project=project, limit=shown_max)
    shown = Board(
        project=await app.call(projects.SHOW, projects.OneProject(project=project), caller=caller),
        in_progress=(await app.call(tasks.LIST, running, caller=caller)).tasks,
        ready=(await app.call(tasks.READY, ready, caller=caller)).tasks,
        next=[],
        runs=await _active_runs(app, project, caller),
        troubled=await _troubled_sessions(app, project, caller),
        **needs,
    )
    return _with_steps(shown), located.notes


async def _caller_needs(app: App, caller: Caller) -> dict[str, Any]:
    """Return the caller's open asks and the number of unread messages, of all projects."""
    open_asks = await app.call(asks.LIST, asks.ListAsks(limit=shown_max), caller=caller)
    identity = await app.call(sessions.WHOAMI, sessions.WhoAmI(), caller=caller)
    return {"asks": open_asks.asks, "unread": identity.unread}


async def _live_sessions(app: App, caller: Caller) -> dict[str, Any]:
    """Return all live sessions: for the person of all projects, for a session of its own project."""
    is_person = caller.role is Role.PERSON
    request = sessions.ListSessions(
        project=caller.project_id or "", active=True, all_projects=is_person, limit=sessions_shown_max
    )
    found = await app.call(sessions.LIST, request, caller=caller)
    return {"sessions": found.sessions, "hidden_sessions": found.cursor is not None}


async def _active_runs(app: App, project: str, caller: Caller) -> list[runs.RunInList]:
    found = await app.call(runs.LIST, runs.ListRuns(project=project), caller=caller)
    return [run for run in found.runs if run.status is RunStatus.RUNNING][:shown_max]


async def _troubled_sessions(app: App, project: str, caller: Caller) -> list[Session]:
    """Return the sessions that were lost or failed in the last day."""
    since = datetime.now(UTC) - timedelta(days=1)
    found: list[Session] = []
    for status in (sessions.StatusFilter.LOST, sessions.StatusFilter.FAILED):
        request = sessions.ListSessions(project=project, status=status)
        listed = (await app.call(sessions.LIST, request, caller=caller)).sessions
        found += [session for session in listed if session.ended_at is not None and session.status_at > since]
    return found[-shown_max:]


async def _find_project(
    app: App, parsed: ParsedCommand, invocation: Invocation, caller: Caller
) -> project_resolver.LocatedProject | None:
    if named := project_resolver.named_project(parsed, {}, invocation) or caller.project_id:
        return project_resolver.LocatedProject(named)
    try:
        found = await project_resolver.locate_project(app, invocation.directory, caller)
    except NotFound:
        return None
    return project_resolver.LocatedProject(found.project.id, found.notes)


def _with_steps(shown: Board) -> Board:
    """Add the next steps to the board."""
    counts = shown.project.tasks if shown.project else {}
    if shown.asks:
        ask = next((ask for ask in shown.asks if not ask.in_own_window), shown.asks[0])
        steps = [
            f"maestro ask {'show' if ask.in_own_window else 'answer'} {ask.id}{'' if ask.in_own_window else ' …'}"
        ]
    elif shown.unread:
        steps = ["maestro mail inbox"]
    elif shown.ready:
        steps = [f"maestro task start {shown.ready[0].ref}"]
    elif counts.get(TaskStatus.IN_REVIEW):
        steps = ["maestro task list --status in_review"]
    elif any(counts.get(status) for status in (TaskStatus.TODO, TaskStatus.BLOCKED)):
        steps = ["maestro task blocked"]
    else:
        steps = ['maestro task create "…"']
    return msgspec.structs.replace(shown, next=steps)


def _empty_board(*steps: str) -> Board:
    return Board(project=None, in_progress=[], ready=[], next=list(steps))
