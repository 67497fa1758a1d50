"""The file of a late hook: a hook event that a client stores when no server answers, for the next server.

The file's name is SESSION.TOOL.EVENT. The content is four parts, separated by newlines: the format, the time in
nanoseconds, the session's token, and the payload. The native client writes the same format.
"""

FOLDER = "hooks"  # beside the server's socket; the server makes the folder, because only a server reads late hooks
FORMAT = b"maestro-hook/1"
PAYLOAD_BYTES_MAX = 1 << 20


def pack_hook(time_ns: int, token: str, payload: bytes) -> bytes:
    return b"%s\n%d\n%s\n%s" % (FORMAT, time_ns, token.encode(errors="replace"), payload)


def unpack_hook(content: bytes) -> tuple[int, str, bytes]:
    """Return the time in nanoseconds, the token and the payload; raise ValueError for another format."""
    mark, time_ns, token, payload = content.split(b"\n", 3)
    if mark != FORMAT:
        raise ValueError("the content is not a late hook")
    return int(time_ns), token.decode(), payload
