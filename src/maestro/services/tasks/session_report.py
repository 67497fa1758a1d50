"""Take a session's report on its work. The report moves the task that the session holds and tells the coordinator."""

from __future__ import annotations

import msgspec

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.sessions import Session
from maestro.domain.tasks import Task
from maestro.operations import sessions as ops
from maestro.operations import task_shapes
from maestro.services.access import session_relations
from maestro.services.sessions import report_effects
from maestro.services.tasks import moves
from maestro.store.base import Tx


def report_work(tx: Tx, caller: Caller, request: ops.ReportSession) -> ops.ReportedSession:
    """Report on the only task that the session holds; without a task, on the session itself."""
    session = session_relations.own_session(tx, caller)
    task = _only_held_task(tx, session)
    moved: task_shapes.MovedTask | None = None
    if task is not None:
        reported = moves.report_task(
            tx, caller, task_shapes.ReportTask(kind=request.kind, id=task.id, text=request.text)
        )
        moved = task_shapes.MovedTask(
            **{name: getattr(reported, name) for name in task_shapes.MovedTask.__struct_fields__}
        )
    else:
        data = {"kind": request.kind.value, "text": request.text[:500]}
        tx.log(NewEvent(EventKind.SESSION_REPORTED, session.id, session.project_id, data), actor=caller.name)
        report_effects.notify_of_report(tx, session, request.kind, request.text, None)
        report_effects.set_reported_status(tx, session, request.kind, request.text)
    now = tx.sessions.get(session.id) or session
    return ops.ReportedSession(**msgspec.structs.asdict(now), task=moved)


def _only_held_task(tx: Tx, session: Session) -> Task | None:
    held = report_effects.held_tasks(tx, session)
    if len(held) > 1:
        refs = [task.ref for task in held]
        raise errors.Conflict(
            f"You hold {len(held)} tasks: {', '.join(refs)}.",
            hint="Name the task: maestro task report KIND ID TEXT",
            data={"held": refs},
        )
    return held[0] if held else None
