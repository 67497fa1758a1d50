"""The one writer: drains a queue and commits many callers' work in one transaction.

Each caller's work runs in a savepoint of its own, so that its failure undoes only itself. Nobody is answered
before the commit is on the disk, and the callers of one batch are woken together.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import Any

from maestro import errors, limits
from maestro.clock import Clock
from maestro.domain.events import Event
from maestro.store.base import Tx
from maestro.store.sqlite.connection import SqliteRows, translated


class Job:
    """One caller's work and what came of it."""

    __slots__ = ("answer", "error", "future", "work")

    def __init__(self, work: Callable[[Tx], Any], future: asyncio.Future[Any]) -> None:
        self.work = work
        self.future = future
        self.answer: Any = None
        self.error: BaseException | None = None


class Writer:
    """A thread that owns the writing connection."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
        committed: Callable[[Sequence[Event]], None],
    ) -> None:
        self._connection = connection
        self._rows = SqliteRows(connection)
        self._clock = clock
        self._loop = loop
        self._committed = committed
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="maestro-writer", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Queue one caller's work; refuse when the queue is absurdly long rather than grow without end."""
        if self._jobs.qsize() > limits.write_queue_max:
            raise errors.StorageFailed("Too many writes are waiting.", hint="Try again in a moment.")
        self._jobs.put(job)

    def close(self) -> None:
        """Finish what is queued, then stop."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (batch := self._take()) is not None:
            events = self._commit(batch)
            self._loop.call_soon_threadsafe(self._answer, batch, events)

    def _take(self) -> list[Job] | None:
        first = self._jobs.get()
        if first is None:
            return None
        batch = [first]
        while len(batch) < limits.write_batch_max:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                self._jobs.put(None)  # finish this batch first
                break
            batch.append(job)
        return batch

    def _commit(self, batch: list[Job]) -> list[Event]:
        """All of a batch in one transaction; the events of those that succeeded."""
        events: list[Event] = []
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for job in batch:
                events.extend(self._attempt(job))
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._fail_all(batch, error)
            return []
        return events

    def _attempt(self, job: Job) -> list[Event]:
        """One caller's work in its savepoint."""
        self._connection.execute("SAVEPOINT caller")
        tx = Tx(self._rows, self._clock.now())
        try:
            job.answer = job.work(tx)
        except Exception as error:
            if not self._connection.in_transaction:
                raise _whole_batch_undone(error) from error
            self._connection.execute("ROLLBACK TO caller")
            job.error = translated(error, "The database") if isinstance(error, sqlite3.Error) else error
            tx.logged.clear()
        self._connection.execute("RELEASE caller")
        return tx.logged

    def _fail_all(self, batch: list[Job], error: sqlite3.Error) -> None:
        """Nothing of this batch was kept, so nobody in it may be told that it was."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        for job in batch:
            job.answer = None
            job.error = translated(error, "The database")

    def _answer(self, batch: list[Job], events: list[Event]) -> None:
        if events:
            self._committed(events)
        for job in batch:
            if job.future.done():
                continue  # its caller has gone
            if job.error is not None:
                job.future.set_exception(job.error)
            else:
                job.future.set_result(job.answer)


def _whole_batch_undone(error: Exception) -> sqlite3.Error:
    """Some faults (a full disk, an I/O error) make SQLite undo the whole transaction by itself."""
    return error if isinstance(error, sqlite3.Error) else sqlite3.OperationalError(str(error))
