"""The one writer: commit the work of many callers in one transaction.

A caller's failure undoes only that caller's work. No caller gets an answer before the commit is on the disk, and the
callers of a batch are woken together. While a batch is being flushed, the next batch gathers.

Most callers that fail do so before their first write, and have no write to undo. Therefore a batch runs without
savepoints. Only when a caller fails after a write, the batch is undone and run again, each job in a savepoint.

Every statement releases the interpreter lock and takes the lock again. Between two busy threads the switch costs more
than the statement. Therefore quick work runs on the event loop, a few jobs at a time, and other work of the loop gets
a turn in between. Only the commit, which waits for the disk, runs in the writer's thread. A batch with a job that may
take long runs in the thread as a whole.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from maestro.core import errors, limits
from maestro.core.clock import Clock
from maestro.domain.events import EVENT_VERSION, Event
from maestro.store.base import Repositories, RollbackWithAnswer, Tx
from maestro.store.sqlite.connection import STORAGE_ERRORS, SqliteRows, translate_error
from maestro.store.sqlite.writer_thread import WriterThread

log = logging.getLogger(__name__)


class WriteJob:
    """A caller's work, with the answer or error of its last attempt."""

    __slots__ = ("answer", "error", "future", "quick", "undos", "work")

    def __init__(self, work: Callable[[Tx], Any], future: asyncio.Future[Any], *, quick: bool) -> None:
        self.work = work
        self.future = future
        self.quick = quick
        self.answer: Any = None
        self.error: BaseException | None = None
        self.undos: list[Callable[[], None]] = []

    def start_attempt(self, tx: Tx) -> None:
        """Drop the result of an earlier attempt."""
        self.answer = self.error = None
        self.undos = tx.undo_callbacks

    def undo_in_memory(self) -> None:
        """Undo the changes that the work made in memory. A second call does nothing."""
        while self.undos:
            self.undos.pop()()


_Attempt = Callable[[WriteJob, Tx], None]


class _FailedAfterWriteError(Exception):
    """A job failed after a write: its batch must run again with savepoints."""


class _Batch:
    """The content of a transaction: the jobs so far and their events."""

    def __init__(self, changes_before: int) -> None:
        self.changes_before = changes_before
        self.jobs: list[WriteJob] = []
        self.events: list[Event] = []


class Writer:
    """The owner of the writing connection. Public methods are called on the event loop only."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        *,
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
        on_commit: Callable[[Sequence[Event]], None],
        require_files: Callable[[], None],
        on_fault: Callable[[errors.StorageFailed], None],
    ) -> None:
        self._connection = connection
        self._path = path
        self._rows = SqliteRows(connection)
        self._repositories = Repositories(self._rows, for_writer=True)
        self._last_seq = self._repositories.events.last_seq()
        self._clock = clock
        self._loop = loop
        self._committed = on_commit
        self._require_files = require_files
        self._failed = on_fault
        self._waiting: deque[WriteJob] = deque()
        self._closed = False
        self._busy = False
        self._drained = asyncio.Event()
        self._drained.set()
        self._thread: WriterThread[_Batch] = WriterThread(loop)

    @property
    def last_seq(self) -> int:
        """Return the sequence number of the last committed event."""
        return self._last_seq

    def submit_job(self, job: WriteJob) -> None:
        """Queue a caller's work. Refuse the work when the queue is full: the queue must not grow without end."""
        if self._closed:
            raise errors.StorageFailed("The server is stopping.", hint="Try again in a moment.")
        if len(self._waiting) > limits.write_queue_max:
            raise errors.StorageFailed("Too many writes are waiting.", hint="Try again in a moment.")
        self._waiting.append(job)
        if not self._busy:
            self._busy = True
            self._drained.clear()
            self._loop.call_soon(self._start_batch)  # after the other callers that submit in this turn of the loop

    async def close(self) -> None:
        """Finish the queued jobs, then stop."""
        self._closed = True
        await self._drained.wait()
        self._thread.close()

    def _start_batch(self) -> None:
        """Start the next batch if a job is waiting. Only one batch runs at a time."""
        if not self._waiting:
            self._busy = False
            self._drained.set()
        elif self._waiting[0].quick:
            self._run_quick_jobs(_Batch(self._connection.total_changes))
        else:
            batch = _Batch(self._connection.total_changes)
            batch.jobs = self._next_jobs(limits.write_batch_max)
            self._thread.run_in_thread(self._run_batch, batch, then=self._finish_batch)

    def _run_quick_jobs(self, batch: _Batch) -> None:
        """Run the next few quick jobs of a batch on the event loop. Between two calls, readers get a turn."""
        jobs = self._next_jobs(limits.quick_jobs_at_once_max, quick=True)
        is_first, batch.jobs = not batch.jobs, batch.jobs + jobs
        try:
            if is_first:
                self._connection.execute("BEGIN IMMEDIATE")
            self._run_jobs(jobs, batch, self._attempt_job)
        except _FailedAfterWriteError:
            self._thread.run_in_thread(self._run_in_savepoints, batch, then=self._finish_batch)
        except Exception as error:  # noqa: BLE001 see _fail_all
            self._fail_all(batch, error)
            self._finish_batch(batch)
        else:
            self._continue_or_commit(batch)

    def _continue_or_commit(self, batch: _Batch) -> None:
        if len(batch.jobs) < limits.quick_batch_max and self._waiting and self._waiting[0].quick:
            self._loop.call_soon(self._run_quick_jobs, batch)
        elif self._connection.total_changes == batch.changes_before:
            self._commit_batch(batch)  # the batch wrote no row: the commit does not wait for the disk
            self._finish_batch(batch)
        else:
            self._thread.run_in_thread(self._commit_batch, batch, then=self._finish_batch)

    def _next_jobs(self, count_max: int, *, quick: bool = False) -> list[WriteJob]:
        """Remove and return the next waiting jobs. `quick`: stop before the first job that is not quick."""
        jobs: list[WriteJob] = []
        while self._waiting and len(jobs) < count_max and (self._waiting[0].quick or not quick):
            jobs.append(self._waiting.popleft())
        return jobs

    def _finish_batch(self, batch: _Batch, failure: Exception | None = None) -> None:
        """Publish the events of a batch and answer its callers, on the event loop. A `failure` means: not committed.

        A commit into a removed file is not acknowledged. The check is made on the event loop: the writer's thread
        would have to wait for the interpreter lock after each look at a file.
        """
        if failure is not None:
            self._fail_all(batch, failure)
        try:
            self._require_files()
        except errors.StorageGone as gone:
            self._fail_all(batch, gone)
        self._last_seq += len(batch.events)
        try:
            if batch.events:
                self._committed(batch.events)
        finally:
            self._answer_callers(batch.jobs)  # callers of stored work get an answer even if a listener fails
            self._loop.call_soon(self._start_batch)

    def _run_batch(self, batch: _Batch) -> None:
        """Run a batch in one transaction, in the writer's thread."""
        self._run_batch_with(batch, self._attempt_job)

    def _run_in_savepoints(self, batch: _Batch) -> None:
        """Run a batch again, each job in a savepoint."""
        self._run_batch_with(batch, self._attempt_in_savepoint)

    def _run_batch_with(self, batch: _Batch, attempt: _Attempt) -> None:
        batch.events.clear()
        for job in batch.jobs:
            job.undo_in_memory()  # the job may have run before
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._run_jobs(batch.jobs, batch, attempt)
        except _FailedAfterWriteError:
            self._run_in_savepoints(batch)
        except Exception as error:  # noqa: BLE001 see _fail_all
            self._fail_all(batch, error)
        else:
            self._commit_batch(batch)

    def _commit_batch(self, batch: _Batch) -> None:
        """Commit a batch to the disk. If the commit fails, every job of the batch fails."""
        try:
            self._connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 see _fail_all
            self._fail_all(batch, error)

    def _run_jobs(self, jobs: list[WriteJob], batch: _Batch, attempt: _Attempt) -> None:
        """Run some jobs of a batch, and append the events of the successful jobs to the log."""
        events: list[Event] = []
        for job in jobs:
            tx = Tx(self._repositories, self._clock.now())
            job.start_attempt(tx)
            attempt(job, tx)
            if job.error is not None:
                job.undo_in_memory()
            else:
                events += _number_events(tx, after=self._last_seq + len(batch.events) + len(events))
        if events:
            self._repositories.events.append(events)
            batch.events += events

    def _attempt_job(self, job: WriteJob, tx: Tx) -> None:
        """Run a job without a savepoint, and expect that a failing job fails before its first write."""
        before = self._connection.total_changes
        try:
            job.answer = job.work(tx)
        except Exception as error:
            if not self._connection.in_transaction:
                raise _rollback_by_sqlite(error) from error
            is_expected = isinstance(error, errors.MaestroError | RollbackWithAnswer)
            if self._connection.total_changes != before or not is_expected:
                self._roll_back("ROLLBACK")
                raise _FailedAfterWriteError from error
            job.error = error

    def _attempt_in_savepoint(self, job: WriteJob, tx: Tx) -> None:
        """Run a job in a savepoint, so that only its work is undone. Check texts: damage may explain the failure."""
        self._connection.execute("SAVEPOINT caller")
        self._rows.checks_texts = True
        try:
            job.answer = job.work(tx)
        except Exception as error:
            if not self._connection.in_transaction:
                raise _rollback_by_sqlite(error) from error
            self._roll_back("ROLLBACK TO caller")
            job.error = self._error_for_caller(error) if isinstance(error, STORAGE_ERRORS) else error
        finally:
            self._rows.checks_texts = False
        self._connection.execute("RELEASE caller")

    def _roll_back(self, statement: str) -> None:
        self._connection.execute(statement)
        self._repositories.clear_caches()

    def _fail_all(self, batch: _Batch, error: Exception) -> None:
        """Fail every job of a batch: no write of the batch was stored, so no caller may get a success."""
        if not isinstance(error, (*STORAGE_ERRORS, errors.StorageFailed)):
            log.error("a batch of writes failed", exc_info=error)
        batch.events.clear()
        for job in batch.jobs:
            job.undo_in_memory()
            job.answer = None
            job.error = self._error_for_caller(error)
        self._repositories.clear_caches()
        if self._connection.in_transaction:
            try:
                self._roll_back("ROLLBACK")
            except sqlite3.Error as problem:  # a damaged database may refuse the rollback; callers need an answer
                log.error("a failed batch of writes could not be rolled back: %s", problem)

    def _error_for_caller(self, error: Exception) -> errors.MaestroError:
        """Return the error that a caller gets, and report a storage error to the store."""
        if isinstance(error, STORAGE_ERRORS):
            error = translate_error(error, self._path)
        if not isinstance(error, errors.StorageFailed):
            return errors.StorageFailed(f"The write could not be carried out: {error}.")
        self._failed(error)
        return error

    def _answer_callers(self, jobs: list[WriteJob]) -> None:
        """Answer the callers, some at a time, so that a reader does not wait for all of them."""
        if len(jobs) > limits.write_answers_at_once_max:
            self._loop.call_soon(self._answer_callers, jobs[limits.write_answers_at_once_max :])
        for job in jobs[: limits.write_answers_at_once_max]:
            if job.future.done():
                continue  # the caller was cancelled
            if job.error is not None:
                job.future.set_exception(job.error)
            else:
                job.future.set_result(job.answer)


def _number_events(tx: Tx, *, after: int) -> list[Event]:
    """Return a job's events with sequence numbers. With only one writer, jobs are committed in this order."""
    return [
        Event(seq, tx.at, change.project, change.kind.value, EVENT_VERSION, actor, change.subject, change.data)
        for seq, (change, actor) in enumerate(tx.logged_changes, after + 1)
    ]


def _rollback_by_sqlite(error: Exception) -> sqlite3.Error:
    """Return the SQLite error after which SQLite rolled back the transaction (a full disk, an I/O error)."""
    return error if isinstance(error, sqlite3.Error) else sqlite3.OperationalError(str(error))
