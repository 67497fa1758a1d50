"""Show the tracker of a project, how far it is behind and why, and request a synchronisation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.projects import Project
from maestro.domain.trackers import Kind, Mirror
from maestro.operations import trackers as ops
from maestro.services.scope import project_of, readable_project
from maestro.services.trackers.keeping import Trackers
from maestro.store.base import Store, Tx
from maestro.trackers import known

_OTHER_PROJECT_HINT = "`maestro issue list --project NAME` shows the issues of another project."


class Looking:
    """The operations `tracker status` and `tracker sync`."""

    def __init__(self, store: Store, trackers: Trackers, nudge: Callable[[], None]) -> None:
        self._store = store
        self._trackers = trackers
        self._nudge = nudge

    def status(self, tx: Tx, caller: Caller, request: ops.OfProject) -> ops.TrackerStatus:
        project = readable_project(tx, caller, request.project, what="looks at the tracker", hint=_OTHER_PROJECT_HINT)
        choice = tx.trackers.get(project.id)
        if choice is None:
            return ops.TrackerStatus(project=project.name, kind=Kind.BUILTIN, hint=hint(tx, project))
        waiting, _, retry_at = tx.trackers.waiting(project.id)
        behind = tx.events.after(choice.cursor, limit=limits.feed_page_events_max, project=project.id)
        untold = tx.trackers.refused(project.id, limit=limits.page_items_default)
        return ops.TrackerStatus(
            project=project.name,
            kind=choice.kind,
            path=choice.path,
            source=choice.source.value,
            version=choice.version,
            busy=self._trackers.is_busy(project.id),
            issues=tx.trackers.count(project.id),
            behind_events=len(behind),
            behind_issues=waiting,
            looked_at=choice.looked_at,
            ok_at=choice.ok_at,
            failures=choice.failures,
            retry_at=choice.due_at or retry_at,
            problem=choice.problem,
            untold=[_untold_issue(tx, mirror) for mirror in untold],
        )

    async def sync(self, caller: Caller, request: ops.OfProject) -> ops.TrackerStatus:
        """Request a round with the tracker and return at once: the caller, often a hook, must not wait."""
        status = await self._store.read(lambda tx: self.status(tx, caller, request))
        if status.kind is Kind.BUILTIN:
            raise errors.Conflict(f"{status.project} has no external tracker.", hint=status.hint)
        project_id = await self._store.read(lambda tx: project_of(tx, caller, request.project).id, quick=True)
        self._trackers.ask(project_id)
        self._nudge()
        return status


def hint(tx: Tx, project: Project) -> str:
    """Return how to choose a tracker whose folder exists in a checkout; an empty text without such a folder."""
    for workspace in tx.projects.workspaces(project.id, limit=limits.page_items_default):
        for kind, folder in known.folders().items():
            if Path(workspace.path, folder).is_dir():
                return (
                    f"{workspace.path} has {folder}: to keep issues in that tracker, write `[tracker]` and "
                    f'`kind = "{kind}"` into .maestro/config.toml.'
                )
    return ""


def _untold_issue(tx: Tx, mirror: Mirror) -> ops.Untold:
    task = tx.tasks.get(mirror.task_id)
    issue = task.ref if task else mirror.task_id
    return ops.Untold(issue=issue, ref=mirror.ref, problem=mirror.problem, retry_at=mirror.retry_at)
