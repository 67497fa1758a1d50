"""Show workflow templates: the package's templates, and the templates of the caller's checkout."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import msgspec

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.manifests import AgentReach
from maestro.domain.projects import Workspace
from maestro.domain.templates import WorkflowTemplate
from maestro.domain.visibility import may_read
from maestro.operations import spawning as ops
from maestro.prompts import call_names, templates
from maestro.prompts.templates import TemplateLibrary
from maestro.store.base import Store, Tx


class TemplateViews:
    """Lists templates and shows a template. A session may not read the templates of another project's checkout."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def list_templates(self, caller: Caller, request: ops.ListTemplates) -> ops.TemplateList:
        library = await self._load_library(caller, request.path)
        return ops.TemplateList(templates=[_template_info(template) for template in library.list_templates()])

    async def show_template(self, caller: Caller, request: ops.OneTemplate) -> ops.TemplateDetail:
        template = (await self._load_library(caller, request.path)).get_template(request.name)
        info = msgspec.structs.asdict(_template_info(template))
        # Most readers follow a template with commands, so calls are spelt as commands.
        texts = {
            phase.name: call_names.fill_placeholders(phase.text, AgentReach.COMMANDS) for phase in template.phases
        }
        return ops.TemplateDetail(
            **info, intro=call_names.fill_placeholders(template.intro, AgentReach.COMMANDS), texts=texts
        )

    async def _load_library(self, caller: Caller, path: str) -> TemplateLibrary:
        if path and caller.is_session:
            real = Path(os.path.realpath(path))
            await self._store.read(lambda tx: _require_readable(tx, caller, real), quick=True)
        return await asyncio.to_thread(templates.load_templates, Path(path) / templates.FOLDER if path else None)


def _require_readable(tx: Tx, caller: Caller, path: Path) -> None:
    """Refuse a directory in the checkout of a project that the caller may not read."""
    workspace = _checkout_of(tx, path)
    if workspace is None or may_read(caller, workspace.project_id):
        return
    raise errors.NotPermitted(
        f"{path} is in a checkout of another project.", hint="Run the command in a checkout of your own project."
    )


def _checkout_of(tx: Tx, path: Path) -> Workspace | None:
    workspaces = (tx.projects.workspace_at(str(folder)) for folder in (path, *path.parents))
    return next((workspace for workspace in workspaces if workspace), None)


def _template_info(template: WorkflowTemplate) -> ops.TemplateInfo:
    return ops.TemplateInfo(
        name=template.name,
        mode=template.mode,
        strategy=template.strategy,
        summary=template.summary,
        phases=[phase.name for phase in template.phases],
        source=template.source,
        aliases=list(template.aliases),
    )
