"""Trackers beside Maestro: which project has one, what each issue is called there, which comments both have."""

from __future__ import annotations

from datetime import datetime

import msgspec

from maestro.core.clock import maybe_micros, maybe_time, to_micros
from maestro.domain.links import Source
from maestro.domain.trackers import Choice, Kind, Mirror, State
from maestro.store.rows import Row, Rows


class Trackers:
    """One row for each project that has one, one for each issue that is in it."""

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
        return _choice(row) if row else None

    def all(self, *, limit: int) -> list[Choice]:
        return [_choice(row) for row in self._rows.all("trackers_all", limit=limit)]

    def keep(self, mirror: Mirror) -> None:
        """An issue as it now is on both sides."""
        values = msgspec.structs.asdict(mirror)
        state = mirror.state.value if mirror.state else None
        self._rows.run("mirror_put", **{**values, "state": state, "retry_at": maybe_micros(mirror.retry_at)})

    def mirror(self, task_id: str) -> Mirror | None:
        row = self._rows.one("mirror_get", task_id=task_id)
        return _mirror(row) if row else None

    def of_ref(self, project_id: str, ref: str) -> Mirror | None:
        row = self._rows.one("mirror_of_ref", project_id=project_id, ref=ref)
        return _mirror(row) if row else None

    def of_project(self, project_id: str, *, limit: int) -> list[Mirror]:
        return [_mirror(row) for row in self._rows.page("mirrors_of_project", project_id=project_id, limit=limit)]

    def dirty(self, project_id: str, *, at: datetime, limit: int) -> list[Mirror]:
        """What is still to be told."""
        rows = self._rows.page("mirrors_dirty", project_id=project_id, at=to_micros(at), limit=limit)
        return [_mirror(row) for row in rows]

    def is_unsure(self, project_id: str) -> bool:
        """Whether the making of an issue was begun, and nobody saw how it came out."""
        return self._rows.one("mirror_unsure", project_id=project_id) is not None

    def waiting(self, project_id: str) -> tuple[int, int, datetime | None]:
        """How many are still to be told, how many of those were refused, and when the first is tried again."""
        row = self._rows.one("mirrors_waiting", project_id=project_id)
        return (row[0], row[1], maybe_time(row[2])) if row else (0, 0, None)

    def refused(self, project_id: str, *, limit: int) -> list[Mirror]:
        return [_mirror(row) for row in self._rows.all("mirrors_refused", project_id=project_id, limit=limit)]

    def count(self, project_id: str) -> int:
        """How many issues are on both sides."""
        row = self._rows.one("mirrors_count", project_id=project_id)
        return row[0] if row else 0

    def touch(self, project_id: str, task_id: str) -> None:
        """Something happened to a task: if it is an issue of the project, it is to be told."""
        self._rows.run("mirror_touch", project_id=project_id, task_id=task_id)

    def touch_all(self, project_id: str) -> None:
        """Nobody knows any more what was told: everything is looked at again."""
        self._rows.run("mirrors_touch_all", project_id=project_id)
        self._rows.run("mirrors_touch_known", project_id=project_id)

    def keep_comment(self, task_id: str, fingerprint: str, number: int, message_id: str) -> None:
        """A comment is on both sides from now on."""
        self._rows.run(
            "tracker_comment_put", task_id=task_id, fingerprint=fingerprint, number=number, message_id=message_id
        )

    def comments(self, task_id: str) -> list[tuple[str, int, str]]:
        """Those on both sides: fingerprint, number among equal ones, message."""
        rows = self._rows.all("tracker_comments_of", task_id=task_id)
        return [(row[0], row[1], row[2]) for row in rows]


def _choice(row: Row) -> Choice:
    project_id, kind, path, source, cursor, version, looked_at, ok_at, due_at, failures, problem = row
    times = (maybe_time(looked_at), maybe_time(ok_at), maybe_time(due_at))
    return Choice(project_id, Kind(kind), path, Source(source), cursor, version, *times, failures, problem)


def _mirror(row: Row) -> Mirror:
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
