"""A read returns the available bytes, and tells the end of the stream from a stream without bytes."""

from __future__ import annotations

import os
import pty

from maestro.runner.reading import READ_BYTES_MAX, read_available


def test_a_read_returns_the_available_bytes_then_none_and_at_the_end_an_empty_text() -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    assert read_available(reader) is None
    os.write(writer, b"text")
    assert read_available(reader) == b"text"
    os.close(writer)
    assert read_available(reader) == b""
    os.close(reader)


def test_a_terminal_without_processes_is_at_its_end() -> None:
    runner_side, program_side = pty.openpty()
    os.close(program_side)
    assert read_available(runner_side) == b""
    os.close(runner_side)


def test_one_read_is_bounded() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    written = os.write(writer, b"x" * (2 * READ_BYTES_MAX))
    data = read_available(reader)
    assert data is not None and len(data) == min(written, READ_BYTES_MAX)
    os.close(reader)
    os.close(writer)
