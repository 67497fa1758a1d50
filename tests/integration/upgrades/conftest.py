"""Provide data directories of every schema, from the fixtures."""

from __future__ import annotations

import contextlib
import importlib.util
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from maestro.store.layout import BLOBS, DATABASE, SECRET

FIXTURES = Path(__file__).parents[2] / "fixtures" / "schemas"


@pytest.fixture(scope="session")
def rows() -> ModuleType:
    """Return the module with the rows of each fixture."""
    spec = importlib.util.spec_from_file_location("schema_rows", FIXTURES / "rows.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def write_home(tmp_path: Path, rows: ModuleType) -> Callable[..., Path]:
    """Return a function that writes a data directory as a server of one schema left it."""

    def write(schema: int, home: Path | None = None) -> Path:
        home = home or tmp_path / "data"
        home.mkdir(mode=0o700)
        with contextlib.closing(sqlite3.connect(home / DATABASE)) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript((FIXTURES / f"schema-{schema:04}.sql").read_text(encoding="utf-8"))
        for digest, content in rows.BLOBS.items():
            file = home / BLOBS / digest[:2] / digest
            file.parent.mkdir(parents=True)
            file.write_bytes(content)
        (home / SECRET).write_text(f"{rows.SECRET}\n")
        (home / SECRET).chmod(0o600)
        return home

    return write
