"""The projects this server knows."""

from __future__ import annotations

from typing import Any

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.events import Change
from maestro.domain.events import Kind as EventKind
from maestro.domain.identity import RESERVED
from maestro.domain.projects import Project
from maestro.domain.sandboxes import is_cache_folder
from maestro.domain.sight import may_read
from maestro.domain.trackers import Kind
from maestro.operations import projects as ops
from maestro.services.projects import places
from maestro.services.scope import project_of
from maestro.services.tasks.consequences import Outcome
from maestro.store.base import Tx

_RULES = ("inbound", "replies_reopen", "sandbox", "caches")


def list_page(tx: Tx, caller: Caller, request: ops.ListProjects) -> ops.ProjectList:
    found = tx.projects.page(after=request.cursor, limit=request.limit + 1)
    more = len(found) > request.limit
    found = found[: request.limit]
    here = project_of(tx, caller, request.project) if request.project or caller.project_id else None
    links = tx.links.of_project(here.id) if here else []
    return ops.ProjectList(projects=found, cursor=found[-1].name if more else None, links=links)


def show(tx: Tx, caller: Caller, request: ops.OneProject) -> ops.ProjectDetail:
    project = project_of(tx, caller, request.project)
    counts, ready = tx.tasks.counts(project.id)
    tracker = tx.trackers.get(project.id)
    return ops.ProjectDetail(
        **msgspec.structs.asdict(project),
        workspaces=tx.projects.workspaces(project.id, limit=limits.page_items_max),
        tasks=counts | {"ready": ready},
        links=tx.links.of_project(project.id),
        called=tx.links.to_project(project.id),
        tracker=tracker.kind if tracker else Kind.BUILTIN,
        tracker_problem=tracker.problem if tracker and may_read(caller, project.id) else "",
    )


def edit(tx: Tx, caller: Caller, request: ops.EditProject) -> Project:
    """Change a project's name or stages; its tasks are held or let go by the new stages at once."""
    project = project_of(tx, caller, request.project)
    if all(getattr(request, name) is None for name in ("name", "stages", *_RULES)):
        raise errors.Invalid("Nothing to change was given.", hint="Say --name, --stages, --inbound or --sandbox.")
    wrong = next((one for one in request.caches or () if not is_cache_folder(one)), None)
    if wrong is not None:
        raise errors.Invalid(
            f"{wrong!r} cannot be a cache of a sandbox.", hint="Say the absolute path of a folder, without `..`."
        )
    if request.name is not None and request.name.lower() in RESERVED:
        raise errors.Invalid(f"{request.name!r} is a reserved word.", hint="Choose another name.")
    if request.name is not None and request.name.lower() != project.name:
        project = places.rename(tx, caller, project, request.name.lower())
    if request.stages is not None:
        project = _restage(tx, caller, project, request.stages)
    rules = {name: value for name in _RULES if (value := getattr(request, name)) is not None}
    if request.sandbox is not None:
        rules["caches"] = request.caches or []  # a sandbox is set as a whole
    return set_rules(tx, caller, project, rules) if rules else project


def set_rules(tx: Tx, caller: Caller, project: Project, rules: dict[str, Any]) -> Project:
    """Set what other projects may do in this one, or the sandbox of its gates."""
    changed = msgspec.structs.replace(project, **rules)
    if changed != project:
        tx.projects.change(changed)
        tx.log(Change(EventKind.PROJECT_CHANGED, project.id, project.id, dict(rules)), actor=caller.name)
    return changed


def _restage(tx: Tx, caller: Caller, project: Project, stages: list[str]) -> Project:
    if len(set(stages)) != len(stages):
        raise errors.Invalid("A stage is named twice.")
    for dropped in set(project.stages) - set(stages):
        if tx.tasks.uses_stage(project.id, dropped):
            raise errors.Conflict(f"Tasks of {project.name} are in stage {dropped!r}.", hint="Move them first.")
    changed = msgspec.structs.replace(project, stages=stages)
    tx.projects.change(changed)
    tx.log(Change(EventKind.PROJECT_CHANGED, project.id, project.id, {"stages": stages}), actor=caller.name)
    outcome = Outcome(tx, caller)
    for parent_id in tx.tasks.stage_scopes(project.id):
        outcome.look_at_stages(project.id, parent_id)
    outcome.settle()
    return changed
