"""What agents' terminals have shown, and where they are to be had: whoever attaches speaks with the runner itself."""

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
from maestro.services.programs.runners import Runners
from maestro.services.sessions import kin
from maestro.store.base import Store, Tx
from maestro.text import redaction

_FILES = ("transcript-older.cast", "transcript.cast")


class Terminals:
    """Looking at what runs, or has run."""

    def __init__(self, store: Store, runners: Runners) -> None:
        self._store = store
        self._runners = runners

    async def logs(self, caller: Caller, request: ops.ReadLogs) -> ops.Logs:
        """The end of it. To follow, one reads the transcript itself: it is there also without a server."""

        def look(tx: Tx) -> tuple[Session, bool]:
            session = kin.named(tx, caller, request.id, project=request.project)
            kin.may_hear(tx, caller, session, what="read its terminal")
            return session, tx.spawns.get(session.id) is not None

        session, is_ours = await self._store.read(look, quick=True)
        if request.follow:
            await self._await_runner(session, is_ours=is_ours)
        folder = self._runners.folder(session.id)
        text = "" if request.follow else await asyncio.to_thread(_shown_text, folder)
        end = _last_lines(text, request.tail)[-request.limit :]
        return ops.Logs(
            session_id=session.id,
            text=end,
            truncated=len(end) < len(text) and request.tail is None,
            name=session.name,
            folder=str(folder.absolute()),
        )

    async def attach(self, caller: Caller, request: ops.AttachSession) -> ops.AgentTerminal:
        """Whether the caller may, and where; the rest is between the two."""

        def look(tx: Tx) -> tuple[Session, bool]:
            session = kin.named(tx, caller, request.id, project=request.project)
            kin.may_act_on(tx, caller, session, what="attach to")
            return session, tx.spawns.get(session.id) is not None

        session, is_ours = await self._store.read(look, quick=True)
        if session.id == caller.session_id:
            raise errors.Conflict("This is your own terminal.")
        if session.ended_at is not None:
            raise errors.Conflict(
                f"{session.name} has ended ({session.status}): there is no terminal any more.",
                hint=f"maestro session logs {session.name} shows what it showed.",
            )
        _require_ours(session, is_ours=is_ours)
        state = await self._runners.ask(session.id, do="state")
        if not state["terminal"]:
            raise errors.Conflict(
                f"{session.name} runs without a terminal.",
                hint=f"maestro session logs {session.name} -f follows what it says; "
                f"maestro session prompt {session.name} … tells it something.",
            )
        return ops.AgentTerminal(
            session_id=session.id,
            name=session.name,
            folder=str(self._runners.folder(session.id).absolute()),
            columns=state["columns"],
            rows=state["rows"],
            attached=state["attached"],
        )

    async def _await_runner(self, session: Session, *, is_ours: bool) -> None:
        """One that was started a moment ago has no transcript yet."""
        _require_ours(session, is_ours=is_ours)
        if session.ended_at is None and self._runners.is_starting(session.id):
            with contextlib.suppress(errors.Conflict):  # it has just ended: its transcript is there
                await self._runners.ask(session.id, do="state")


def _require_ours(session: Session, *, is_ours: bool) -> None:
    if not is_ours:
        raise errors.Conflict(
            f"{session.name} was not started by this server: its terminal is where it was started.",
            hint=f"maestro session explain {session.name} says what is known of it.",
        )


def _last_lines(text: str, count: int | None) -> str:
    return text if count is None else "".join(text.splitlines(keepends=True)[-count:] if count else [])


def _shown_text(folder: Path) -> str:
    """Return all that the terminal showed. Transcripts of earlier versions may still hold tokens."""
    return redaction.hide_in_terminal("".join(_shown(folder)))


def _shown(folder: Path) -> Iterator[str]:
    """What the terminal showed, from the transcript."""
    for name in _FILES:
        try:
            lines = (folder / name).read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            continue
        for line in lines[1:]:
            try:
                event = json.loads(line)
            except ValueError:
                continue  # the last line, half written
            if isinstance(event, list) and len(event) == 3 and event[1] == "o":
                yield event[2]
