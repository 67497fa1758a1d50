"""Test the data directory of a server: creation, access of other users, and the lock."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from maestro.core import errors
from maestro.server import home as homes
from maestro.server.home import HomeLock


def test_a_new_directory_is_only_for_its_owner(tmp_path: Path) -> None:
    homes.prepare_home(tmp_path / "new" / "data")
    assert (tmp_path / "new" / "data").stat().st_mode & 0o777 == 0o700


def test_a_directory_that_cannot_be_created_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(errors.StorageReadOnly, match="cannot be created"):
        homes.prepare_home(tmp_path / "file" / "data")


def test_a_directory_with_data_that_others_can_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").touch()
    tmp_path.chmod(0o755)
    with pytest.raises(errors.StorageExposed):
        homes.prepare_home(tmp_path)


def test_a_restarted_server_needs_a_database(tmp_path: Path) -> None:
    with pytest.raises(errors.StorageGone, match="no longer contains a database"):
        homes.require_data(tmp_path)
    (tmp_path / "maestro.db").touch()
    homes.require_data(tmp_path)


def test_the_lock_names_its_holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(homes, "_PROBE_SECONDS_MAX", 0.0)
    (tmp_path / "maestro.sock").touch()  # the holder is not about to stop
    with HomeLock(tmp_path), pytest.raises(errors.DataInUse, match=rf"pid {os.getpid()}\)"), HomeLock(tmp_path):
        pass


def test_the_lock_waits_for_a_server_that_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    holder = HomeLock(tmp_path).__enter__()
    # Without a socket file the holder is about to stop. The first retry ends the holder.
    monkeypatch.setattr(homes.time, "sleep", lambda seconds: holder.__exit__(None, None, None))
    with HomeLock(tmp_path):
        assert (tmp_path / "maestro.lock").read_text().strip() == str(os.getpid())


def test_a_lock_without_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.StorageReadOnly), HomeLock(tmp_path / "gone"):
        pass
