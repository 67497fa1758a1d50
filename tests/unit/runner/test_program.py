"""A running program has a terminal or pipes, closes its descriptors once, and describes its end."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import termios
import tty
from collections.abc import Iterator

import pytest

from maestro.runner.program import LINE_BYTES_MAX, RunningProgram, describe_end

NO_PROCESS = 2**22 + 1  # higher than any pid of the system


@pytest.fixture
def terminal() -> Iterator[tuple[RunningProgram, int]]:
    """Return a program on a terminal, and the program's side of the terminal."""
    runner_side, program_side = pty.openpty()
    yield RunningProgram(NO_PROCESS, runner_side, os.dup(runner_side), terminal=True), program_side
    os.close(program_side)


def on_pipes() -> RunningProgram:
    return RunningProgram(NO_PROCESS, *os.pipe(), terminal=False)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (0, {"code": 0}),
        (3 << 8, {"code": 3}),
        (signal.SIGKILL, {"code": 137, "signal": "SIGKILL"}),
        (signal.SIGSEGV | 0x80, {"code": 139, "signal": "SIGSEGV"}),
    ],
)
def test_an_exit_status_is_described_by_code_and_signal(status: int, expected: dict[str, object]) -> None:
    assert describe_end(status) == expected


def test_the_program_sees_the_new_size_of_its_terminal(terminal: tuple[RunningProgram, int]) -> None:
    program, program_side = terminal
    program.resize_terminal(77, 31)
    rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(program_side, termios.TIOCGWINSZ, bytes(8)))
    assert (columns, rows) == (77, 31)
    program.close_descriptors()


def test_only_a_terminal_in_line_mode_would_cut_a_long_line(terminal: tuple[RunningProgram, int]) -> None:
    program, program_side = terminal
    longest = b"x" * LINE_BYTES_MAX
    assert not program.would_cut_line(longest + b"\n" + longest)
    assert program.would_cut_line(b"short\n" + longest + b"x")
    tty.setraw(program_side)
    assert not program.would_cut_line(longest + b"x")
    program.close_descriptors()
    assert not program.would_cut_line(longest + b"x")


def test_a_program_on_pipes_ignores_a_resize_and_loses_no_input() -> None:
    program = on_pipes()
    program.resize_terminal(77, 31)
    assert not program.would_cut_line(b"x" * (LINE_BYTES_MAX + 1))
    program.close_descriptors()


def test_closing_the_descriptors_twice_closes_them_once() -> None:
    program = on_pipes()
    descriptors = (program.output, program.input)
    program.close_descriptors()
    program.close_descriptors()
    assert (program.output, program.input, program.errors) == (-1, -1, -1)
    for descriptor in descriptors:
        with pytest.raises(OSError):
            os.fstat(descriptor)


def test_a_signal_to_an_ended_program_is_no_error() -> None:
    program = on_pipes()
    program.signal_group(signal.SIGTERM)
    program.close_descriptors()
