from __future__ import annotations

import asyncio

import pytest

from maestro.surfaces.cli import invocation
from maestro.wire import frames

HEAD = b"maestro/2\0python\x000.1.0\x00011\x00120\0/src/vc\0MAESTRO_TOKEN=secret\0TERM=xterm"


def reader_of(data: bytes) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    return reader


def test_a_request_is_read() -> None:
    found = invocation.decode_invocation(HEAD + b"\0\0task\0list\0\0")
    assert found.arguments == [b"task", b"list", b""]
    assert (found.protocol, found.client, found.version) == ("maestro/2", "python", "0.1.0")
    assert (found.stdin_tty, found.stdout_tty, found.stderr_tty) == (False, True, True)
    assert found.columns == 120
    assert found.directory == "/src/vc"
    assert found.environment == {"MAESTRO_TOKEN": "secret", "TERM": "xterm"}


def test_no_argument_and_one_empty_argument_differ() -> None:
    assert invocation.decode_invocation(HEAD + b"\0\0").arguments == []
    assert invocation.decode_invocation(HEAD + b"\0\0\0").arguments == [b""]


@pytest.mark.parametrize("directory", [b"-", b"/caf\xe9", b"relative"])
def test_a_directory_that_cannot_be_used_is_none(directory: bytes) -> None:
    payload = b"\0".join([b"maestro/2", b"native", b"1", b"000", b"x", directory]) + b"\0\0"
    found = invocation.decode_invocation(payload)
    assert found.directory == ""
    assert found.columns == 0


@pytest.mark.parametrize("payload", [b"", b"\0\0", b"GET / HTTP/1.1\r\n", b"maestro/2\0\0", b"a\0b\0c\0d\0e\0f\0\0"])
def test_what_is_no_request_is_garbled(payload: bytes) -> None:
    with pytest.raises(invocation.ProtocolViolation):
        invocation.decode_invocation(payload)


async def test_a_frame_goes_there_and_back() -> None:
    assert await invocation.read_frame(reader_of(frames.pack_frame(b"O", b"hello"))) == (b"O", b"hello")
    assert await invocation.read_frame(reader_of(frames.pack_frame(b"X"))) == (b"X", b"")


async def test_a_frame_that_is_too_long_is_garbled_before_it_is_read() -> None:
    with pytest.raises(invocation.ProtocolViolation):
        await invocation.read_frame(reader_of(b"O" + (frames.PAYLOAD_BYTES_MAX + 1).to_bytes(4, "big")))


async def test_a_frame_cut_short_ends_the_reading() -> None:
    with pytest.raises(asyncio.IncompleteReadError):
        await invocation.read_frame(reader_of(frames.pack_frame(b"O", b"hello")[:-1]))


async def test_long_output_is_split() -> None:
    data = b"x" * (2 * frames.PAYLOAD_BYTES_MAX + 1)
    reader = reader_of(frames.pack_frames(b"O", data))
    sizes = [len((await invocation.read_frame(reader))[1]) for _ in range(3)]
    assert sizes == [frames.PAYLOAD_BYTES_MAX, frames.PAYLOAD_BYTES_MAX, 1]
