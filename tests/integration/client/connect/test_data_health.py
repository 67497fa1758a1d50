"""The doctor checks the stored data with the server program."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from maestro.client.connect.data_health import check_data
from maestro.testing.live import LiveServer


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a data directory that a server has used."""
    folder = tmp_path / "data"
    with LiveServer(folder) as live:
        live.stop()
    monkeypatch.setenv("MAESTRO_HOME", str(folder))
    return folder


def test_a_data_directory_without_a_database_has_no_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAESTRO_HOME", str(tmp_path))
    assert check_data() == ([], [])
    assert list(tmp_path.iterdir()) == []


def test_sound_data_is_reported_in_one_line(home: Path) -> None:
    lines, problems = check_data()
    assert problems == [] and lines == ["data      sound: the database and 0 files beside it"]


def test_damaged_data_is_a_problem(home: Path) -> None:
    with sqlite3.connect(home / "maestro.db") as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    (home / "maestro.db-wal").unlink(missing_ok=True)
    content = (home / "maestro.db").read_bytes()
    (home / "maestro.db").write_bytes(content[:8192] + b"\xff" * 8192 + content[16384:])
    lines, problems = check_data()
    assert lines == [] and problems


def test_a_file_that_is_no_database_is_one_problem(home: Path) -> None:
    for name in ("maestro.db-wal", "maestro.db-shm"):
        (home / name).unlink(missing_ok=True)
    (home / "maestro.db").write_bytes(b"nonsense" * 1000)
    lines, problems = check_data()
    assert lines == [] and len(problems) == 1
