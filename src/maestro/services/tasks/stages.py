"""Apply a project's stages to its tasks."""

from __future__ import annotations

from maestro.domain.callers import Caller
from maestro.domain.projects import Project
from maestro.services.tasks.consequences import TaskConsequences
from maestro.store.base import Tx


def settle_stages(tx: Tx, caller: Caller, project: Project) -> None:
    """Hold back and release the tasks of a project after a change of its stages."""
    outcome = TaskConsequences(tx, caller)
    for parent_id in tx.tasks.stage_scopes(project.id):
        outcome.queue_stages(project.id, parent_id)
    outcome.run_queued_checks()
