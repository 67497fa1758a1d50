"""The repository of trackers: the tracker of each project, and the mirror and the comments of each issue in it."""

from __future__ import annotations

from datetime import datetime

import msgspec

from maestro.core.clock import maybe_micros, maybe_time, to_micros
from maestro.domain.links import Source
from maestro.domain.trackers import Choice, Kind, Mirror, State
from maestro.store.rows import Row, Rows


class Trackers:
    """Trackers by project, and mirrors and comments by task. A mirror is an issue's counterpart in the tracker."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, choice: Choice) -> None:
        times = {name: maybe_micros(getattr(choice, name)) for name in ("looked_at", "ok_at", "due_at")}
        values = {**msgspec.structs.asdict(choice), "kind": choice.kind.value, "source": choice.source.value, **times}
        self._rows.run("tracker_put", **values)

    def drop(self, project_id: str) -> None:
        self._rows.run("tracker_drop", project_id=project_id)

    def get(self, project_id: str) -> Choice | None:
        row = self._rows.one("tracker_get", project_id=project_id)
        return _decode_choice(row) if row else None

    def all(self, *, limit: int) -> list[Choice]:
        return [_decode_choice(row) for row in self._rows.all("trackers_all", limit=limit)]

    def keep(self, mirror: Mirror) -> None:
        """Store the state of an issue that Maestro and the tracker agree on."""
        values = msgspec.structs.asdict(mirror)
        state = mirror.state.value if mirror.state else None
        self._rows.run("mirror_put", **{**values, "state": state, "retry_at": maybe_micros(mirror.retry_at)})

    def mirror(self, task_id: str) -> Mirror | None:
        row = self._rows.one("mirror_get", task_id=task_id)
        return _decode_mirror(row) if row else None

    def of_ref(self, project_id: str, ref: str) -> Mirror | None:
        row = self._rows.one("mirror_of_ref", project_id=project_id, ref=ref)
        return _decode_mirror(row) if row else None

    def of_project(self, project_id: str, *, limit: int) -> list[Mirror]:
        return [
            _decode_mirror(row) for row in self._rows.page("mirrors_of_project", project_id=project_id, limit=limit)
        ]

    def dirty(self, project_id: str, *, at: datetime, limit: int) -> list[Mirror]:
        """Return the mirrors with changes that the tracker does not have yet."""
        rows = self._rows.page("mirrors_dirty", project_id=project_id, at=to_micros(at), limit=limit)
        return [_decode_mirror(row) for row in rows]

    def is_unsure(self, project_id: str) -> bool:
        """Return whether the creation of an issue in the tracker was started and its result is unknown."""
        return self._rows.one("mirror_unsure", project_id=project_id) is not None

    def waiting(self, project_id: str) -> tuple[int, int, datetime | None]:
        """Return the number of dirty mirrors, the number of refused ones, and the time of the next attempt."""
        row = self._rows.one("mirrors_waiting", project_id=project_id)
        return (row[0], row[1], maybe_time(row[2])) if row else (0, 0, None)

    def refused(self, project_id: str, *, limit: int) -> list[Mirror]:
        return [_decode_mirror(row) for row in self._rows.all("mirrors_refused", project_id=project_id, limit=limit)]

    def count(self, project_id: str) -> int:
        """Return the number of issues that exist both in Maestro and in the tracker."""
        row = self._rows.one("mirrors_count", project_id=project_id)
        return row[0] if row else 0

    def touch(self, project_id: str, task_id: str) -> None:
        """Mark the mirror of a changed task as dirty, if the task is an issue of the project."""
        self._rows.run("mirror_touch", project_id=project_id, task_id=task_id)

    def touch_all(self, project_id: str) -> None:
        """Mark all mirrors of a project as dirty: the last state that the tracker got is unknown."""
        self._rows.run("mirrors_touch_all", project_id=project_id)
        self._rows.run("mirrors_touch_known", project_id=project_id)

    def keep_comment(self, task_id: str, fingerprint: str, number: int, message_id: str) -> None:
        """Record that a comment exists both in Maestro and in the tracker."""
        self._rows.run(
            "tracker_comment_put", task_id=task_id, fingerprint=fingerprint, number=number, message_id=message_id
        )

    def comments(self, task_id: str) -> list[tuple[str, int, str]]:
        """Return the recorded comments of a task: fingerprint, number among equal fingerprints, message id."""
        rows = self._rows.all("tracker_comments_of", task_id=task_id)
        return [(row[0], row[1], row[2]) for row in rows]


def _decode_choice(row: Row) -> Choice:
    project_id, kind, path, source, cursor, version, looked_at, ok_at, due_at, failures, problem = row
    times = (maybe_time(looked_at), maybe_time(ok_at), maybe_time(due_at))
    return Choice(project_id, Kind(kind), path, Source(source), cursor, version, *times, failures, problem)


def _decode_mirror(row: Row) -> Mirror:
    task_id, project_id, ref, state, who, title, stamp, dirty, trying, telling, said, problem, failures, retry = row
    return Mirror(
        task_id=task_id,
        project_id=project_id,
        ref=ref,
        state=State(state) if state else None,
        who=who,
        title=title,
        stamp=stamp,
        dirty=bool(dirty),
        trying=bool(trying),
        telling=telling,
        said_seq=said,
        problem=problem,
        failures=failures,
        retry_at=maybe_time(retry),
    )
