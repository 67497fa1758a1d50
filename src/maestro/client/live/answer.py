"""Run one command on the server with this client's own environment, and return the whole answer."""

from __future__ import annotations

from maestro.client import main


def run_command(arguments: list[str]) -> tuple[int, bytes, bytes]:
    """Return the exit code, the output and the errors of a command."""
    try:
        sock = main.connect_to_server(main.socket_path())
    except OSError as error:
        raise main.CommandEnded(main.NO_SERVER, f"no server answers: {error.strerror}") from None
    exchange = main.FrameExchange(sock)
    exchange.send_frame(b"R", main.request_payload(arguments))
    output = {b"O": b"", b"E": b""}
    while True:
        kind, payload = exchange.next_frame()
        exchange.is_answered = True
        if kind in output:
            output[kind] += payload
        elif kind == b"X":
            return int(payload), output[b"O"], output[b"E"]
