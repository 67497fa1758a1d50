"""Only one supervisor gets the lock of a data directory, and the supervisor reads the first line of its server."""

from __future__ import annotations

import fcntl
import os
import stat
import threading
from pathlib import Path

import pytest

from maestro.supervisor import LOCK_FILE
from maestro.supervisor.__main__ import BUSY, FAILED, GONE, STOPPED, read_line, take_lock
from maestro.wire import exit_codes


def test_the_supervisor_knows_the_exit_codes_of_the_server() -> None:
    # The supervisor imports no other folder, so it declares the codes again.
    server = (exit_codes.DONE, exit_codes.FAILED, exit_codes.CONFLICT, exit_codes.NOT_FOUND)
    assert server == (STOPPED, FAILED, BUSY, GONE)


def test_the_lock_file_names_the_supervisor_and_is_private(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).write_text("4194304999\n")  # an earlier supervisor with a longer pid
    (tmp_path / LOCK_FILE).chmod(0o600)
    lock = take_lock(str(tmp_path))
    assert lock is not None
    assert int((tmp_path / LOCK_FILE).read_text()) == os.getpid()
    assert stat.S_IMODE((tmp_path / LOCK_FILE).stat().st_mode) == 0o600
    assert not os.get_inheritable(lock)
    os.close(lock)


def test_a_second_supervisor_gets_no_lock_until_the_first_has_ended(tmp_path: Path) -> None:
    first = take_lock(str(tmp_path))
    assert first is not None
    assert take_lock(str(tmp_path)) is None
    os.close(first)
    second = take_lock(str(tmp_path))
    assert second is not None
    os.close(second)


def test_the_supervisor_waits_while_a_command_holds_the_lock_for_a_moment(tmp_path: Path) -> None:
    with (tmp_path / LOCK_FILE).open("w") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        releasing = threading.Timer(0.1, fcntl.flock, (held, fcntl.LOCK_UN))
        releasing.start()
        lock = take_lock(str(tmp_path))
        releasing.join()
    assert lock is not None
    os.close(lock)


@pytest.mark.parametrize(
    ("pieces", "line"), [([b"rea", b"dy\n"], b"ready\n"), ([b"problem: po"], b"problem: po"), ([], b"")]
)
def test_the_line_of_a_server_is_read_to_its_newline_or_to_the_end_of_the_server(
    pieces: list[bytes], line: bytes
) -> None:
    reader, writer = os.pipe()
    for piece in pieces:
        os.write(writer, piece)
    os.close(writer)
    assert read_line(reader) == line
    os.close(reader)


def test_reading_the_line_ends_at_the_newline_while_the_server_still_runs() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"ready\n")
    assert read_line(reader) == b"ready\n"  # although the server has not closed the pipe
    os.close(reader)
    os.close(writer)
