"""Session records."""

from __future__ import annotations

from datetime import datetime

from maestro.clock import from_micros, to_micros
from maestro.domain.sessions import Mode, Session, Status
from maestro.store.rows import Row, Rows


class Sessions:
    """Sessions, by id, token or process."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def insert(self, session: Session, *, token_hash: str) -> None:
        self._rows.run(
            "session_insert",
            id=session.id,
            project_id=session.project_id,
            workspace_id=session.workspace_id,
            name=session.name,
            mode=session.mode.value,
            status=session.status.value,
            parent_id=session.parent_id,
            human=session.human,
            pid=session.pid,
            pid_started=session.pid_started,
            token_hash=token_hash,
            lease_until=to_micros(session.lease_until),
            created_at=to_micros(session.created_at),
            updated_at=to_micros(session.updated_at),
        )

    def get(self, session_id: str) -> Session | None:
        return _session(self._rows.one("session_get", id=session_id))

    def by_token(self, token_hash: str) -> Session | None:
        return _session(self._rows.one("session_by_token", token_hash=token_hash))

    def by_name(self, project_id: str, name: str) -> Session | None:
        return _session(self._rows.one("session_by_name", project_id=project_id, name=name))

    def with_process(self) -> dict[tuple[int, str], str]:
        """Which session each recorded process (pid and start time) is or was; the last one counts."""
        return {(row[1], row[2]): row[0] for row in self._rows.all("sessions_with_process")}

    def is_live(self, session_id: str) -> bool:
        return self._rows.one("session_is_live", id=session_id) is not None

    def beat(self, session_id: str, *, status: Status, lease_until: datetime, at: datetime) -> None:
        self._rows.run(
            "session_beat",
            id=session_id,
            status=status.value,
            lease_until=to_micros(lease_until),
            updated_at=to_micros(at),
        )

    def end(self, session_id: str, *, status: Status, at: datetime) -> bool:
        """Whether it was live until now."""
        return self._rows.run("session_end", id=session_id, status=status.value, at=to_micros(at)) == 1


def _session(row: Row | None) -> Session | None:
    if row is None:
        return None
    return Session(
        id=row[0],
        project_id=row[1],
        workspace_id=row[2],
        address=f"{row[3]}/{row[4]}" if row[3] else None,
        name=row[5],
        mode=Mode(row[6]),
        status=Status(row[7]),
        parent_id=row[8],
        human=row[9],
        pid=row[10],
        pid_started=row[11],
        lease_until=from_micros(row[12]),
        created_at=from_micros(row[13]),
        updated_at=from_micros(row[14]),
        ended_at=from_micros(row[15]) if row[15] is not None else None,
    )
