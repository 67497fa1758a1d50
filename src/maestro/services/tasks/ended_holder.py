"""End the claims of a session that has ended."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain import tasks as task_rules
from maestro.domain.callers import Caller
from maestro.domain.sessions import Session
from maestro.domain.tasks import TaskStatus
from maestro.services.tasks.consequences import TaskConsequences
from maestro.store.base import Tx


def release_tasks(tx: Tx, session: Session, caller: Caller) -> None:
    """Release the tasks that the session works on, and expire its claims on blocked tasks."""
    consequences = TaskConsequences(tx, caller)
    for held in tx.tasks.of_holder(session.id, limit=limits.job_batch_rows_max):
        task = tx.tasks.get(held.id)  # read again: an earlier move of this loop may have changed this task
        if task is None or task.holder != session.id:
            continue
        if task.status is TaskStatus.IN_PROGRESS:
            consequences.apply_move(task_rules.release(task, at=tx.at))
        elif task.status is TaskStatus.BLOCKED:
            consequences.apply_move(task_rules.expire(task, at=tx.at))
