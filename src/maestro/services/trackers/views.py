"""Show the tracker of a project, how far it is behind and why, and request a synchronisation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.projects import Project
from maestro.domain.trackers import MirroredIssue, TrackerKind
from maestro.operations import trackers as ops
from maestro.services.access.scope import find_project, find_readable_project
from maestro.services.trackers.sync_job import TrackerSyncJob
from maestro.store.base import Store, Tx
from maestro.trackers import registry

_OTHER_PROJECT_HINT = "`maestro issue list --project NAME` shows the issues of another project."


class TrackerOperations:
    """The operations `tracker status` and `tracker sync`."""

    def __init__(self, store: Store, trackers: TrackerSyncJob, nudge: Callable[[], None]) -> None:
        self._store = store
        self._trackers = trackers
        self._nudge = nudge

    def show_status(self, tx: Tx, caller: Caller, request: ops.TrackerRequest) -> ops.TrackerStatus:
        project = find_readable_project(
            tx, caller, request.project, action="looks at the tracker", hint=_OTHER_PROJECT_HINT
        )
        choice = tx.trackers.get(project.id)
        if choice is None:
            return ops.TrackerStatus(project=project.name, kind=TrackerKind.BUILTIN, hint=tracker_hint(tx, project))
        waiting, _, retry_at = tx.trackers.count_waiting(project.id)
        behind = tx.events.list_after(choice.cursor, limit=limits.feed_page_events_max, project=project.id)
        untold = tx.trackers.list_refused(project.id, limit=limits.page_items_default)
        return ops.TrackerStatus(
            project=project.name,
            kind=choice.kind,
            path=choice.path,
            source=choice.source.value,
            version=choice.version,
            busy=self._trackers.is_busy(project.id),
            issues=tx.trackers.count_mirrors(project.id),
            behind_events=len(behind),
            behind_issues=waiting,
            read_at=choice.read_at,
            succeeded_at=choice.succeeded_at,
            failures=choice.failures,
            retry_at=choice.due_at or retry_at,
            problem=choice.problem,
            unsynced=[_untold_issue(tx, mirror) for mirror in untold],
        )

    async def request_sync(self, caller: Caller, request: ops.TrackerRequest) -> ops.TrackerStatus:
        """Request a round with the tracker and return at once: the caller, often a hook, must not wait."""
        status = await self._store.read(lambda tx: self.show_status(tx, caller, request))
        if status.kind is TrackerKind.BUILTIN:
            raise errors.Conflict(f"{status.project} has no external tracker.", hint=status.hint)
        project_id = await self._store.read(lambda tx: find_project(tx, caller, request.project).id, quick=True)
        self._trackers.request_round(project_id)
        self._nudge()
        return status


def tracker_hint(tx: Tx, project: Project) -> str:
    """Return how to choose a tracker whose folder exists in a checkout; an empty text without such a folder."""
    for workspace in tx.projects.workspaces_of(project.id, limit=limits.page_items_default):
        for kind, folder in registry.tracker_folders().items():
            if Path(workspace.path, folder).is_dir():
                return (
                    f"{workspace.path} has {folder}: to keep issues in that tracker, write `[tracker]` and "
                    f'`kind = "{kind}"` into .maestro/config.toml.'
                )
    return ""


def _untold_issue(tx: Tx, mirror: MirroredIssue) -> ops.UnsyncedIssue:
    task = tx.tasks.get(mirror.task_id)
    issue = task.ref if task else mirror.task_id
    return ops.UnsyncedIssue(issue=issue, ref=mirror.ref, problem=mirror.problem, retry_at=mirror.retry_at)
