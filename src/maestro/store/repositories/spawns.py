"""The repository of spawns: how each session's program was started, and how the program ended."""

from __future__ import annotations

from datetime import datetime

import msgspec

from maestro.core.clock import to_micros
from maestro.domain.runs import AttemptOutcome
from maestro.domain.spawns import Spawn
from maestro.store.decoding import Decoder
from maestro.store.rows import Rows

_encode = msgspec.json.Encoder().encode


class DismissedSession(msgspec.Struct, frozen=True):
    """A session whose program still runs although the session has no work left."""

    session_id: str
    run_id: str | None  # None: the session is recorded as ended, and not because of a run
    outcome: AttemptOutcome | None  # the outcome of the session's attempt; None: the run ended before the attempt
    ended_at: datetime | None


_SPAWN = Decoder(Spawn)
_DISMISSED = Decoder(DismissedSession)


class SpawnRepository:
    """Spawns by session."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def insert(self, spawn: Spawn, *, manifest: bytes) -> None:
        self._rows.execute(
            "spawn_insert",
            session_id=spawn.session_id,
            tool=spawn.tool,
            arguments=_encode(spawn.arguments).decode(),
            model=spawn.model,
            permission=spawn.permission.value,
            strategy=spawn.strategy,
            template=spawn.template,
            directory=spawn.directory,
            manifest=manifest,
            run_id=spawn.run_id,
            created_at=to_micros(spawn.created_at),
        )

    def get(self, session_id: str) -> Spawn | None:
        return self._rows.fetch_first("spawn_get", _SPAWN, session_id=session_id)

    def get_manifest(self, session_id: str) -> bytes | None:
        manifest: bytes | None = self._rows.fetch_value("spawn_manifest", session_id=session_id)
        return manifest

    def list_live(self, *, after: datetime, limit: int) -> list[Spawn]:
        """Return the spawns without a recorded end of the program, oldest first."""
        return self._rows.fetch_all("spawns_live", _SPAWN, after=to_micros(after), limit=limit)

    def list_dismissed(self, *, limit: int) -> list[DismissedSession]:
        """Return the sessions whose program runs although the session, its attempt or its run has ended."""
        return self._rows.fetch_all("spawns_dismissed", _DISMISSED, limit=limit)

    def record_runner(self, session_id: str, *, epoch: int, pid: int, started: str) -> bool:
        """Record the runner of a start; return False if the session was started again or has ended meanwhile."""
        values = {"runner_pid": pid, "runner_started": started, "epoch": epoch}
        return self._rows.execute("spawn_runner", session_id=session_id, **values) == 1

    def complete_runner(self, session_id: str, *, epoch: int, pid: int, started: str) -> None:
        """Complete the record of a runner that an earlier version of the server started."""
        values = {"runner_pid": pid, "runner_started": started, "epoch": epoch}
        self._rows.execute("spawn_runner_completed", session_id=session_id, **values)

    def set_process(self, session_id: str, *, pid: int, started: str) -> None:
        """Record the process of the session's program."""
        self._rows.execute("session_process", id=session_id, pid=pid, pid_started=started)

    def record_exit(
        self,
        session_id: str,
        *,
        epoch: int,
        code: int | None,
        signal: str | None,
        tail: str | None,
        at: datetime,
    ) -> bool:
        """Record how the program of a start ended; return False if the end was recorded before."""
        values = {"exit_code": code, "exit_signal": signal, "tail": tail, "ended_at": to_micros(at)}
        return self._rows.execute("spawn_ended", session_id=session_id, epoch=epoch, **values) == 1

    def reset_for_restart(self, session_id: str, *, manifest: bytes) -> None:
        """Reset a spawn for a new start of its session."""
        self._rows.execute("spawn_restart", session_id=session_id, manifest=manifest)

    def count_below(self, parent_id: str) -> int:
        return int(self._rows.fetch_value("spawns_below", parent_id=parent_id))

    def count_in_project(self, project_id: str) -> int:
        return int(self._rows.fetch_value("spawns_in_project", project_id=project_id))
