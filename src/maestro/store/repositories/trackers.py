"""The repository of trackers: the tracker of each project, and the mirror and the comments of each issue in it."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import msgspec

from maestro.core.clock import to_micros, to_micros_or_none
from maestro.domain.trackers import MirroredIssue, ProjectTracker
from maestro.store.decoding import Decoder
from maestro.store.rows import Rows


class WaitingMirrors(NamedTuple):
    """The number of dirty mirrors, the number of refused ones, and the time of the next attempt."""

    dirty: int
    refused: int
    retry_at: datetime | None


class MirroredComment(NamedTuple):
    """A comment that exists both in Maestro and in the tracker. Comments with equal fingerprints are numbered."""

    fingerprint: str
    number: int
    message_id: str


_TRACKER = Decoder(ProjectTracker)
_MIRROR = Decoder(MirroredIssue)
_WAITING = Decoder(WaitingMirrors)
_COMMENT = Decoder(MirroredComment)


class TrackerRepository:
    """Trackers by project, and mirrors and comments by task. A mirror is an issue's counterpart in the tracker."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, choice: ProjectTracker) -> None:
        times = {name: to_micros_or_none(getattr(choice, name)) for name in ("read_at", "succeeded_at", "due_at")}
        values = {**msgspec.structs.asdict(choice), "kind": choice.kind.value, "source": choice.source.value, **times}
        self._rows.execute("tracker_put", **values)

    def drop(self, project_id: str) -> None:
        self._rows.execute("tracker_drop", project_id=project_id)

    def get(self, project_id: str) -> ProjectTracker | None:
        return self._rows.fetch_first("tracker_get", _TRACKER, project_id=project_id)

    def list_all(self, *, limit: int) -> list[ProjectTracker]:
        return self._rows.fetch_all("trackers_all", _TRACKER, limit=limit)

    def put_mirror(self, mirror: MirroredIssue) -> None:
        """Store the state of an issue that Maestro and the tracker agree on."""
        values = msgspec.structs.asdict(mirror)
        state = mirror.state.value if mirror.state else None
        self._rows.execute("mirror_put", **{**values, "state": state, "retry_at": to_micros_or_none(mirror.retry_at)})

    def get_mirror(self, task_id: str) -> MirroredIssue | None:
        return self._rows.fetch_first("mirror_get", _MIRROR, task_id=task_id)

    def mirror_of_ref(self, project_id: str, ref: str) -> MirroredIssue | None:
        return self._rows.fetch_first("mirror_of_ref", _MIRROR, project_id=project_id, ref=ref)

    def mirrors_of_project(self, project_id: str, *, limit: int) -> list[MirroredIssue]:
        return self._rows.fetch_page("mirrors_of_project", _MIRROR, project_id=project_id, limit=limit)

    def list_dirty(self, project_id: str, *, at: datetime, limit: int) -> list[MirroredIssue]:
        """Return the mirrors with changes that the tracker does not have yet."""
        return self._rows.fetch_page("mirrors_dirty", _MIRROR, project_id=project_id, at=to_micros(at), limit=limit)

    def has_uncertain_creation(self, project_id: str) -> bool:
        """Return whether the creation of an issue in the tracker was started and its result is unknown."""
        return self._rows.has_row("mirror_unsure", project_id=project_id)

    def count_waiting(self, project_id: str) -> WaitingMirrors:
        waiting = self._rows.fetch_first("mirrors_waiting", _WAITING, project_id=project_id)
        assert waiting is not None
        return waiting

    def list_refused(self, project_id: str, *, limit: int) -> list[MirroredIssue]:
        return self._rows.fetch_all("mirrors_refused", _MIRROR, project_id=project_id, limit=limit)

    def count_mirrors(self, project_id: str) -> int:
        """Return the number of issues that exist both in Maestro and in the tracker."""
        return int(self._rows.fetch_value("mirrors_count", project_id=project_id))

    def mark_dirty(self, project_id: str, task_id: str) -> None:
        """Mark the mirror of a changed task as dirty, if the task is an issue of the project."""
        self._rows.execute("mirror_touch", project_id=project_id, task_id=task_id)

    def mark_all_dirty(self, project_id: str) -> None:
        """Mark all mirrors of a project as dirty: the last state that the tracker got is unknown."""
        self._rows.execute("mirrors_touch_all", project_id=project_id)
        self._rows.execute("mirrors_touch_known", project_id=project_id)

    def put_comment(self, task_id: str, fingerprint: str, number: int, message_id: str) -> None:
        """Record that a comment exists both in Maestro and in the tracker."""
        self._rows.execute(
            "tracker_comment_put", task_id=task_id, fingerprint=fingerprint, number=number, message_id=message_id
        )

    def comments_of(self, task_id: str) -> list[MirroredComment]:
        return self._rows.fetch_all("tracker_comments_of", _COMMENT, task_id=task_id)
