"""When each hook fired last, and its last problem: kept in memory, stored at intervals."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

from maestro.core import limits
from maestro.core.clock import Clock
from maestro.domain.callers import Caller
from maestro.domain.hooks import HookFiring
from maestro.operations import hooks as ops
from maestro.store.base import Store, Tx
from maestro.text import redaction


class HookFirings:
    """The firings and failures of hooks that `maestro doctor` shows."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._stored: dict[tuple[str, str, str], float] = {}
        self._latest: dict[tuple[str, str], datetime] = {}
        self._writing: set[asyncio.Task[None]] = set()

    def record_firing(self, tool: str, event: str) -> None:
        at = self._clock.now()
        self._latest[tool, event] = at
        if self._is_due(tool, event, ""):
            self._write_in_background(lambda tx: tx.hooks.record_firing(tool, event, at=at))

    def record_failure(self, tool: str, event: str, problem: str) -> None:
        """Record a problem that kept a hook from a proper reply."""
        at, text = self._clock.now(), redaction.hide_tokens(problem)[: limits.hook_problem_chars_max]
        if self._is_due(tool, event, text):
            self._write_in_background(lambda tx: tx.hooks.record_failure(tool, event, text, at=at))

    def list_all(self, tx: Tx, caller: Caller, request: ops.ListHooks) -> ops.HookList:
        stored = {(firing.tool, firing.event): firing for firing in tx.hooks.list_firings()}
        for (tool, event), at in self._latest.items():
            known = stored.get((tool, event), HookFiring(tool, event, at))
            stored[tool, event] = HookFiring(tool, event, at, known.problem, known.problem_at)
        return ops.HookList(hooks=[stored[key] for key in sorted(stored)])

    async def close(self) -> None:
        if self._writing:
            await asyncio.wait(self._writing, timeout=1)

    def _is_due(self, tool: str, event: str, problem: str) -> bool:
        key, now = (tool, event, problem), self._clock.monotonic()
        last = self._stored.get(key)
        if last is not None and now - last < limits.hook_firing_seconds:
            return False
        if len(self._stored) > limits.hook_sessions_remembered_max:
            self._stored.clear()
        self._stored[key] = now
        return True

    def _write_in_background(self, work: Callable[[Tx], None]) -> None:
        """Write without making the hook wait for the write."""
        task = asyncio.ensure_future(self._store.write(work, quick=True))
        self._writing.add(task)
        task.add_done_callback(self._drop_finished)

    def _drop_finished(self, task: asyncio.Task[None]) -> None:
        self._writing.discard(task)
        if not task.cancelled():
            task.exception()  # read the error and drop it: a lost note does no harm
