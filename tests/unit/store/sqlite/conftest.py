"""Fixtures: a data directory, database files of the present schema, and connections to files."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from maestro.store.layout import DATABASE
from maestro.store.sqlite.connection import connect_writer
from maestro.store.sqlite.migrate import migrate_schema


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return an empty data directory."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def write_database() -> Callable[..., Path]:
    """Return a function that writes a closed database of the present schema, with the events 1 to `last_seq`."""

    def write(folder: Path, *, last_seq: int = 0) -> Path:
        path = folder / DATABASE
        with contextlib.closing(connect_writer(path)) as connection:
            migrate_schema(connection, path)
            for _ in range(last_seq):
                connection.execute(
                    "INSERT INTO events (at, kind, version, actor, subject, data) "
                    "VALUES (1, 'task.created', 1, 'dana', 'tsk_1', '{}')"
                )
        return path

    return write


@pytest.fixture
def connect() -> Iterator[Callable[[Path], sqlite3.Connection]]:
    """Yield a function that opens plain connections in autocommit mode. The fixture closes all connections."""
    with contextlib.ExitStack() as stack:

        def open_connection(path: Path) -> sqlite3.Connection:
            return stack.enter_context(contextlib.closing(sqlite3.connect(path, isolation_level=None)))

        yield open_connection


@pytest.fixture
def damage_table() -> Callable[[Path, str], None]:
    """Return a function that overwrites the first page of a table or index."""

    def damage(path: Path, name: str) -> None:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()
            (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
        with path.open("r+b") as file:
            file.seek((root - 1) * page_bytes)
            file.write(b"\xff" * page_bytes)

    return damage
