"""Record which tracker a project uses. Only the settings files of its checkout choose a tracker."""

from __future__ import annotations

from pathlib import Path

import msgspec

from maestro.domain.callers import Caller
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.links import LinkSource
from maestro.domain.projects import Workspace
from maestro.domain.trackers import ProjectTracker, TrackerKind
from maestro.store.base import Tx


def apply_tracker_setting(
    tx: Tx, caller: Caller, workspace: Workspace, setting: tuple[TrackerKind, LinkSource] | None
) -> None:
    """Apply the tracker setting of a checkout.

    The tracker of a project lives in a single checkout. Another checkout may change the setting only when the
    directory of that checkout is gone.
    """
    present = tx.trackers.get(workspace.project_id)
    if present is not None and present.path != workspace.path and Path(present.path).is_dir():
        return
    kind, source = setting or (TrackerKind.BUILTIN, LinkSource.CONFIG)
    if kind is TrackerKind.BUILTIN:
        if present is not None:
            tx.trackers.drop(workspace.project_id)
            _log_change(tx, caller, workspace, kind)
        return
    if present is not None and (present.kind, present.path, present.source) == (kind, workspace.path, source):
        return
    tx.trackers.put(
        ProjectTracker(workspace.project_id, kind, workspace.path, source)
        if present is None
        else msgspec.structs.replace(present, kind=kind, path=workspace.path, source=source, due_at=None)
    )
    if present is None:
        tx.trackers.mark_all_dirty(workspace.project_id)  # issues from before the choice belong into the tracker too
        stored = tx.trackers.get(workspace.project_id)
        assert stored is not None
        tx.trackers.put(msgspec.structs.replace(stored, cursor=tx.events.last_seq()))
    _log_change(tx, caller, workspace, kind)


def _log_change(tx: Tx, caller: Caller, workspace: Workspace, kind: TrackerKind) -> None:
    data = {"tracker": kind.value, "path": workspace.path}
    tx.log(NewEvent(EventKind.PROJECT_CHANGED, workspace.project_id, workspace.project_id, data), actor=caller.name)
