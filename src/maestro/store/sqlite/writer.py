"""The one writer: commits many callers' work in one transaction.

One caller's failure undoes only that caller's work. Nobody is answered before the commit is on the disk, and the
callers of one batch are woken together. While one batch is being flushed, the next gathers.

Most callers that fail do so before they have written anything, and then there is nothing to undo. So a batch runs
without savepoints; only when a caller fails halfway is the batch undone and run again, each in a savepoint.

Every statement lets go of the interpreter and takes it again. Between two busy threads that costs more than the
statement, so quick work runs on the event loop itself, a few jobs at a time with a turn for everyone else in
between, and only the commit, which waits for the disk, in the writer's thread. A batch with anything that may take
long runs there as a whole.
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
from maestro.domain.events import VERSION, Event
from maestro.store.base import Repositories, Tx, Undo
from maestro.store.sqlite.connection import STORAGE_ERRORS, SqliteRows, translated
from maestro.store.sqlite.writer_thread import WriterThread

log = logging.getLogger(__name__)


class Job:
    """One caller's work and what came of it."""

    __slots__ = ("answer", "error", "future", "quick", "undos", "work")

    def __init__(self, work: Callable[[Tx], Any], future: asyncio.Future[Any], *, quick: bool) -> None:
        self.work = work
        self.future = future
        self.quick = quick
        self.answer: Any = None
        self.error: BaseException | None = None
        self.undos: list[Callable[[], None]] = []

    def begin(self, tx: Tx) -> None:
        """Forget an earlier attempt."""
        self.answer = self.error = None
        self.undos = tx.undos

    def take_back(self) -> None:
        """Undo in memory what the work has changed there, once."""
        while self.undos:
            self.undos.pop()()


_Attempt = Callable[[Job, Tx], None]


class _Halfway(Exception):
    """A caller failed after it had written: its batch must be run again with savepoints."""


class _Batch:
    """What one transaction commits: the jobs so far and their log lines."""

    def __init__(self, changes_before: int) -> None:
        self.changes_before = changes_before
        self.jobs: list[Job] = []
        self.events: list[Event] = []


class Writer:
    """Owns the writing connection. Its public side is called on the event loop only."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        *,
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
        committed: Callable[[Sequence[Event]], None],
        require_files: Callable[[], None],
        failed: Callable[[errors.StorageFailed], None],
    ) -> None:
        self._connection = connection
        self._path = path
        self._rows = SqliteRows(connection)
        self._repositories = Repositories(self._rows, of_the_writer=True)
        self._last_seq = self._repositories.events.last()
        self._clock = clock
        self._loop = loop
        self._committed = committed
        self._require_files = require_files
        self._failed = failed
        self._waiting: deque[Job] = deque()
        self._closed = False
        self._busy = False
        self._drained = asyncio.Event()
        self._drained.set()
        self._thread: WriterThread[_Batch] = WriterThread(loop)

    @property
    def last_seq(self) -> int:
        """The sequence number of the last committed event."""
        return self._last_seq

    def submit(self, job: Job) -> None:
        """Queue one caller's work; refuse when the queue is absurdly long rather than grow without end."""
        if self._closed:
            raise errors.StorageFailed("The server is stopping.", hint="Try again in a moment.")
        if len(self._waiting) > limits.write_queue_max:
            raise errors.StorageFailed("Too many writes are waiting.", hint="Try again in a moment.")
        self._waiting.append(job)
        if not self._busy:
            self._busy = True
            self._drained.clear()
            self._loop.call_soon(self._begin)  # after whoever else is about to submit in this moment

    async def close(self) -> None:
        """Finish what is queued, then stop."""
        self._closed = True
        await self._drained.wait()
        self._thread.close()

    def _begin(self) -> None:
        """Start the next batch, if there is one. One is under way at a time."""
        if not self._waiting:
            self._busy = False
            self._drained.set()
        elif self._waiting[0].quick:
            self._go_on(_Batch(self._connection.total_changes))
        else:
            batch = _Batch(self._connection.total_changes)
            batch.jobs = self._take(limits.write_batch_max)
            self._thread.run(self._run, batch, then=self._finish)

    def _go_on(self, batch: _Batch) -> None:
        """The next few quick jobs of a batch, on the event loop; in between, whoever reads gets a turn."""
        jobs = self._take(limits.quick_jobs_at_once_max, quick=True)
        is_first, batch.jobs = not batch.jobs, batch.jobs + jobs
        try:
            if is_first:
                self._connection.execute("BEGIN IMMEDIATE")
            self._do(jobs, batch, self._attempt)
        except _Halfway:
            self._thread.run(self._run_in_savepoints, batch, then=self._finish)
        except Exception as error:  # noqa: BLE001 see _fail_all
            self._fail_all(batch, error)
            self._finish(batch)
        else:
            self._end_or_go_on(batch)

    def _end_or_go_on(self, batch: _Batch) -> None:
        if len(batch.jobs) < limits.quick_batch_max and self._waiting and self._waiting[0].quick:
            self._loop.call_soon(self._go_on, batch)
        elif self._connection.total_changes == batch.changes_before:
            self._commit(batch)  # nothing to flush, so nothing to wait for
            self._finish(batch)
        else:
            self._thread.run(self._commit, batch, then=self._finish)

    def _take(self, many: int, *, quick: bool = False) -> list[Job]:
        """The next jobs; `quick`: only as far as they are."""
        jobs: list[Job] = []
        while self._waiting and len(jobs) < many and (self._waiting[0].quick or not quick):
            jobs.append(self._waiting.popleft())
        return jobs

    def _finish(self, batch: _Batch, failure: Exception | None = None) -> None:
        """On the event loop, after the commit: tell everyone, and go on. After a `failure` nothing was committed.

        A commit into a file that is no longer there is not acknowledged. The check is made here and not in the
        writer's thread, which would have to wait for the interpreter after each look at a file.
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
            self._answer(batch.jobs)  # what is stored is answered, whatever a listener makes of it
            self._loop.call_soon(self._begin)

    def _run(self, batch: _Batch) -> None:
        """Run a batch in one transaction, in the writer's thread."""
        self._run_with(batch, self._attempt)

    def _run_in_savepoints(self, batch: _Batch) -> None:
        """Run a batch again, each caller's work in a savepoint."""
        self._run_with(batch, self._attempt_in_savepoint)

    def _run_with(self, batch: _Batch, attempt: _Attempt) -> None:
        batch.events.clear()
        for job in batch.jobs:
            job.take_back()  # it runs again
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._do(batch.jobs, batch, attempt)
        except _Halfway:
            self._run_in_savepoints(batch)
        except Exception as error:  # noqa: BLE001 see _fail_all
            self._fail_all(batch, error)
        else:
            self._commit(batch)

    def _commit(self, batch: _Batch) -> None:
        """On the disk, or not at all."""
        try:
            self._connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 see _fail_all
            self._fail_all(batch, error)

    def _do(self, jobs: list[Job], batch: _Batch, attempt: _Attempt) -> None:
        """Some jobs of a batch, and the log lines of those that succeeded."""
        events: list[Event] = []
        for job in jobs:
            tx = Tx(self._repositories, self._clock.now())
            job.begin(tx)
            attempt(job, tx)
            if job.error is not None:
                job.take_back()
            else:
                events += _placed(tx, after=self._last_seq + len(batch.events) + len(events))
        if events:
            self._repositories.events.append(events)
            batch.events += events

    def _attempt(self, job: Job, tx: Tx) -> None:
        """One caller's work, trusting that it checks before it writes."""
        before = self._connection.total_changes
        try:
            job.answer = job.work(tx)
        except Exception as error:
            if not self._connection.in_transaction:
                raise _undone_by_itself(error) from error
            is_expected = isinstance(error, errors.MaestroError | Undo)
            if self._connection.total_changes != before or not is_expected:
                self._undo("ROLLBACK")
                raise _Halfway from error
            job.error = error

    def _attempt_in_savepoint(self, job: Job, tx: Tx) -> None:
        """One caller's work, to be undone without the others'. Texts are checked: damage may be why it failed."""
        self._connection.execute("SAVEPOINT caller")
        self._rows.checks_texts = True
        try:
            job.answer = job.work(tx)
        except Exception as error:
            if not self._connection.in_transaction:
                raise _undone_by_itself(error) from error
            self._undo("ROLLBACK TO caller")
            job.error = self._for_the_caller(error) if isinstance(error, STORAGE_ERRORS) else error
        finally:
            self._rows.checks_texts = False
        self._connection.execute("RELEASE caller")

    def _undo(self, statement: str) -> None:
        self._connection.execute(statement)
        self._repositories.forget()

    def _fail_all(self, batch: _Batch, error: Exception) -> None:
        """The writer's last handler: nothing of this batch was kept, so nobody in it may be told that it was."""
        if not isinstance(error, (*STORAGE_ERRORS, errors.StorageFailed)):
            log.error("a batch of writes failed", exc_info=error)
        batch.events.clear()
        for job in batch.jobs:
            job.take_back()
            job.answer = None
            job.error = self._for_the_caller(error)
        self._repositories.forget()
        if self._connection.in_transaction:
            try:
                self._undo("ROLLBACK")
            except sqlite3.Error as problem:  # a damaged database may refuse this too; the callers must be answered
                log.error("a failed batch of writes could not be rolled back: %s", problem)

    def _for_the_caller(self, error: Exception) -> errors.MaestroError:
        """Return what a caller is told of an error, and report the error to the store."""
        if isinstance(error, STORAGE_ERRORS):
            error = translated(error, self._path)
        if not isinstance(error, errors.StorageFailed):
            return errors.StorageFailed(f"The write could not be carried out: {error}.")
        self._failed(error)
        return error

    def _answer(self, jobs: list[Job]) -> None:
        """Let callers go on, some at a time, so that a reader need not stand behind all of them."""
        if len(jobs) > limits.write_answers_at_once_max:
            self._loop.call_soon(self._answer, jobs[limits.write_answers_at_once_max :])
        for job in jobs[: limits.write_answers_at_once_max]:
            if job.future.done():
                continue  # its caller has gone
            if job.error is not None:
                job.future.set_exception(job.error)
            else:
                job.future.set_result(job.answer)


def _placed(tx: Tx, *, after: int) -> list[Event]:
    """A caller's log lines with their places: one writer, so commit order is the order here."""
    return [
        Event(seq, tx.at, change.project, change.kind.value, VERSION, actor, change.subject, change.data)
        for seq, (change, actor) in enumerate(tx.logged, after + 1)
    ]


def _undone_by_itself(error: Exception) -> sqlite3.Error:
    """Some faults (a full disk, an I/O error) make SQLite undo the whole transaction."""
    return error if isinstance(error, sqlite3.Error) else sqlite3.OperationalError(str(error))
