"""Trackers: synchronise the issues of a project with an external tracker."""

from __future__ import annotations

from functools import partial

from maestro.domain.events import EventKind
from maestro.domain.trackers import ProjectTracker, TrackerKind
from maestro.operations import trackers as tracker_ops
from maestro.server.base import ServerBase
from maestro.server.dispatch import Binding
from maestro.server.part import Part, PartJob
from maestro.server.settings import ServerSettings
from maestro.services.trackers.sync_job import TrackerSyncJob
from maestro.services.trackers.views import TrackerOperations
from maestro.trackers import registry
from maestro.trackers.base import Tracker

# Events that may change an issue, or the tracker of a project.
_ISSUE_CHANGES = (
    EventKind.ISSUE_OPENED,
    EventKind.ISSUE_CLAIMED,
    EventKind.ISSUE_COMMENTED,
    EventKind.ISSUE_CLOSED,
    EventKind.ISSUE_REOPENED,
    EventKind.TASK_BLOCKED,
    EventKind.TASK_UNBLOCKED,
    EventKind.TASK_RELEASED,
    EventKind.TASK_CLAIM_EXPIRED,
    EventKind.TASK_EDITED,
    EventKind.PROJECT_CHANGED,
)


def build_trackers(base: ServerBase) -> Part:
    nudge_sync = partial(base.background_jobs.nudge_job, TrackerSyncJob.name)
    sync = TrackerSyncJob(
        base.store, partial(_open_tracker, base.settings), clock=base.clock, seconds=base.settings.tracker_seconds
    )
    sync.on_done = nudge_sync
    operations = TrackerOperations(base.store, sync, nudge_sync)
    return Part(
        bindings={
            tracker_ops.STATUS.name: Binding(operations.show_status),
            tracker_ops.SYNC.name: Binding(operations.request_sync),
        },
        jobs=(PartJob(sync, runs_after=_ISSUE_CHANGES, is_paced=True),),
        close=(sync.close,),
    )


def _open_tracker(settings: ServerSettings, choice: ProjectTracker) -> Tracker:
    programs = {TrackerKind.BEADS: settings.bd}
    return registry.external_tracker(
        choice.kind, choice.path, programs=programs, seconds_max=settings.tracker_call_seconds
    )
