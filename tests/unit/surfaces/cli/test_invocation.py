"""Requests and frames of a client are decoded, and invalid data is refused."""

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


def test_a_request_is_decoded_with_all_its_fields() -> None:
    found = invocation.decode_invocation(HEAD + b"\0\0task\0list\0\0")
    assert found.arguments == [b"task", b"list", b""]
    assert (found.protocol, found.client, found.version) == ("maestro/2", "python", "0.1.0")
    assert (found.stdin_tty, found.stdout_tty, found.stderr_tty) == (False, True, True)
    assert found.columns == 120
    assert found.directory == "/src/vc"
    assert found.environment == {"MAESTRO_TOKEN": "secret", "TERM": "xterm"}


def test_a_request_without_arguments_differs_from_a_request_with_an_empty_argument() -> None:
    assert invocation.decode_invocation(HEAD + b"\0\0").arguments == []
    assert invocation.decode_invocation(HEAD + b"\0\0\0").arguments == [b""]


@pytest.mark.parametrize("directory", [b"-", b"/caf\xe9", b"relative"])
def test_an_unusable_directory_is_decoded_as_empty(directory: bytes) -> None:
    payload = b"\0".join([b"maestro/2", b"native", b"1", b"000", b"x", directory]) + b"\0\0"
    found = invocation.decode_invocation(payload)
    assert found.directory == ""
    assert found.columns == 0


@pytest.mark.parametrize("payload", [b"", b"\0\0", b"GET / HTTP/1.1\r\n", b"maestro/2\0\0", b"a\0b\0c\0d\0e\0f\0\0"])
def test_data_that_is_not_a_request_is_a_protocol_violation(payload: bytes) -> None:
    with pytest.raises(invocation.ProtocolViolation):
        invocation.decode_invocation(payload)


async def test_a_packed_frame_is_read_back_unchanged() -> None:
    assert await invocation.read_frame(reader_of(frames.pack_frame(b"O", b"hello"))) == (b"O", b"hello")
    assert await invocation.read_frame(reader_of(frames.pack_frame(b"X"))) == (b"X", b"")


async def test_the_head_of_a_frame_above_the_size_limit_is_a_protocol_violation() -> None:
    with pytest.raises(invocation.ProtocolViolation):
        await invocation.read_frame(reader_of(b"O" + (frames.PAYLOAD_BYTES_MAX + 1).to_bytes(4, "big")))


async def test_reading_an_incomplete_frame_fails() -> None:
    with pytest.raises(asyncio.IncompleteReadError):
        await invocation.read_frame(reader_of(frames.pack_frame(b"O", b"hello")[:-1]))


async def test_long_output_is_read_as_frames_of_the_largest_size() -> None:
    data = b"x" * (2 * frames.PAYLOAD_BYTES_MAX + 1)
    reader = reader_of(frames.pack_frames(b"O", data))
    sizes = [len((await invocation.read_frame(reader))[1]) for _ in range(3)]
    assert sizes == [frames.PAYLOAD_BYTES_MAX, frames.PAYLOAD_BYTES_MAX, 1]
