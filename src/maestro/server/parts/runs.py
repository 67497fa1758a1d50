"""Runs: start, show, stop and resume runs; dispatch their tasks; judge tasks by their gates."""

from __future__ import annotations

from functools import partial

from maestro.domain.events import EventKind
from maestro.operations import runs as run_ops
from maestro.server.base import ServerBase
from maestro.server.dispatch import Binding
from maestro.server.part import Part, PartJob
from maestro.server.parts.projects import ProjectPart
from maestro.server.parts.supervision import SupervisionPart
from maestro.server.parts.worktrees import WorktreePart
from maestro.services.gates.gate_job import GateJob
from maestro.services.runs import control
from maestro.services.runs.control import RunControl
from maestro.services.runs.dispatch import RunDispatchJob

# The task has left the run's hands: the run may start its next tasks, and a gate of the task may be outdated.
_TASK_FINISHED = (
    EventKind.TASK_COMPLETED,
    EventKind.TASK_FAILED,
    EventKind.TASK_CANCELLED,
    EventKind.TASK_DELETED,
)


def build_runs(
    base: ServerBase, projects: ProjectPart, worktrees: WorktreePart, supervision: SupervisionPart
) -> Part:
    runs = RunControl(base.store, base.hub, supervision.stopper)
    dispatch = RunDispatchJob(
        base.store, supervision.spawner, supervision.launcher, supervision.stopper, clock=base.clock
    )
    gates = GateJob(
        base.store,
        base.blobs,
        worktrees.worktrees,
        projects.sandboxes,
        clock=base.clock,
        seconds_max=base.settings.gate_seconds,
    )
    gates.on_done = partial(base.background_jobs.nudge_job, GateJob.name)
    return Part(
        bindings={
            run_ops.START.name: Binding(runs.start_run, stream_answers=runs.start_and_follow),
            run_ops.LIST.name: Binding(control.list_runs),
            run_ops.SHOW.name: Binding(runs.show_run, stream_answers=runs.show_and_follow),
            run_ops.STOP.name: Binding(runs.stop_run),
            run_ops.RESUME.name: Binding(runs.resume_run, stream_answers=runs.resume_and_follow),
        },
        jobs=(
            PartJob(
                dispatch,
                runs_after=(
                    *_TASK_FINISHED,
                    EventKind.TASK_READY,
                    EventKind.TASK_BLOCKED,
                    EventKind.SESSION_ENDED,
                    EventKind.SESSION_LOST,
                    EventKind.SESSION_RESUMED,
                    EventKind.RUN_STARTED,
                    EventKind.RUN_RESUMED,
                ),
            ),
            PartJob(gates, runs_after=(*_TASK_FINISHED, EventKind.TASK_IN_REVIEW, EventKind.TASK_REJECTED)),
        ),
        close=(gates.close, dispatch.close),
    )
