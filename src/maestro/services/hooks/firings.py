"""When each hook fired last, and what went wrong with it: kept in memory, stored every so often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

from maestro.core import limits
from maestro.core.clock import Clock
from maestro.domain.callers import Caller
from maestro.domain.hooks import Firing
from maestro.operations import hooks as ops
from maestro.store.base import Store, Tx
from maestro.text import redaction


class Firings:
    """The notes that `maestro doctor` looks at."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._stored: dict[tuple[str, str, str], float] = {}
        self._latest: dict[tuple[str, str], datetime] = {}
        self._writing: set[asyncio.Task[None]] = set()

    def fired(self, tool: str, event: str) -> None:
        at = self._clock.now()
        self._latest[tool, event] = at
        if self._is_due(tool, event, ""):
            self._write(lambda tx: tx.hooks.fired(tool, event, at=at))

    def failed(self, tool: str, event: str, problem: str) -> None:
        """Something kept a hook from being answered as it should."""
        at, said = self._clock.now(), redaction.hide(problem)[: limits.hook_problem_chars_max]
        if self._is_due(tool, event, said):
            self._write(lambda tx: tx.hooks.failed(tool, event, said, at=at))

    def list_all(self, tx: Tx, caller: Caller, request: ops.ListHooks) -> ops.HookList:
        stored = {(one.tool, one.event): one for one in tx.hooks.firings()}
        for (tool, event), at in self._latest.items():
            known = stored.get((tool, event), Firing(tool, event, at))
            stored[tool, event] = Firing(tool, event, at, known.problem, known.problem_at)
        return ops.HookList(hooks=[stored[key] for key in sorted(stored)])

    async def close(self) -> None:
        if self._writing:
            await asyncio.wait(self._writing, timeout=1)

    def _is_due(self, tool: str, event: str, problem: str) -> bool:
        what, now = (tool, event, problem), self._clock.monotonic()
        last = self._stored.get(what)
        if last is not None and now - last < limits.hook_firing_seconds:
            return False
        if len(self._stored) > limits.hook_sessions_remembered_max:
            self._stored.clear()
        self._stored[what] = now
        return True

    def _write(self, work: Callable[[Tx], None]) -> None:
        """Behind the back of whoever fired: it does not wait for this."""
        task = asyncio.ensure_future(self._store.write(work, quick=True))
        self._writing.add(task)
        task.add_done_callback(self._is_written)

    def _is_written(self, task: asyncio.Task[None]) -> None:
        self._writing.discard(task)
        if not task.cancelled():
            task.exception()  # that it could not be noted harms nobody
