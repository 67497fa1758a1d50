"""The server's side of the nursery: one process of its own that becomes a runner for every order."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from maestro import limits


class Nursery:
    """Started with the first runner, and again if it should have ended. `ended` hears of every runner that has."""

    def __init__(self, ended: Callable[[str], None]) -> None:
        self._ended = ended
        self._process: asyncio.subprocess.Process | None = None
        self._listening: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._expected: dict[str, asyncio.Future[int]] = {}  # by session: the pid of a runner that is being born
        self._alive: set[str] = set()

    async def bear(self, session_id: str, order: bytes) -> int:
        """A runner for an order; its pid. OSError if there is none in time."""
        process = await self._there()
        assert process.stdin is not None
        born: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._expected[session_id] = born
        try:
            process.stdin.write(len(order).to_bytes(4, "big") + order)
            async with asyncio.timeout(limits.runner_answer_seconds_max):
                return await born
        finally:
            self._expected.pop(session_id, None)

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
        session_id = said["born"]
        self._alive.add(session_id)
        born = self._expected.get(session_id)
        if born is not None and not born.done():
            born.set_result(said["pid"])


def _own_environment() -> dict[str, str]:
    """What a Python of ours needs to start; the agent's own environment is in its order."""
    kept = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")
    return {name: os.environ[name] for name in kept if name in os.environ}
