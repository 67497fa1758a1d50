"""The embedded store: a writer thread, a few reader threads and one database file."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from maestro.core import errors, limits
from maestro.core.clock import Clock
from maestro.domain.events import Event
from maestro.store.base import CommitListener, CopyChecks, Repositories, RollbackWithAnswer, Tx
from maestro.store.health import find_lost_events
from maestro.store.mark import Mark
from maestro.store.sqlite import checks, compaction
from maestro.store.sqlite.connection import (
    STORAGE_ERRORS,
    SqliteRows,
    connect_reader,
    connect_writer,
    translate_error,
)
from maestro.store.sqlite.linked_files import LinkedFiles
from maestro.store.sqlite.migrate import migrate_schema, schema_version
from maestro.store.sqlite.writer import WriteJob, Writer

T = TypeVar("T")


class SqliteStore:
    """See `maestro.store.base.Store`."""

    checks: CopyChecks = checks

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._listeners: list[CommitListener] = []
        self._fault_listener: Callable[[errors.StorageFailed], None] = lambda error: None
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._loop = asyncio.get_running_loop()
        self._connection = connect_writer(path)
        try:
            self._writer = self._open_writer()
        except BaseException as error:
            self._connection.close()
            if isinstance(error, STORAGE_ERRORS):
                raise translate_error(error, path) from error
            raise
        self._mark = Mark(path.with_suffix(".mark"))
        self._mark_timer: asyncio.TimerHandle | None = None
        self.lost_events = find_lost_events(self._writer.last_seq, self._mark.read())
        self._pool = ThreadPoolExecutor(limits.readers_max, thread_name_prefix="maestro-reader")

    def _open_writer(self) -> Writer:
        migrate_schema(self._connection, self._path)
        compaction.compact_if_small(self._connection, self._path)
        self.schema = schema_version(self._connection)
        return Writer(
            self._connection,
            self._path,
            clock=self._clock,
            loop=self._loop,
            on_commit=self._publish_events,
            require_files=LinkedFiles(self._path).require_unchanged,
            on_fault=self._report_fault,
        )

    def on_fault(self, listener: Callable[[errors.StorageFailed], None]) -> None:
        self._fault_listener = listener

    def _report_fault(self, error: errors.StorageFailed) -> None:
        """Report damage or a lost data directory to the listener, on the event loop. May be called in any thread."""
        if isinstance(error, errors.StorageDamaged | errors.StorageGone):
            self._loop.call_soon_threadsafe(self._fault_listener, error)

    def on_commit(self, listener: CommitListener) -> None:
        self._listeners.append(listener)

    async def write(self, work: Callable[[Tx], T], *, quick: bool = False) -> T:
        job = WriteJob(work, self._loop.create_future(), quick=quick)
        self._writer.submit_job(job)
        try:
            answer: T = await job.future
        except RollbackWithAnswer as undone:
            answer = undone.answer
        return answer

    async def read(self, work: Callable[[Tx], T], *, quick: bool = False) -> T:
        # Reading a page takes less time than another thread needs to get the interpreter lock twice.
        if quick:
            return self._run_read(work)
        return await self._loop.run_in_executor(self._pool, self._run_read, work)

    async def backup(self, target: Path) -> dict[str, Any]:
        """Copy a snapshot of the database while other callers write."""
        await self._loop.run_in_executor(self._pool, self._copy_database, target)
        return {"schema": self.schema, "bytes": target.stat().st_size}

    async def close(self) -> None:
        await self._writer.close()
        if self._mark_timer is not None:
            self._mark_timer.cancel()
            self._mark.write(self._writer.last_seq)
        self._pool.shutdown(wait=True)
        for reader in self._readers:
            reader.close()
        self._connection.close()

    def _run_read(self, work: Callable[[Tx], T]) -> T:
        try:
            connection = self._thread_reader()
            connection.execute("BEGIN")
            try:
                return work(Tx(self._local.repositories, self._clock.now()))
            finally:
                connection.execute("COMMIT")
        except STORAGE_ERRORS as error:
            fault = translate_error(error, self._path)
            self._report_fault(fault)
            raise fault from error

    def _thread_reader(self) -> sqlite3.Connection:
        """Return the reading connection of the current thread; open the connection on first use."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = connect_reader(self._path)
            self._local.repositories = Repositories(SqliteRows(connection, checks_texts=True))
            self._readers.append(connection)
        return connection

    def _copy_database(self, target: Path) -> None:
        try:
            with contextlib.closing(sqlite3.connect(target)) as copy:
                copy.execute("PRAGMA synchronous = OFF")  # the caller flushes the archive that it makes of the copy
                self._thread_reader().backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            fault = translate_error(error, target)
            if isinstance(fault, errors.StorageDamaged):
                fault = translate_error(error, self._path)
                self._report_fault(fault)
            raise fault from error

    def _publish_events(self, events: Sequence[Event]) -> None:
        if self._mark_timer is None:
            self._mark_timer = self._loop.call_later(limits.mark_milliseconds / 1000, self._write_mark)
        for listener in self._listeners:
            listener(events)

    def _write_mark(self) -> None:
        """Write the mark in a thread, so that no caller waits for the file."""
        self._mark_timer = None
        self._loop.run_in_executor(self._pool, self._mark.write, self._writer.last_seq)
