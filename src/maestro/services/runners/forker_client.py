"""The server's side of the runner forker, a separate process that forks a runner for each order."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from maestro.core import limits
from maestro.system import processes

# Stores the process of a forked runner before the runner begins; False: the runner is no longer wanted.
RecordRunner = Callable[[processes.Process], Awaitable[bool]]


class RunnerForkerClient:
    """Starts the forking process with the first runner, and again after the process has ended.

    `on_runner_end` is called for every runner that has ended.
    """

    def __init__(self, on_runner_end: Callable[[str], None]) -> None:
        self._on_runner_end = on_runner_end
        self._process: asyncio.subprocess.Process | None = None
        self._reader_task: asyncio.Task[None] | None = None
        self._start_lock = asyncio.Lock()
        self._order_numbers = itertools.count(1)
        self._expected_pids: dict[int, asyncio.Future[int]] = {}  # the runner's pid, by the number of its order
        self._live_sessions: set[str] = set()

    async def fork_runner(self, order: dict[str, Any], *, record: RecordRunner) -> int:
        """Fork a runner for an order, record the process, let the runner begin. Return the pid, or raise OSError."""
        process, number = await self._ensure_process(), next(self._order_numbers)
        pid: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._expected_pids[number] = pid
        is_wanted = False
        try:
            _send(process, {**order, "number": number})
            async with asyncio.timeout(limits.runner_answer_seconds_max):
                runner = processes.find_process(await pid)
            if runner is None:
                raise OSError("The runner ended before it began.")
            is_wanted = await record(runner)
            return runner.pid
        finally:
            self._expected_pids.pop(number, None)
            _send(process, {"begin": number, "is_wanted": is_wanted})

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        process.stdin.close()  # a closed input ends the forker, not its runners
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limits.runner_answer_seconds_max):
                await process.wait()
        if self._reader_task is not None:
            self._reader_task.cancel()

    async def _ensure_process(self) -> asyncio.subprocess.Process:
        async with self._start_lock:
            if self._process is None or self._process.returncode is not None:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-P",
                    "-m",
                    "maestro.runner.forker",
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    cwd="/",
                    env=_minimal_environment(),
                    start_new_session=True,  # an interrupt at the server's terminal must not reach runners
                )
                self._reader_task = asyncio.create_task(self._read_messages(self._process), name="runner forker")
            return self._process

    async def _read_messages(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            self._handle_message(msgspec.json.decode(line))
        await process.wait()
        # No process reports the ends of these runners any more. The handler checks by itself which of them live.
        for pid in self._expected_pids.values():
            if not pid.done():
                pid.set_exception(OSError("The process that starts runners has ended."))
        session_ids, self._live_sessions = self._live_sessions, set()
        for session_id in session_ids:
            self._on_runner_end(session_id)

    def _handle_message(self, message: dict[str, Any]) -> None:
        if "ended" in message:
            self._live_sessions.discard(message["ended"])
            self._on_runner_end(message["ended"])
            return
        self._live_sessions.add(message["born"])
        pid = self._expected_pids.get(message["number"])
        if pid is not None and not pid.done():
            pid.set_result(message["pid"])


def _send(process: asyncio.subprocess.Process, message: dict[str, Any]) -> None:
    """Send a message to the forker, with the length in front."""
    assert process.stdin is not None
    # Not with msgspec: an environment may hold bytes that are no text, which json keeps.
    data = json.dumps(message).encode()
    process.stdin.write(len(data).to_bytes(4, "big") + data)


def _minimal_environment() -> dict[str, str]:
    """Return the variables that the forker's Python needs to start; the order holds the agent's environment."""
    kept = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")
    return {name: os.environ[name] for name in kept if name in os.environ}
