"""Read what agents' terminals have shown, and find a terminal to attach to. Clients attach to the runner."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.sessions import Session
from maestro.operations import terminals as ops
from maestro.services.access import session_relations
from maestro.services.runners.runners import Runners
from maestro.store.base import Store, Tx
from maestro.text import redaction
from maestro.wire import runner_folder, runner_requests


class Terminals:
    """The terminals of sessions that run or have run."""

    def __init__(self, store: Store, runners: Runners) -> None:
        self._store = store
        self._runners = runners

    async def read_logs(self, caller: Caller, request: ops.ReadLogs) -> ops.SessionLogs:
        """Return the end of a terminal's output. A client that follows the output reads the transcript file itself.

        The transcript file is readable also while no server runs.
        """

        def read_session(tx: Tx) -> tuple[Session, bool]:
            session = session_relations.find_session(tx, caller, request.id, project=request.project)
            session_relations.require_same_project(tx, caller, session, action="read its terminal")
            return session, tx.spawns.get(session.id) is not None

        session, is_spawned = await self._store.read(read_session, quick=True)
        if request.follow:
            await self._wait_for_transcript(session, is_spawned=is_spawned)
        folder = self._runners.session_folder(session.id)
        text = "" if request.follow else await asyncio.to_thread(_shown_text, folder)
        end = _last_lines(text, request.tail)[-request.limit :]
        return ops.SessionLogs(
            session_id=session.id,
            text=end,
            truncated=len(end) < len(text) and request.tail is None,
            name=session.name,
            folder=str(folder.absolute()),
        )

    async def find_terminal(self, caller: Caller, request: ops.AttachSession) -> ops.AgentTerminal:
        """Return where the session's terminal is, if the caller may attach. The client connects to the runner."""

        def read_session(tx: Tx) -> tuple[Session, bool]:
            session = session_relations.find_session(tx, caller, request.id, project=request.project)
            session_relations.require_authority(tx, caller, session, action="attach to")
            return session, tx.spawns.get(session.id) is not None

        session, is_spawned = await self._store.read(read_session, quick=True)
        if session.id == caller.session_id:
            raise errors.Conflict("A session cannot attach to its own terminal.")
        if session.ended_at is not None:
            raise errors.Conflict(
                f"{session.name} has ended ({session.status}) and has no terminal any more.",
                hint=f"maestro session logs {session.name} shows its last output.",
            )
        _require_spawned(session, is_spawned=is_spawned)
        state = await self._runners.send_request(session.id, do=runner_requests.STATE)
        if not state[runner_requests.TERMINAL]:
            raise errors.Conflict(
                f"{session.name} runs without a terminal.",
                hint=f"maestro session logs {session.name} -f follows its output; "
                f"maestro session prompt {session.name} … sends it a prompt.",
            )
        return ops.AgentTerminal(
            session_id=session.id,
            name=session.name,
            folder=str(self._runners.session_folder(session.id).absolute()),
            columns=state[runner_requests.COLUMNS],
            rows=state[runner_requests.ROWS],
            attached=state[runner_requests.ATTACHED],
        )

    async def _wait_for_transcript(self, session: Session, *, is_spawned: bool) -> None:
        """Wait for the transcript of a session that was started a moment ago."""
        _require_spawned(session, is_spawned=is_spawned)
        if session.ended_at is None and self._runners.has_own_runner(session.id):
            with contextlib.suppress(errors.Conflict):  # the runner has just ended: its transcript exists
                await self._runners.send_request(session.id, do=runner_requests.STATE)


def _require_spawned(session: Session, *, is_spawned: bool) -> None:
    if not is_spawned:
        raise errors.Conflict(
            f"{session.name} was not started by Maestro: its terminal is the one it was started in.",
            hint=f"maestro session explain {session.name} shows the evidence for its status.",
        )


def _last_lines(text: str, count: int | None) -> str:
    return text if count is None else "".join(text.splitlines(keepends=True)[-count:] if count else [])


def _shown_text(folder: Path) -> str:
    """Return all text that the terminal showed, without tokens: transcripts of earlier versions may hold some."""
    return redaction.hide_in_terminal("".join(_shown_pieces(folder)))


def _shown_pieces(folder: Path) -> Iterator[str]:
    """Yield the pieces of output from the transcript files."""
    for name in (runner_folder.OLDER_TRANSCRIPT, runner_folder.TRANSCRIPT):
        try:
            lines = (folder / name).read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            continue
        for line in lines[1:]:
            try:
                event = json.loads(line)
            except ValueError:
                continue  # the last line may be half written
            if isinstance(event, list) and len(event) == 3 and event[1] == "o":
                yield event[2]
