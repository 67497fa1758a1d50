"""The WebSocket client opens a connection, reads messages from any pieces of bytes, and refuses invalid frames."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maestro.runner.websocket import WebSocketBroken, WebSocketClient
from maestro.testing.websocket import AGREED, CLOSE, LAST, MORE, PING, PONG, TEXT, decode_client_frames, encode_frame


def opened() -> WebSocketClient:
    client = WebSocketClient()
    client.take_outgoing()
    assert client.feed_bytes(AGREED) == []
    assert client.is_open
    return client


def test_the_client_is_open_only_after_the_complete_answer_to_its_handshake() -> None:
    client = WebSocketClient()
    hello = client.take_outgoing()
    assert hello.startswith(b"GET / HTTP/1.1\r\n") and hello.endswith(b"\r\n\r\n")
    assert b"Upgrade: websocket\r\n" in hello and b"Sec-WebSocket-Version: 13\r\n" in hello
    assert not client.is_open
    assert client.feed_bytes(AGREED[:20]) == [] and not client.is_open
    assert client.feed_bytes(AGREED[20:] + encode_frame(TEXT, b"hi")) == [b"hi"]
    assert client.is_open


@pytest.mark.parametrize("answer", [b"HTTP/1.1 401 Unauthorized\r\n\r\n", b"x" * 70_000])
def test_an_answer_that_refuses_the_handshake_is_an_error(answer: bytes) -> None:
    with pytest.raises(WebSocketBroken):
        WebSocketClient().feed_bytes(answer)


messages = st.lists(st.binary(max_size=300) | st.integers(0, 70_000).map(lambda size: b"m" * size), max_size=5)


@given(messages=messages, data=st.data())
def test_messages_in_fragments_and_in_any_pieces_of_bytes_are_received_whole(
    messages: list[bytes], data: st.DataObject
) -> None:
    """Check messages that the server cuts into fragments, with pings between, and that arrive in random pieces."""
    wire = bytearray(AGREED)
    pings = []
    for message in messages:
        cuts = sorted(data.draw(st.lists(st.integers(0, len(message)), max_size=3)))
        parts = [message[start:end] for start, end in zip([0, *cuts], [*cuts, len(message)], strict=True)]
        for at, part in enumerate(parts):
            if data.draw(st.booleans()):
                pings.append(data.draw(st.binary(max_size=125)))
                wire += encode_frame(PING, pings[-1])
            wire += encode_frame(TEXT if at == 0 else MORE, part, is_last=at == len(parts) - 1)
    client = WebSocketClient()
    client.take_outgoing()
    found: list[bytes] = []
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=20)))
    for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True):
        found += client.feed_bytes(bytes(wire[start:end]))
    assert found == messages
    assert decode_client_frames(client.take_outgoing()) == [(PONG, ping) for ping in pings]


@given(st.lists(st.binary(max_size=300) | st.integers(0, 70_000).map(lambda size: b"m" * size), max_size=5))
def test_messages_of_the_client_are_sent_as_text_frames(texts: list[bytes]) -> None:
    client = opened()
    for text in texts:
        client.add_message(text)
    assert decode_client_frames(client.take_outgoing()) == [(TEXT, text) for text in texts]


def test_a_close_frame_is_answered_and_later_frames_are_ignored() -> None:
    client = opened()
    assert client.feed_bytes(
        encode_frame(TEXT, b"a") + encode_frame(CLOSE, b"\x03\xe8bye") + encode_frame(TEXT, b"b")
    ) == [b"a"]
    assert client.is_closed
    assert decode_client_frames(client.take_outgoing()) == [(CLOSE, b"\x03\xe8")]


@pytest.mark.parametrize(
    "wrong",
    [
        encode_frame(MORE, b"of nothing"),
        encode_frame(TEXT, b"a", is_last=False) + encode_frame(TEXT, b"b"),
        encode_frame(0x3, b""),
        encode_frame(TEXT | 0x40, b""),
        bytes([LAST | TEXT, 0x80 | 1]) + b"mask" + b"x",
        encode_frame(PING, b"x" * 126),
        bytes([LAST | TEXT, 127]) + (1 << 40).to_bytes(8, "big"),
    ],
    ids=["a fragment of nothing", "a message within", "no kind", "an extension", "masked", "a long ping", "endless"],
)
def test_an_invalid_frame_is_an_error(wrong: bytes) -> None:
    client = opened()
    with pytest.raises(WebSocketBroken):
        client.feed_bytes(wrong)
