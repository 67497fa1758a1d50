"""A server and its supervisor are found by the locks that these processes hold in the data directory."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from maestro.client import server_locks


@contextmanager
def held_lock(directory: Path, name: str, content: str) -> Iterator[None]:
    (directory / name).write_text(content)
    with (directory / name).open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.mark.parametrize(("content", "pid"), [("4321\n", 4321), ("77        \n", 77), ("", 0), ("odd", 0)])
def test_a_held_lock_file_gives_the_pid_of_its_process(tmp_path: Path, content: str, pid: int) -> None:
    with held_lock(tmp_path, server_locks.SERVER, content):
        assert server_locks.server_pid(tmp_path) == pid
        assert server_locks.supervisor_pid(tmp_path) is None


def test_a_free_lock_and_a_missing_directory_mean_that_no_server_runs(tmp_path: Path) -> None:
    (tmp_path / server_locks.SERVER).write_text("4321\n")
    for directory in (tmp_path, tmp_path / "missing"):
        assert server_locks.server_pid(directory) is None and not server_locks.is_kept_running(directory)


@pytest.mark.parametrize("name", [server_locks.SERVER, server_locks.SUPERVISOR])
def test_a_held_lock_of_server_or_supervisor_means_that_a_server_is_kept_running(tmp_path: Path, name: str) -> None:
    with held_lock(tmp_path, name, "1\n"):
        assert server_locks.is_kept_running(tmp_path)
    assert not server_locks.is_kept_running(tmp_path)


def test_reading_the_server_pid_does_not_take_the_lock(tmp_path: Path) -> None:
    (tmp_path / server_locks.SERVER).touch()
    server_locks.server_pid(tmp_path)
    with (tmp_path / server_locks.SERVER).open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
