"""List, show and edit the projects of this server."""

from __future__ import annotations

from typing import Any

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.identity import RESERVED_NAMES
from maestro.domain.projects import Project
from maestro.domain.sandboxes import is_valid_cache_path
from maestro.domain.trackers import TrackerKind
from maestro.domain.visibility import may_read
from maestro.operations import projects as ops
from maestro.services import effects
from maestro.services.access.scope import find_project
from maestro.services.projects import locate
from maestro.store.base import Tx

_RULES = ("inbound", "replies_reopen", "sandbox", "caches")


def list_projects(tx: Tx, caller: Caller, request: ops.ListProjects) -> ops.ProjectList:
    projects = tx.projects.list_page(after=request.cursor, limit=request.limit + 1)
    has_more = len(projects) > request.limit
    projects = projects[: request.limit]
    present = find_project(tx, caller, request.project) if request.project or caller.project_id else None
    links = tx.links.of_project(present.id) if present else []
    return ops.ProjectList(projects=projects, cursor=projects[-1].name if has_more else None, links=links)


def show_project(tx: Tx, caller: Caller, request: ops.OneProject) -> ops.ProjectDetail:
    project = find_project(tx, caller, request.project)
    counts, ready = tx.tasks.count_by_status(project.id)
    tracker = tx.trackers.get(project.id)
    return ops.ProjectDetail(
        **msgspec.structs.asdict(project),
        workspaces=tx.projects.workspaces_of(project.id, limit=limits.page_items_max),
        tasks=counts | {"ready": ready},
        links=tx.links.of_project(project.id),
        incoming_links=tx.links.to_project(project.id),
        tracker=tracker.kind if tracker else TrackerKind.BUILTIN,
        tracker_problem=tracker.problem if tracker and may_read(caller, project.id) else "",
    )


def edit_project(tx: Tx, caller: Caller, request: ops.EditProject) -> Project:
    """Change the name, stages or rules of a project. New stages hold back or release its tasks at once."""
    project = find_project(tx, caller, request.project)
    if all(getattr(request, name) is None for name in ("name", "stages", *_RULES)):
        hint = "Give --name, --stages, --inbound or --sandbox."
        raise errors.Invalid(f"No change was given for project {project.name}.", hint=hint)
    unusable = next((folder for folder in request.caches or () if not is_valid_cache_path(folder)), None)
    if unusable is not None:
        raise errors.Invalid(
            f"{unusable!r} cannot be a cache of a sandbox.", hint="Give the absolute path of a folder, without `..`."
        )
    if request.name is not None and request.name.lower() in RESERVED_NAMES:
        raise errors.Invalid(f"{request.name!r} is a reserved word.", hint="Choose another name.")
    if request.name is not None and request.name.lower() != project.name:
        project = locate.rename_project(tx, caller, project, request.name.lower())
    if request.stages is not None:
        project = _set_stages(tx, caller, project, request.stages)
    rules = {name: value for name in _RULES if (value := getattr(request, name)) is not None}
    if request.sandbox is not None:
        rules["caches"] = request.caches or []  # a sandbox is set as a whole
    return set_rules(tx, caller, project, rules) if rules else project


def set_rules(tx: Tx, caller: Caller, project: Project, rules: dict[str, Any]) -> Project:
    """Set the rules for other projects, or the sandbox of the project's gates."""
    changed = msgspec.structs.replace(project, **rules)
    if changed != project:
        tx.projects.update(changed)
        tx.log(NewEvent(EventKind.PROJECT_CHANGED, project.id, project.id, dict(rules)), actor=caller.name)
    return changed


def _set_stages(tx: Tx, caller: Caller, project: Project, stages: list[str]) -> Project:
    if len(set(stages)) != len(stages):
        raise errors.Invalid(f"A stage of {project.name} is named twice.", hint="Give each stage once.")
    for dropped in set(project.stages) - set(stages):
        if tx.tasks.uses_stage(project.id, dropped):
            hint = "Move the tasks to another stage first: maestro task edit ID --stage …"
            raise errors.Conflict(f"Tasks of {project.name} are in stage {dropped!r}.", hint=hint)
    changed = msgspec.structs.replace(project, stages=stages)
    tx.projects.update(changed)
    tx.log(NewEvent(EventKind.PROJECT_CHANGED, project.id, project.id, {"stages": stages}), actor=caller.name)
    effects.stages_changed(tx, caller, changed)
    return changed
