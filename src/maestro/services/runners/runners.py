"""The server's side of runners: start a runner, and send requests to live runners.

A runner outlives the server. Its folder holds all facts about it: its note, its socket, its unsent reports.
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
from maestro.services.runners.forker_client import RecordRunner, RunnerForkerClient
from maestro.system import stray_processes
from maestro.system.processes import Process, descendants_of, find_by_variable, find_process
from maestro.wire import end_record, frames, runner_folder, runner_requests
from maestro.wire.runner_order import RunnerOrder, order_fields

_POLL_SECONDS = 0.01
_KILL_ROUNDS_MAX = 100  # of killing the processes that an agent left behind
_KILL_ROUND_SECONDS = 0.02
_encode = msgspec.json.Encoder().encode


class RunnerNote(msgspec.Struct, frozen=True):
    """The identity of a runner and its program, by pid and start time, and the number of the session's start."""

    runner: int
    runner_started: str
    program: int
    program_started: str
    epoch: int = 1
    is_earlier: bool = False  # the runner belongs to an earlier version, which named the program `agent`


class Runners:
    """The runners of sessions. The server works in its data directory: this keeps socket paths short."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._own_sessions: set[str] = set()
        self._forker = RunnerForkerClient(self._drop_ended)
        self.on_end: Callable[[], None] = lambda: None  # called after the end of a runner of this server

    def session_folder(self, session_id: str) -> Path:
        return self._home / runner_folder.SESSIONS / session_id

    async def start_runner(self, order: RunnerOrder, *, record: RecordRunner) -> int:
        """Start a runner with an order in the session's existing folder. Return its pid.

        `record` stores the runner's process; the runner waits for the end of the store.
        """
        self._own_sessions.add(order.session_id)
        try:
            return await self._forker.fork_runner(order_fields(order), record=record)
        except OSError:
            self._own_sessions.discard(order.session_id)
            raise

    async def close(self) -> None:
        """Close the forker. Running runners go on."""
        await self._forker.close()

    def _drop_ended(self, session_id: str) -> None:
        self._own_sessions.discard(session_id)
        self.on_end()

    def has_own_runner(self, session_id: str) -> bool:
        """Return whether a runner of this server has not ended, even before the runner holds the lock."""
        return session_id in self._own_sessions

    def read_note(self, session_id: str) -> RunnerNote | None:
        """Return the note that a runner wrote about itself; None without a readable note."""
        try:
            fields = msgspec.json.decode((self.session_folder(session_id) / runner_folder.IDENTITY).read_bytes())
            if "agent" in fields:
                earlier = {"program": fields["agent"], "program_started": fields["agent_started"], "is_earlier": True}
                fields = {**fields, **earlier}
            return msgspec.convert(fields, RunnerNote)
        except (OSError, TypeError, LookupError, msgspec.DecodeError):  # a ValidationError is a DecodeError
            return None

    def has_live_runner(self, session_id: str) -> bool:
        """Return whether a live runner has the session: a runner holds the lock as long as it lives."""
        try:
            descriptor = os.open(self.session_folder(session_id) / runner_folder.LOCK, os.O_RDWR | os.O_CLOEXEC)
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
        """Return the ids of all sessions with a live runner, also of sessions that the store does not know."""
        folders = sorted((self._home / runner_folder.SESSIONS).glob("*"))
        return [folder.name for folder in folders if self.has_live_runner(folder.name)]

    def kill_orphans(self, session_id: str, *, epoch: int) -> bool:
        """Kill the processes of a program whose runner is gone. Return whether any process was found.

        A killed runner does not end its program. The processes are the noted program, its descendants, and every
        process with the session's id in its environment: processes that left the program's group have no other mark.
        The search is repeated until it finds none, since a process may start another one meanwhile.
        """
        has_killed = False
        for _ in range(_KILL_ROUNDS_MAX):
            strays = self._stray_processes(session_id, epoch)
            if not strays:
                return has_killed
            has_killed = True
            stray_processes.kill_processes(strays)
            time.sleep(_KILL_ROUND_SECONDS)
        return has_killed

    def _stray_processes(self, session_id: str, epoch: int) -> list[Process]:
        """Return the processes that a program left behind, but never the server and its child processes.

        The agent may have started this server.
        """
        note = self.read_note(session_id)
        if note is not None and note.epoch != epoch:
            return []  # the session has been started again meanwhile
        program = find_process(note.program) if note else None
        found = {process.pid: process for process in find_by_variable("MAESTRO_SESSION_ID", session_id)}
        if note is not None and program is not None and program.started == note.program_started:
            found |= {process.pid: process for process in (program, *descendants_of(program.pid))}
        spared = {os.getpid(), *(process.pid for process in descendants_of(os.getpid()))}
        return [process for pid, process in found.items() if pid not in spared and not process.has_ended]

    def last_log_lines(self, session_id: str) -> str:
        """Return the last lines of a runner's log."""
        try:
            text = (self.session_folder(session_id) / runner_folder.LOG).read_text("utf-8", "replace")
        except OSError:
            return ""
        return "\n".join(text.strip().splitlines()[-5:])

    def read_spool(self, session_id: str) -> list[dict[str, Any]]:
        """Return the reports that a runner could not send before it ended. A full disk leaves only the end record."""
        reports: list[dict[str, Any]] = []
        with contextlib.suppress(OSError, msgspec.DecodeError):
            reports = msgspec.json.decode((self.session_folder(session_id) / runner_folder.SPOOL).read_bytes())
        end = end_record.read_record(self.session_folder(session_id))
        if end is not None and not any(_is_same_end(report, end) for report in reports):
            reports = [*reports, end]
        return reports

    def delete_spool(self, session_id: str) -> None:
        (self.session_folder(session_id) / runner_folder.SPOOL).unlink(missing_ok=True)
        end_record.remove_record(self.session_folder(session_id))

    async def write_input(self, session_id: str, data: bytes) -> bool:
        """Write input to the program's terminal. Return whether the terminal took all of it within a short time."""
        answer = await self.send_request(session_id, do=runner_requests.WRITE, data=base64.b64encode(data).decode())
        deadline = time.monotonic() + limits.prompt_accepted_seconds
        while answer.get(runner_requests.LEFT) and time.monotonic() < deadline:
            await asyncio.sleep(_POLL_SECONDS)
            answer = await self.send_request(session_id, do=runner_requests.STATE)
        return not answer.get(runner_requests.LEFT)

    async def send_request(self, session_id: str, **request: Any) -> dict[str, Any]:
        """Send a request to the session's runner and return the answer; raise Conflict if no runner answers."""
        try:
            async with asyncio.timeout(limits.runner_answer_seconds_max):
                answer = await self._exchange(session_id, request)
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            raise errors.Conflict(
                f"The runner of session {session_id} does not answer.",
                hint="maestro session explain shows the evidence for the session's status.",
            ) from error
        if not answer.get(runner_requests.OK):
            raise errors.Conflict(str(answer.get(runner_requests.PROBLEM, "The runner refused.")))
        return answer

    async def _connect(self, session_id: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to a runner's socket. A runner that was just started needs a moment before it listens."""
        path = os.path.relpath(self.session_folder(session_id) / runner_folder.CONTROL_SOCKET)
        while True:
            try:
                return await asyncio.open_unix_connection(path)
            except (FileNotFoundError, ConnectionRefusedError):
                if not self.has_own_runner(session_id):
                    raise
            await asyncio.sleep(_POLL_SECONDS)

    async def _exchange(self, session_id: str, request: dict[str, Any]) -> dict[str, Any]:
        reader, writer = await self._connect(session_id)
        try:
            payload = _encode(request)
            writer.write(frames.pack_frame(frames.QUERY, payload))
            while True:
                head = await reader.readexactly(frames.HEAD_BYTES)
                body = await reader.readexactly(frames.payload_bytes(head))
                if head[:1] == frames.ANSWER:
                    answer: dict[str, Any] = msgspec.json.decode(body)
                    return answer
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


def _is_same_end(report: dict[str, Any], end: dict[str, Any]) -> bool:
    """Return whether a report and an end record tell the end of the same start."""
    return report.get("kind") == end.get("kind") and report.get("epoch") == end.get("epoch")
