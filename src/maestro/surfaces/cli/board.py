"""Bare `maestro`: how the project stands, and what one would do next. For now a few lines."""

from __future__ import annotations

from maestro.domain.callers import Caller, Role
from maestro.domain.tasks import Status
from maestro.errors import NotFound
from maestro.operations import projects, task_shapes, tasks
from maestro.operations.app import App
from maestro.surfaces.cli import place
from maestro.surfaces.cli.frames import Invocation
from maestro.surfaces.cli.own import Board
from maestro.surfaces.cli.parse import Parsed

shown_max = 10


async def board(app: App, parsed: Parsed, *, invocation: Invocation, caller: Caller) -> tuple[Board, list[str]]:
    """The board, and the notes that finding its project left."""
    if caller.role is Role.NOBODY:
        return _empty("maestro help"), []
    where = await _where(app, parsed, invocation, caller)
    if where is None:
        return _empty("maestro init (in a git checkout), or maestro project list", "maestro help"), []
    project = where.project
    running = task_shapes.ListTasks(project=project, status=Status.IN_PROGRESS, limit=shown_max)
    ready = task_shapes.ReadyTasks(project=project, limit=shown_max)
    shown = Board(
        project=await app.call(projects.SHOW, projects.OneProject(project=project), caller=caller),
        in_progress=(await app.call(tasks.LIST, running, caller=caller)).tasks,
        ready=(await app.call(tasks.READY, ready, caller=caller)).tasks,
        next=[],
    )
    return _with_steps(shown), where.notes


async def _where(app: App, parsed: Parsed, invocation: Invocation, caller: Caller) -> place.Where | None:
    if named := place.named_project(parsed, {}, invocation) or caller.project_id:
        return place.Where(named)
    try:
        found = await place.locate(app, invocation.directory, caller)
    except NotFound:
        return None
    return place.Where(found.project.id, found.notes)


def _with_steps(shown: Board) -> Board:
    """What someone would do next."""
    counts = shown.project.tasks if shown.project else {}
    if shown.ready:
        steps = [f"maestro task start {shown.ready[0].ref}"]
    elif counts.get(Status.IN_REVIEW):
        steps = ["maestro task list --status in_review"]
    elif any(counts.get(status) for status in (Status.TODO, Status.BLOCKED)):
        steps = ["maestro task blocked"]
    else:
        steps = ['maestro task create "…"']
    return Board(project=shown.project, in_progress=shown.in_progress, ready=shown.ready, next=steps)


def _empty(*steps: str) -> Board:
    return Board(project=None, in_progress=[], ready=[], next=list(steps))
