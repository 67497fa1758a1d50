"""The transport sends the head and the body of an answer in a single write, if both come in the same turn."""

from __future__ import annotations

import asyncio
from typing import Any

from maestro.server.joined_writes import JoinedWrites

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"


class Recorder(asyncio.Transport):
    """A transport that records the calls of its methods."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Any] = []
        self.closing = False

    def write(self, data: Any) -> None:
        self.calls.append(bytes(data))

    def close(self) -> None:
        self.closing = True
        self.calls.append("close")

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        self.calls.append("pause")

    def resume_reading(self) -> None:
        self.calls.append("resume")

    def abort(self) -> None:
        self.closing = True


def joined() -> tuple[JoinedWrites, Recorder]:
    recorder = Recorder()
    return JoinedWrites(recorder, asyncio.get_running_loop()), recorder


async def test_head_and_body_are_sent_at_once_in_a_single_write() -> None:
    transport, recorder = joined()
    transport.write(HEAD)
    transport.write(b"{}")
    assert recorder.calls == [HEAD + b"{}"]
    await asyncio.sleep(0)
    assert recorder.calls == [HEAD + b"{}"]


async def test_a_head_without_its_body_is_sent_at_the_end_of_the_turn() -> None:
    transport, recorder = joined()
    transport.write(HEAD)
    assert recorder.calls == []
    await asyncio.sleep(0)
    assert recorder.calls == [HEAD]
    transport.write(b"{}")
    assert recorder.calls == [HEAD, b"{}"]


async def test_a_body_is_never_held_back() -> None:
    transport, recorder = joined()
    transport.write(b"data: 1\n\n")
    assert recorder.calls == [b"data: 1\n\n"]


async def test_a_head_is_sent_before_the_connection_closes() -> None:
    transport, recorder = joined()
    transport.write(HEAD)
    transport.close()
    assert recorder.calls == [HEAD, "close"]
    await asyncio.sleep(0)
    assert recorder.calls == [HEAD, "close"]


async def test_a_head_for_a_broken_connection_is_dropped() -> None:
    transport, recorder = joined()
    transport.write(HEAD)
    transport.abort()
    await asyncio.sleep(0)
    assert recorder.calls == []


async def test_other_calls_are_passed_on_to_the_transport() -> None:
    transport, recorder = joined()
    transport.pause_reading()
    transport.resume_reading()
    assert recorder.calls == ["pause", "resume"]
    assert not transport.is_closing()
