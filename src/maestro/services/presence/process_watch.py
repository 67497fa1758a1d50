"""Notice at once when the recorded process of a session ends, where the system can tell (Linux: pidfd).

The end of a process alone does not make a session lost: it shortens the session's lease.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable

from maestro.core import limits
from maestro.store.base import Store
from maestro.system import processes

EndHandler = Callable[[str], Awaitable[None]]


class ProcessWatch:
    """Watches a process descriptor for each live session with a process on this machine."""

    def __init__(self, store: Store, on_end: EndHandler) -> None:
        self._store = store
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._watched: dict[str, int] = {}
        self._reports: set[asyncio.Task[None]] = set()

    async def watch_live_sessions(self) -> None:
        """Watch the processes of all live sessions, and no others."""
        if not hasattr(os, "pidfd_open"):
            return
        live = await self._store.read(lambda tx: tx.sessions.live_processes())
        for session_id in self._watched.keys() - live.keys():
            self._stop_watching(session_id)
        for session_id, (pid, started) in live.items():
            if session_id not in self._watched and len(self._watched) < limits.processes_watched_max:
                self._watch(session_id, pid, started)

    async def close(self) -> None:
        for session_id in list(self._watched):
            self._stop_watching(session_id)
        for task in self._reports:
            task.cancel()
        await asyncio.gather(*self._reports, return_exceptions=True)

    def _watch(self, session_id: str, pid: int, started: str) -> None:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            self._report_end(session_id)
            return
        except OSError:
            return  # too many open files: the process cannot be watched, but may still run
        try:
            found = processes.find_process(pid)
        except OSError:
            os.close(descriptor)
            return
        if found is None or found.started != started:  # another process has the same pid now
            os.close(descriptor)
            self._report_end(session_id)
            return
        self._watched[session_id] = descriptor
        self._loop.add_reader(descriptor, self._handle_end, session_id)

    def _handle_end(self, session_id: str) -> None:
        self._stop_watching(session_id)
        self._report_end(session_id)

    def _stop_watching(self, session_id: str) -> None:
        descriptor = self._watched.pop(session_id)
        self._loop.remove_reader(descriptor)
        with contextlib.suppress(OSError):
            os.close(descriptor)

    def _report_end(self, session_id: str) -> None:
        async def report() -> None:
            await self._on_end(session_id)

        task = self._loop.create_task(report())
        self._reports.add(task)
        task.add_done_callback(self._reports.discard)
