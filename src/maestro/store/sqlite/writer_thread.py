"""The thread in which the writer waits for the disk.

A thread pool would do the same work with a future, a semaphore and several locks for each commit, which cost
more than a quarter of a small write.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

log = logging.getLogger(__name__)
T = TypeVar("T")
_Then = Callable[[T, Exception | None], object]
_Order = tuple[Callable[[T], object], T, _Then[T]]


class WriterThread(Generic[T]):
    """A thread that carries out orders, one after the other."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._orders: SimpleQueue[_Order[T] | None] = SimpleQueue()
        # A daemon: a store that was not closed must not keep the process alive.
        self._thread = threading.Thread(target=self._carry_out_orders, name="maestro-writer", daemon=True)
        self._thread.start()

    def run_in_thread(self, work: Callable[[T], object], subject: T, *, then: _Then[T]) -> None:
        """Call `work(subject)` in the thread, and afterwards `then(subject, error)` on the event loop."""
        self._orders.put((work, subject, then))

    def close(self) -> None:
        """Wait until all orders are carried out, then end the thread."""
        self._orders.put(None)
        self._thread.join()

    def _carry_out_orders(self) -> None:
        while (order := self._orders.get()) is not None:
            work, subject, then = order
            failure: Exception | None = None
            try:
                work(subject)
            except Exception as error:  # the thread's last handler: without the thread no write is possible
                log.exception("work in the writer's thread failed")
                failure = error
            self._loop.call_soon_threadsafe(then, subject, failure)
            del order, work, subject, then, failure  # a waiting thread must not keep the last batch in memory
