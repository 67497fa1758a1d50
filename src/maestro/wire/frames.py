"""The frames that processes exchange: the command with the server, a runner with its clients (docs/frames.md).

A frame is one byte for its kind, four bytes for the size of its payload (big endian), and the payload.
The module imports nothing: the command must start quickly, and runners must stay small.
"""

PROTOCOL = "maestro/2"
HEAD_BYTES = 5
PAYLOAD_BYTES_MAX = 1 << 20
REQUEST_FIELDS = 6  # protocol, client, version, terminals, columns, directory

# From the command to the server: its request, a piece of input, a refusal of input, a confirmation.
REQUEST, DATA, NEGATIVE, CONFIRMED = b"R", b"D", b"N", b"C"
# From the server to the command.
OUT, ERR, STDIN, FILE, CONFIRM, LOCAL, WAITING, EXIT = b"O", b"E", b"I", b"F", b"C", b"L", b"W", b"X"
OPEN = b"P"  # open a file and report its real path; an empty FILE then asks for its content
# From and to a runner: a request as JSON and its answer, the size of an attached terminal.
# DATA, OUT and EXIT carry the program's input, output and exit code.
QUERY, ANSWER, SIZE = b"Q", b"A", b"Z"


class FrameTooLarge(OSError):
    """The other side announced a payload above the limit. The connection is of no more use."""


def pack_frame(kind: bytes, payload: bytes = b"") -> bytes:
    return kind + len(payload).to_bytes(4, "big") + payload


def pack_request(fields: list[bytes], arguments: list[bytes]) -> bytes:
    """Return the payload of REQUEST. `fields`: client, version, terminals, columns, directory, then the variables."""
    head = b"\0".join([PROTOCOL.encode(), *fields])
    return head + b"\0\0" + b"".join(argument + b"\0" for argument in arguments)


def unpack_request(payload: bytes) -> tuple[list[bytes], list[bytes]]:
    """Return the fields of a REQUEST, with the protocol first, and its arguments; else raise ValueError.

    The first REQUEST_FIELDS fields are always there. The variables follow, as NAME=VALUE.
    """
    head, separator, rest = payload.partition(b"\0\0")
    fields = head.split(b"\0")
    if not separator or len(fields) < REQUEST_FIELDS or not fields[0].startswith(b"maestro/"):
        raise ValueError("a payload that is not a request")
    return fields, rest.split(b"\0")[:-1]


def pack_frames(kind: bytes, data: bytes) -> bytes:
    """Return as many frames as `data` needs."""
    if len(data) <= PAYLOAD_BYTES_MAX:
        return pack_frame(kind, data)
    starts = range(0, len(data), PAYLOAD_BYTES_MAX)
    return b"".join(pack_frame(kind, data[start : start + PAYLOAD_BYTES_MAX]) for start in starts)


def payload_bytes(head: bytes | bytearray) -> int:
    """Return the size of the payload that a head announces; raise FrameTooLarge above the limit."""
    size = int.from_bytes(head[1:HEAD_BYTES], "big")
    if size > PAYLOAD_BYTES_MAX:
        raise FrameTooLarge(f"a frame of {size} bytes")
    return size


class FrameBuffer:
    """Received bytes, split into frames."""

    def __init__(self) -> None:
        self._received = bytearray()

    def add_bytes(self, data: bytes) -> None:
        self._received += data

    def take_frame(self) -> tuple[bytes, bytes] | None:
        """Remove and return the next whole frame: its kind and payload. None if no whole frame has arrived."""
        if len(self._received) < HEAD_BYTES:
            return None
        end = HEAD_BYTES + payload_bytes(self._received)
        if len(self._received) < end:
            return None
        frame = bytes(self._received[:1]), bytes(self._received[HEAD_BYTES:end])
        del self._received[:end]
        return frame

    @property
    def has_head(self) -> bool:
        """Return whether the head of a further frame has arrived."""
        return len(self._received) >= HEAD_BYTES
