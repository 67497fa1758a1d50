"""The repository of trackers: the tracker of each project, and the mirror and the comments of each issue in it."""

from __future__ import annotations

from datetime import datetime

import msgspec

from maestro.core.clock import from_micros_or_none, to_micros, to_micros_or_none
from maestro.domain.links import LinkSource
from maestro.domain.trackers import IssueState, MirroredIssue, ProjectTracker, TrackerKind
from maestro.store.rows import Row, Rows


class TrackerRepository:
    """Trackers by project, and mirrors and comments by task. A mirror is an issue's counterpart in the tracker."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, choice: ProjectTracker) -> None:
        times = {name: to_micros_or_none(getattr(choice, name)) for name in ("looked_at", "ok_at", "due_at")}
        values = {**msgspec.structs.asdict(choice), "kind": choice.kind.value, "source": choice.source.value, **times}
        self._rows.execute("tracker_put", **values)

    def drop(self, project_id: str) -> None:
        self._rows.execute("tracker_drop", project_id=project_id)

    def get(self, project_id: str) -> ProjectTracker | None:
        row = self._rows.fetch_first("tracker_get", project_id=project_id)
        return _decode_choice(row) if row else None

    def list_all(self, *, limit: int) -> list[ProjectTracker]:
        return [_decode_choice(row) for row in self._rows.fetch_all("trackers_all", limit=limit)]

    def put_mirror(self, mirror: MirroredIssue) -> None:
        """Store the state of an issue that Maestro and the tracker agree on."""
        values = msgspec.structs.asdict(mirror)
        state = mirror.state.value if mirror.state else None
        self._rows.execute("mirror_put", **{**values, "state": state, "retry_at": to_micros_or_none(mirror.retry_at)})

    def get_mirror(self, task_id: str) -> MirroredIssue | None:
        row = self._rows.fetch_first("mirror_get", task_id=task_id)
        return _decode_mirror(row) if row else None

    def mirror_of_ref(self, project_id: str, ref: str) -> MirroredIssue | None:
        row = self._rows.fetch_first("mirror_of_ref", project_id=project_id, ref=ref)
        return _decode_mirror(row) if row else None

    def mirrors_of_project(self, project_id: str, *, limit: int) -> list[MirroredIssue]:
        return [
            _decode_mirror(row)
            for row in self._rows.fetch_page("mirrors_of_project", project_id=project_id, limit=limit)
        ]

    def list_dirty(self, project_id: str, *, at: datetime, limit: int) -> list[MirroredIssue]:
        """Return the mirrors with changes that the tracker does not have yet."""
        rows = self._rows.fetch_page("mirrors_dirty", project_id=project_id, at=to_micros(at), limit=limit)
        return [_decode_mirror(row) for row in rows]

    def has_uncertain_creation(self, project_id: str) -> bool:
        """Return whether the creation of an issue in the tracker was started and its result is unknown."""
        return self._rows.fetch_first("mirror_unsure", project_id=project_id) is not None

    def count_waiting(self, project_id: str) -> tuple[int, int, datetime | None]:
        """Return the number of dirty mirrors, the number of refused ones, and the time of the next attempt."""
        row = self._rows.fetch_first("mirrors_waiting", project_id=project_id)
        return (row[0], row[1], from_micros_or_none(row[2])) if row else (0, 0, None)

    def list_refused(self, project_id: str, *, limit: int) -> list[MirroredIssue]:
        return [
            _decode_mirror(row) for row in self._rows.fetch_all("mirrors_refused", project_id=project_id, limit=limit)
        ]

    def count_mirrors(self, project_id: str) -> int:
        """Return the number of issues that exist both in Maestro and in the tracker."""
        row = self._rows.fetch_first("mirrors_count", project_id=project_id)
        return row[0] if row else 0

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

    def comments_of(self, task_id: str) -> list[tuple[str, int, str]]:
        """Return the recorded comments of a task: fingerprint, number among equal fingerprints, message id."""
        rows = self._rows.fetch_all("tracker_comments_of", task_id=task_id)
        return [(row[0], row[1], row[2]) for row in rows]


def _decode_choice(row: Row) -> ProjectTracker:
    project_id, kind, path, source, cursor, version, looked_at, ok_at, due_at, failures, problem = row
    times = (from_micros_or_none(looked_at), from_micros_or_none(ok_at), from_micros_or_none(due_at))
    return ProjectTracker(
        project_id, TrackerKind(kind), path, LinkSource(source), cursor, version, *times, failures, problem
    )


def _decode_mirror(row: Row) -> MirroredIssue:
    task_id, project_id, ref, state, who, title, stamp, dirty, trying, telling, said, problem, failures, retry = row
    return MirroredIssue(
        task_id=task_id,
        project_id=project_id,
        ref=ref,
        state=IssueState(state) if state else None,
        who=who,
        title=title,
        stamp=stamp,
        dirty=bool(dirty),
        trying=bool(trying),
        telling=telling,
        said_seq=said,
        problem=problem,
        failures=failures,
        retry_at=from_micros_or_none(retry),
    )
