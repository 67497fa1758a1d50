"""The server's side of the nursery: one process of its own that becomes a runner for every order."""

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

# Stores the process of a runner that waits for leave to begin; False: the runner is no longer wanted.
Record = Callable[[processes.Process], Awaitable[bool]]


class Nursery:
    """Started with the first runner, and again if it should have ended. `ended` hears of every runner that has."""

    def __init__(self, ended: Callable[[str], None]) -> None:
        self._ended = ended
        self._process: asyncio.subprocess.Process | None = None
        self._listening: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._numbers = itertools.count(1)
        self._expected: dict[int, asyncio.Future[int]] = {}  # by the order's number: the pid of its runner
        self._alive: set[str] = set()

    async def bear(self, order: dict[str, Any], *, record: Record) -> int:
        """Fork a runner for an order, record its process, let it begin; return its pid. OSError if there is none."""
        process, number = await self._there(), next(self._numbers)
        born: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._expected[number] = born
        is_wanted = False
        try:
            _send(process, {**order, "number": number})
            async with asyncio.timeout(limits.runner_answer_seconds_max):
                runner = processes.look_up(await born)
            if runner is None:
                raise OSError("The runner ended before it began.")
            is_wanted = await record(runner)
            return runner.pid
        finally:
            self._expected.pop(number, None)
            _send(process, {"begin": number, "is_wanted": is_wanted})

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        process.stdin.close()  # it ends by that; its runners do not
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limits.runner_answer_seconds_max):
                await process.wait()
        if self._listening is not None:
            self._listening.cancel()

    async def _there(self) -> asyncio.subprocess.Process:
        async with self._starting:
            if self._process is None or self._process.returncode is not None:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-P",
                    "-m",
                    "maestro.runner.nursery",
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    cwd="/",
                    env=_own_environment(),
                    start_new_session=True,  # an interrupt at the server's terminal is not for runners
                )
                self._listening = asyncio.create_task(self._listen(self._process), name="nursery")
            return self._process

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            self._hear(msgspec.json.decode(line))
        await process.wait()
        # Nobody tells of their ends any more; whoever is told now looks for itself who lives.
        for born in self._expected.values():
            if not born.done():
                born.set_exception(OSError("The process that starts runners has ended."))
        alive, self._alive = self._alive, set()
        for session_id in alive:
            self._ended(session_id)

    def _hear(self, said: dict[str, Any]) -> None:
        if "ended" in said:
            self._alive.discard(said["ended"])
            self._ended(said["ended"])
            return
        self._alive.add(said["born"])
        born = self._expected.get(said["number"])
        if born is not None and not born.done():
            born.set_result(said["pid"])


def _send(process: asyncio.subprocess.Process, message: dict[str, Any]) -> None:
    """Hand the nursery one message, behind its length."""
    assert process.stdin is not None
    # Not by msgspec: an environment may hold what is no text, and this keeps it as it is.
    data = json.dumps(message).encode()
    process.stdin.write(len(data).to_bytes(4, "big") + data)


def _own_environment() -> dict[str, str]:
    """What a Python of ours needs to start; the agent's own environment is in its order."""
    kept = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")
    return {name: os.environ[name] for name in kept if name in os.environ}
