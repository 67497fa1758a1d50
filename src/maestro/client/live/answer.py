"""A whole answer of the server to one command, asked as this command's own client would ask."""

from __future__ import annotations

from maestro.client import thin


def answer(words: list[str]) -> tuple[int, bytes, bytes]:
    """Its exit code, and what it says on either side."""
    try:
        sock = thin.connect(thin.socket_path())
    except OSError as error:
        raise thin.Ended(thin.NO_SERVER, f"no server answers: {error.strerror}") from None
    exchange = thin.Exchange(sock)
    exchange.send(b"R", thin.request(words))
    said = {b"O": b"", b"E": b""}
    while True:
        kind, payload = exchange.next_frame()
        exchange.is_answered = True
        if kind in said:
            said[kind] += payload
        elif kind == b"X":
            return int(payload), said[b"O"], said[b"E"]
