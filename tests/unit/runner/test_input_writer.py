"""Input is written as fast as the program reads it, and the descriptor is closed after the last byte."""

from __future__ import annotations

import os
import selectors
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from maestro.runner.input_writer import InputWriter

MUCH = b"x" * 1_000_000  # more than a pipe holds


@dataclass
class Pipe:
    """A pipe to a program: the writer under test, its selector, and the program's end."""

    writer: InputWriter
    selector: selectors.BaseSelector
    reader: int

    def read_all(self) -> bytes:
        """Read all bytes from the program's end, and let the writer write whenever the selector reports readiness."""
        data = b""
        while True:
            for key, events in self.selector.select(0):
                key.data(None, events)
            try:
                piece = os.read(self.reader, 1 << 20)
            except BlockingIOError:
                return data
            if not piece:
                return data
            data += piece


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    reader, descriptor = os.pipe()
    os.set_blocking(reader, False)
    with selectors.DefaultSelector() as selector:
        made = Pipe(InputWriter(descriptor, selector), selector, reader)
        yield made
        made.writer.close()
    if made.reader >= 0:
        os.close(made.reader)


def is_at_end(pipe: Pipe) -> bool:
    """Return whether the program would read the end of its input."""
    try:
        return os.read(pipe.reader, 1) == b""
    except BlockingIOError:
        return False


def test_input_that_fits_is_written_at_once(pipe: Pipe) -> None:
    pipe.writer.write_input(b"text")
    assert pipe.writer.pending_bytes == 0 and not pipe.selector.get_map()
    assert os.read(pipe.reader, 100) == b"text"


def test_input_that_does_not_fit_waits_and_arrives_in_order(pipe: Pipe) -> None:
    pipe.writer.write_input(MUCH)
    assert 0 < pipe.writer.pending_bytes < len(MUCH)
    pipe.writer.write_input(b"end")
    assert pipe.read_all() == MUCH + b"end"
    assert pipe.writer.pending_bytes == 0 and not pipe.selector.get_map()


def test_the_input_ends_only_after_the_pending_bytes(pipe: Pipe) -> None:
    pipe.writer.write_input(MUCH)
    pipe.writer.close_after_pending()
    assert pipe.read_all() == MUCH and is_at_end(pipe)


def test_an_input_without_pending_bytes_ends_at_once(pipe: Pipe) -> None:
    pipe.writer.close_after_pending()
    assert is_at_end(pipe)


def test_an_input_that_is_not_closed_does_not_end(pipe: Pipe) -> None:
    pipe.writer.write_input(b"x")
    assert pipe.read_all() == b"x" and not is_at_end(pipe)


def test_a_closed_writer_drops_its_pending_bytes_and_all_later_input(pipe: Pipe) -> None:
    pipe.writer.write_input(MUCH)
    pipe.writer.close()
    assert pipe.writer.pending_bytes == 0 and not pipe.selector.get_map()
    pipe.writer.write_input(b"late")
    pipe.writer.close()
    assert pipe.writer.pending_bytes == 0
    assert b"late" not in pipe.read_all() and is_at_end(pipe)


def test_input_for_a_program_that_closed_its_input_is_dropped(pipe: Pipe) -> None:
    pipe.writer.write_input(MUCH)
    os.close(pipe.reader)
    pipe.reader = -1
    for key, events in pipe.selector.select(0):
        key.data(None, events)
    assert pipe.writer.pending_bytes == 0 and not pipe.selector.get_map()
