"""Run one command on the server with this client's own environment, and return the whole answer."""

from __future__ import annotations

from maestro.client import main
from maestro.wire import exit_codes, frames


def run_command(arguments: list[str]) -> tuple[int, bytes, bytes]:
    """Return the exit code, the output and the errors of a command."""
    try:
        sock = main.connect_to_server(main.socket_path())
    except OSError as error:
        raise main.CommandEnded(exit_codes.NO_SERVER, f"no server answers: {error.strerror}") from None
    try:
        return _read_answer(main.FrameExchange(sock), arguments)
    finally:
        sock.close()


def _read_answer(exchange: main.FrameExchange, arguments: list[str]) -> tuple[int, bytes, bytes]:
    exchange.send_frame(frames.REQUEST, main.request_payload(arguments))
    output = {frames.OUT: b"", frames.ERR: b""}
    while True:
        kind, payload = exchange.next_frame()
        exchange.is_answered = True
        if kind in output:
            output[kind] += payload
        elif kind == frames.EXIT:
            return int(payload), output[frames.OUT], output[frames.ERR]
