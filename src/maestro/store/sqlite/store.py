"""The embedded store: a writer thread, a few reader threads, one file."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from maestro import limits
from maestro.clock import Clock
from maestro.domain.events import Event
from maestro.store.base import Published, Repositories, Tx, Undo
from maestro.store.sqlite.connection import SqliteRows, connect_reader, connect_writer, translated
from maestro.store.sqlite.migrate import migrate, version_of
from maestro.store.sqlite.writer import Job, Writer

T = TypeVar("T")


class SqliteStore:
    """See `maestro.store.base.Store`."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._listeners: list[Published] = []
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._loop = asyncio.get_running_loop()
        self._connection = connect_writer(path)
        try:
            migrate(self._connection, path)
            self.schema = version_of(self._connection)
            self._writer = Writer(self._connection, clock=clock, loop=self._loop, committed=self._publish)
        except BaseException:
            self._connection.close()
            raise
        self._pool = ThreadPoolExecutor(limits.readers_max, thread_name_prefix="maestro-reader")

    def on_commit(self, listener: Published) -> None:
        self._listeners.append(listener)

    async def write(self, work: Callable[[Tx], T], *, quick: bool = False) -> T:
        job = Job(work, self._loop.create_future(), quick=quick)
        self._writer.submit(job)
        try:
            answer: T = await job.future
        except Undo as undone:
            answer = undone.answer
        return answer

    async def read(self, work: Callable[[Tx], T], *, quick: bool = False) -> T:
        # A page of rows is read in less time than another thread takes to get the interpreter twice.
        if quick:
            return self._read(work)
        return await self._loop.run_in_executor(self._pool, self._read, work)

    async def backup(self, target: Path) -> dict[str, Any]:
        """Copy the database as it is at one moment, while others write."""
        await self._loop.run_in_executor(self._pool, self._copy, target)
        return {"schema": self.schema, "bytes": target.stat().st_size}

    async def close(self) -> None:
        await self._writer.close()
        self._pool.shutdown(wait=True)
        for reader in self._readers:
            reader.close()
        self._connection.close()

    def _read(self, work: Callable[[Tx], T]) -> T:
        connection = self._reader()
        try:
            connection.execute("BEGIN")
            try:
                return work(Tx(self._local.repositories, self._clock.now()))
            finally:
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise translated(error, self._path) from error

    def _reader(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = connect_reader(self._path)
            self._local.repositories = Repositories(SqliteRows(connection))
            self._readers.append(connection)
        return connection

    def _copy(self, target: Path) -> None:
        copy = sqlite3.connect(target)
        try:
            self._reader().backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            raise translated(error, target) from error
        finally:
            copy.close()

    def _publish(self, events: Sequence[Event]) -> None:
        for listener in self._listeners:
            listener(events)
