"""Fixtures: a database in memory, and its repositories with a project."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

import pytest

from maestro.domain.projects import Project
from maestro.store.base import Repositories
from maestro.store.sqlite.connection import SqliteRows
from maestro.store.sqlite.migration_scripts import present_schema
from maestro.testing.clock import FakeClock

PROJECT = Project("prj_00000000000000000000000000", "example.org/vc", "vc", [], FakeClock().now())


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(present_schema())
        yield connection


@pytest.fixture
def repositories(database: sqlite3.Connection) -> Repositories:
    opened = Repositories(SqliteRows(database))
    opened.projects.insert(PROJECT)
    return opened
