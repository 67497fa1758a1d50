"""The server's side of runners: starting one, and speaking with those that live.

A runner outlives the server. What is known of it is in its folder: who it is, its socket, what it could not report.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from maestro.core import errors, limits
from maestro.services.programs.nursery import Nursery, Record
from maestro.system import stray_processes
from maestro.system.processes import Process, below, look_up, with_variable
from maestro.wire import end_record

FOLDER = "runs"
CONTROL = "control.sock"
LOCK = "runner.lock"
NOTE = "runner.json"
LOG = "runner.log"
SPOOL = "spool.json"
_LISTENS_SECONDS = 0.01
_ROUNDS_MAX = 100  # of ending what an agent left
_ROUND_SECONDS = 0.02
_encode = msgspec.json.Encoder().encode


class Note(msgspec.Struct, frozen=True):
    """Who a runner and its agent are: pid and start time each; and which start of the session it carried out."""

    runner: int
    runner_started: str
    agent: int
    agent_started: str
    epoch: int = 1


class Runners:
    """Runners by the session they run. The server's own directory is its home, so paths from there are short."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._running: set[str] = set()
        self._nursery = Nursery(self._ended)
        self.on_end: Callable[[], None] = lambda: None  # a runner of ours has ended

    def folder(self, session_id: str) -> Path:
        return self._home / FOLDER / session_id

    async def start(self, order: dict[str, Any], session_id: str, *, record: Record) -> int:
        """Start a runner in the session's folder, which is there, and hand it its order; return its pid.

        `record` stores the runner's process; the runner does nothing before that.
        """
        folder = self.folder(session_id)
        self._running.add(session_id)
        try:
            return await self._nursery.bear({**order, "folder": str(folder)}, record=record)
        except OSError:
            self._running.discard(session_id)
            raise

    async def close(self) -> None:
        """Those that run go on."""
        await self._nursery.close()

    def _ended(self, session_id: str) -> None:
        self._running.discard(session_id)
        self.on_end()

    def is_starting(self, session_id: str) -> bool:
        """Whether a runner that we started has not ended yet, also if it holds nothing so far."""
        return session_id in self._running

    def note(self, session_id: str) -> Note | None:
        """What a runner wrote about itself."""
        try:
            return msgspec.json.decode((self.folder(session_id) / NOTE).read_bytes(), type=Note)
        except (OSError, msgspec.DecodeError):
            return None

    def is_alive(self, session_id: str) -> bool:
        """Whether a runner has this session: it holds the lock for as long as it lives."""
        try:
            descriptor = os.open(self.folder(session_id) / LOCK, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False

    def live_sessions(self) -> list[str]:
        """Return the ids of all sessions that a runner has, whether the store knows them or not."""
        folders = sorted((self._home / FOLDER).glob("*"))
        return [folder.name for folder in folders if self.is_alive(folder.name)]

    def end_orphan(self, session_id: str, *, epoch: int) -> bool:
        """End an agent of this start whose runner is gone, with all it started; whether there was anything.

        That is the very process that was noted, whatever is below it, and whoever was started with the session's
        name in its environment: a runner that is killed takes nobody along, and those who had left the agent's
        group have no other mark. Looked for again until nobody is found, for one may start another meanwhile.
        """
        ended = False
        for _ in range(_ROUNDS_MAX):
            left = self._left(session_id, epoch)
            if not left:
                return ended
            ended = True
            stray_processes.kill(left)
            time.sleep(_ROUND_SECONDS)
        return ended

    def _left(self, session_id: str, epoch: int) -> list[Process]:
        """What is still there of an agent; never this server or what it started, should the agent have started it."""
        note = self.note(session_id)
        if note is not None and note.epoch != epoch:
            return []  # it has been started again meanwhile
        agent = look_up(note.agent) if note else None
        found = {one.pid: one for one in with_variable("MAESTRO_SESSION_ID", session_id)}
        if note is not None and agent is not None and agent.started == note.agent_started:
            found |= {one.pid: one for one in (agent, *below(agent.pid))}
        spared = {os.getpid(), *(one.pid for one in below(os.getpid()))}
        return [one for pid, one in found.items() if pid not in spared and not one.ended]

    def last_words(self, session_id: str) -> str:
        """The end of what a runner complained of."""
        try:
            said = (self.folder(session_id) / LOG).read_text("utf-8", "replace")
        except OSError:
            return ""
        return "\n".join(said.strip().splitlines()[-5:])

    def spooled(self, session_id: str) -> list[dict[str, Any]]:
        """What a runner could not report before it ended. A full disk leaves only the record of the end."""
        found: list[dict[str, Any]] = []
        with contextlib.suppress(OSError, msgspec.DecodeError):
            found = msgspec.json.decode((self.folder(session_id) / SPOOL).read_bytes())
        end = end_record.read(self.folder(session_id))
        if end is not None and not any(_is_end(report, of=end) for report in found):
            found = [*found, end]
        return found

    def forget_spool(self, session_id: str) -> None:
        (self.folder(session_id) / SPOOL).unlink(missing_ok=True)
        end_record.remove(self.folder(session_id))

    async def write(self, session_id: str, data: bytes) -> bool:
        """Input for the agent; whether its terminal took all of it, within a moment."""
        answer = await self.ask(session_id, do="write", data=base64.b64encode(data).decode())
        ends = time.monotonic() + limits.prompt_taken_seconds
        while answer.get("left") and time.monotonic() < ends:
            await asyncio.sleep(_LISTENS_SECONDS)
            answer = await self.ask(session_id, do="state")
        return not answer.get("left")

    async def ask(self, session_id: str, **request: Any) -> dict[str, Any]:
        """One request to a runner, and its answer; NotFound if none is there."""
        try:
            async with asyncio.timeout(limits.runner_answer_seconds_max):
                answer = await self._exchange(session_id, request)
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            raise errors.Conflict(
                "Its runner does not answer.", hint="maestro session explain says what is known of it."
            ) from error
        if not answer.get("ok"):
            raise errors.Conflict(str(answer.get("problem", "The runner refused.")))
        return answer

    async def _connect(self, session_id: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """To a runner's socket. One that was started a moment ago will listen in a moment."""
        path = os.path.relpath(self.folder(session_id) / CONTROL)
        while True:
            try:
                return await asyncio.open_unix_connection(path)
            except (FileNotFoundError, ConnectionRefusedError):
                if not self.is_starting(session_id):
                    raise
            await asyncio.sleep(_LISTENS_SECONDS)

    async def _exchange(self, session_id: str, request: dict[str, Any]) -> dict[str, Any]:
        reader, writer = await self._connect(session_id)
        try:
            payload = _encode(request)
            writer.write(b"Q" + len(payload).to_bytes(4, "big") + payload)
            while True:
                head = await reader.readexactly(5)
                body = await reader.readexactly(int.from_bytes(head[1:], "big"))
                if head[:1] == b"A":
                    answer: dict[str, Any] = msgspec.json.decode(body)
                    return answer
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


def _is_end(report: dict[str, Any], *, of: dict[str, Any]) -> bool:
    """Return whether a report tells the end of the same start as a record does."""
    return report.get("kind") == of.get("kind") and report.get("epoch") == of.get("epoch")
