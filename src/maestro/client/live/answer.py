"""Run one command on the server with this client's own environment, and return the whole answer."""

from __future__ import annotations

from maestro.client import thin


def answer(words: list[str]) -> tuple[int, bytes, bytes]:
    """Return the exit code, the output and the errors of a command."""
    try:
        sock = thin.connect(thin.socket_path())
    except OSError as error:
        raise thin.Ended(thin.NO_SERVER, f"no server answers: {error.strerror}") from None
    exchange = thin.Exchange(sock)
    exchange.send(b"R", thin.request(words))
    output = {b"O": b"", b"E": b""}
    while True:
        kind, payload = exchange.next_frame()
        exchange.is_answered = True
        if kind in output:
            output[kind] += payload
        elif kind == b"X":
            return int(payload), output[b"O"], output[b"E"]
