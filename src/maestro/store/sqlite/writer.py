"""The one writer: drains a queue and commits many callers' work in one transaction.

One caller's failure undoes only that caller's work. Nobody is answered before the commit is on the disk, and the
callers of one batch are woken together.

Most callers that fail do so before they have written anything, and then there is nothing to undo. So a batch runs
without savepoints; only when a caller fails halfway is the batch undone and run again, each in a savepoint. (Every
statement lets go of the interpreter and waits for it again: two less for each caller is a fifth of the cost.)
"""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import Any

from maestro import errors, limits
from maestro.clock import Clock
from maestro.domain.events import VERSION, Event
from maestro.store.base import Repositories, Tx
from maestro.store.sqlite.connection import SqliteRows, translated

log = logging.getLogger(__name__)


class Job:
    """One caller's work and what came of it."""

    __slots__ = ("answer", "error", "future", "work")

    def __init__(self, work: Callable[[Tx], Any], future: asyncio.Future[Any]) -> None:
        self.work = work
        self.future = future
        self.answer: Any = None
        self.error: BaseException | None = None


class _Halfway(Exception):
    """A caller failed after it had written: its batch must be run again with savepoints."""


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
        self._repositories = Repositories(SqliteRows(connection))
        self._last_seq = self._repositories.events.last()
        self._clock = clock
        self._loop = loop
        self._committed = committed
        self._closed = False
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="maestro-writer", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Queue one caller's work; refuse when the queue is absurdly long rather than grow without end."""
        if self._closed:
            raise errors.StorageFailed("The server is stopping.", hint="Try again in a moment.")
        if self._jobs.qsize() > limits.write_queue_max:
            raise errors.StorageFailed("Too many writes are waiting.", hint="Try again in a moment.")
        self._jobs.put(job)

    def close(self) -> None:
        """Finish what is queued, then stop."""
        self._closed = True
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (batch := self._take()) is not None:
            events = self._commit(batch)
            self._loop.call_soon_threadsafe(self._announce, batch, events)

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
        try:
            try:
                events = self._transaction(batch, self._attempt)
            except _Halfway:
                events = self._transaction(batch, self._attempt_in_savepoint)
        except Exception as error:  # noqa: BLE001 see below
            # The writer's last handler: whatever happened, nothing of the batch was kept, and the next can come.
            self._fail_all(batch, error)
            return []
        self._last_seq += len(events)
        return events

    def _transaction(self, batch: list[Job], attempt: Callable[[Job, Tx], None]) -> list[Event]:
        events: list[Event] = []
        self._connection.execute("BEGIN IMMEDIATE")
        for job in batch:
            tx = Tx(self._repositories, self._clock.now())
            job.answer = job.error = None
            attempt(job, tx)
            if job.error is None:
                events += self._placed(tx, after=self._last_seq + len(events))
        if events:
            self._repositories.events.append(events)
        self._connection.execute("COMMIT")
        return events

    def _attempt(self, job: Job, tx: Tx) -> None:
        """One caller's work, trusting that it checks before it writes."""
        before = self._connection.total_changes
        try:
            job.answer = job.work(tx)
        except Exception as error:
            if not self._connection.in_transaction:
                raise _undone_by_itself(error) from error
            if self._connection.total_changes != before or isinstance(error, sqlite3.Error):
                self._connection.execute("ROLLBACK")
                raise _Halfway from error
            job.error = error

    def _attempt_in_savepoint(self, job: Job, tx: Tx) -> None:
        """One caller's work, to be undone without the others'."""
        self._connection.execute("SAVEPOINT caller")
        try:
            job.answer = job.work(tx)
        except Exception as error:
            if not self._connection.in_transaction:
                raise _undone_by_itself(error) from error
            self._connection.execute("ROLLBACK TO caller")
            job.error = _for_the_caller(error) if isinstance(error, sqlite3.Error) else error
        self._connection.execute("RELEASE caller")

    def _placed(self, tx: Tx, *, after: int) -> list[Event]:
        """A caller's log lines with their places: one writer, so commit order is the order here."""
        return [
            Event(seq, tx.at, change.project, change.kind.value, VERSION, actor, change.subject, change.data)
            for seq, (change, actor) in enumerate(tx.logged, after + 1)
        ]

    def _fail_all(self, batch: list[Job], error: Exception) -> None:
        """Nothing of this batch was kept, so nobody in it may be told that it was."""
        if not isinstance(error, sqlite3.Error):
            log.error("a batch of writes failed", exc_info=error)
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        for job in batch:
            job.answer = None
            job.error = _for_the_caller(error)

    def _announce(self, batch: list[Job], events: list[Event]) -> None:
        """On the event loop: one wake-up for the whole batch."""
        try:
            if events:
                self._committed(events)
        finally:
            self._answer(batch)  # what is stored is answered, whatever a listener makes of it

    def _answer(self, batch: list[Job]) -> None:
        """Let callers go on, some at a time, so that a reader need not stand behind all of them."""
        if len(batch) > limits.write_answers_at_once_max:
            self._loop.call_soon(self._answer, batch[limits.write_answers_at_once_max :])
        for job in batch[: limits.write_answers_at_once_max]:
            if job.future.done():
                continue  # its caller has gone
            if job.error is not None:
                job.future.set_exception(job.error)
            else:
                job.future.set_result(job.answer)


def _for_the_caller(error: Exception) -> errors.MaestroError:
    if isinstance(error, sqlite3.Error):
        return translated(error, "The database")
    return errors.StorageFailed(f"The write could not be carried out: {error}.")


def _undone_by_itself(error: Exception) -> sqlite3.Error:
    """Some faults (a full disk, an I/O error) make SQLite undo the whole transaction."""
    return error if isinstance(error, sqlite3.Error) else sqlite3.OperationalError(str(error))
