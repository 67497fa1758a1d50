"""A frame has a kind, a size and a payload; frames are read whole from received bytes in pieces of any size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maestro.wire import frames


def test_a_packed_frame_consists_of_kind_size_and_payload() -> None:
    assert frames.pack_frame(b"O", b"hello") == b"O\x00\x00\x00\x05hello"
    assert frames.pack_frame(b"X") == b"X\x00\x00\x00\x00"


@given(
    sent=st.lists(st.tuples(st.sampled_from([b"O", b"E", b"X"]), st.binary(max_size=30))),
    piece=st.integers(min_value=1, max_value=40),
)
def test_frames_are_read_whole_from_pieces_of_any_size(sent: list[tuple[bytes, bytes]], piece: int) -> None:
    data = b"".join(frames.pack_frame(kind, payload) for kind, payload in sent)
    buffer, received = frames.FrameBuffer(), []
    for start in range(0, len(data), piece):
        buffer.add_bytes(data[start : start + piece])
        while (frame := buffer.take_frame()) is not None:
            received.append(frame)
    assert received == sent
    assert not buffer.has_head


@given(
    fields=st.lists(st.binary(min_size=1).filter(lambda field: b"\0" not in field), min_size=5),
    arguments=st.lists(st.binary().filter(lambda argument: b"\0" not in argument)),
)
def test_an_unpacked_request_has_the_packed_fields_and_arguments(fields: list[bytes], arguments: list[bytes]) -> None:
    found, found_arguments = frames.unpack_request(frames.pack_request(fields, arguments))
    assert found == [frames.PROTOCOL.encode(), *fields]
    assert len(found) >= frames.REQUEST_FIELDS
    assert found_arguments == arguments


@pytest.mark.parametrize(
    "payload", [b"", b"maestro/2\0python\0\0", b"maestro/2\0a\0b\0c\0d\0e", b"http/1\0a\0b\0c\0d\0e\0\0"]
)
def test_a_payload_that_is_no_request_is_refused(payload: bytes) -> None:
    with pytest.raises(ValueError, match="not a request"):
        frames.unpack_request(payload)


def test_a_frame_above_the_size_limit_is_refused_when_its_head_arrives() -> None:
    buffer = frames.FrameBuffer()
    buffer.add_bytes(b"O" + (frames.PAYLOAD_BYTES_MAX + 1).to_bytes(4, "big"))
    with pytest.raises(frames.FrameTooLarge):
        buffer.take_frame()


def test_long_data_is_split_into_frames_of_the_largest_size() -> None:
    data = b"x" * (2 * frames.PAYLOAD_BYTES_MAX + 1)
    buffer = frames.FrameBuffer()
    buffer.add_bytes(frames.pack_frames(frames.OUT, data))
    sizes = [len(frame[1]) for _ in range(3) if (frame := buffer.take_frame()) is not None]
    assert sizes == [frames.PAYLOAD_BYTES_MAX, frames.PAYLOAD_BYTES_MAX, 1]
