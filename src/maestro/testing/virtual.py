"""An event loop in which waiting takes no time: when no work is left, its clock jumps to the next timer.

Work in threads is real. The loop waits for threads, so that the clock never jumps while a thread works.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from maestro.store.sqlite.writer_thread import WriterThread

T = TypeVar("T")
_START = datetime(2026, 1, 1, 12, tzinfo=UTC)
_THREAD_SECONDS_MAX = 30.0


class _Selector(selectors.DefaultSelector):
    """A selector that never sleeps for a timer, only for a working thread."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.in_threads = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if events or (timeout is not None and timeout <= 0):
            return events
        if self.in_threads or timeout is None:
            return super().select(_THREAD_SECONDS_MAX)
        self.now += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes only when all tasks wait."""

    def __init__(self) -> None:
        self._virtual_selector = _Selector()
        super().__init__(self._virtual_selector)

    def time(self) -> float:
        return self._virtual_selector.now

    @property
    def in_threads(self) -> int:
        """Return the number of calls that run in threads."""
        return self._virtual_selector.in_threads

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        self._virtual_selector.in_threads += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._count_return)
        return future

    def count_orders(self, thread: WriterThread[Any]) -> None:
        """Count the orders of the writer's thread, as `run_in_executor` counts its calls."""
        give = thread.run_in_thread

        def give_counted(
            work: Callable[[Any], object], subject: Any, *, then: Callable[[Any, Exception | None], object]
        ) -> None:
            def follow(subject: Any, failure: Exception | None) -> None:
                self._virtual_selector.in_threads -= 1
                then(subject, failure)

            self._virtual_selector.in_threads += 1
            give(work, subject, then=follow)

        thread.run_in_thread = give_counted  # type: ignore[method-assign]

    def _count_return(self, future: asyncio.Future[Any]) -> None:
        self._virtual_selector.in_threads -= 1


class LoopClock:
    """The wall clock and the monotonic clock of a server, driven by its loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def now(self) -> datetime:
        return _START + timedelta(seconds=self._loop.time())

    def monotonic(self) -> float:
        return self._loop.time()
