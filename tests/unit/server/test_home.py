"""The data directory of a server is created privately, and only one server holds its lock."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from maestro.core import errors
from maestro.server import home as homes
from maestro.server.home import HomeLock


def test_only_the_owner_has_access_to_a_new_data_directory(tmp_path: Path) -> None:
    homes.prepare_home(tmp_path / "new" / "data")
    assert (tmp_path / "new" / "data").stat().st_mode & 0o777 == 0o700


def test_a_data_directory_that_cannot_be_created_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(errors.StorageReadOnly, match="cannot be created") as refused:
        homes.prepare_home(tmp_path / "file" / "data")
    assert "set another MAESTRO_HOME" in refused.value.hint


def test_a_data_directory_that_other_users_can_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").touch()
    tmp_path.chmod(0o755)
    with pytest.raises(errors.StorageExposed):
        homes.prepare_home(tmp_path)


def test_the_data_directory_of_a_restarted_server_must_contain_a_database(tmp_path: Path) -> None:
    with pytest.raises(errors.StorageGone, match="no longer contains a database"):
        homes.require_data(tmp_path)
    (tmp_path / "maestro.db").touch()
    homes.require_data(tmp_path)


def test_the_refusal_of_a_held_lock_names_the_process_that_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(homes, "_PROBE_SECONDS_MAX", 0.0)
    (tmp_path / "maestro.sock").touch()  # the socket file shows that the holder does not stop now
    with HomeLock(tmp_path), pytest.raises(errors.DataInUse, match=rf"pid {os.getpid()}\)"), HomeLock(tmp_path):
        pass


def test_taking_the_lock_waits_for_a_server_that_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    holder = HomeLock(tmp_path).__enter__()
    # A missing socket file means that the holder stops now. The sleep before the first retry releases the lock.
    monkeypatch.setattr(homes.time, "sleep", lambda seconds: holder.__exit__(None, None, None))
    with HomeLock(tmp_path):
        assert (tmp_path / "maestro.lock").read_text().strip() == str(os.getpid())


def test_a_lock_in_a_missing_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.StorageReadOnly) as refused, HomeLock(tmp_path / "gone"):
        pass
    assert "set another MAESTRO_HOME" in refused.value.hint


def test_a_directory_that_the_system_cannot_lock_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(homes.fcntl, "flock", refuse)
    with pytest.raises(errors.StorageFailed, match="cannot be locked: No locks available") as refused:
        HomeLock(tmp_path).__enter__()
    assert "set another MAESTRO_HOME" in refused.value.hint
