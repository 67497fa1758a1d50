"""Repeat a waiting command when its server goes away: ask the next server, for the time that is left.

`main` loads this module when the connection ends while the server did nothing but wait.
"""

from __future__ import annotations

import os
import time

from maestro.client import main
from maestro.wire import exit_codes

_PAUSE_SECONDS = 0.1
_PAUSE_SECONDS_MAX = 1.0


def repeat_request(arguments: list[str], path: str, *, until: float) -> int:
    """Repeat the request until a server answers or the time is over. `until` is wall time."""
    deadline = time.monotonic() + until - time.time()
    os.environ.pop("MAESTRO_WAIT_UNTIL", None)
    pause = _PAUSE_SECONDS
    while (left := deadline - time.monotonic()) > 0:
        os.environ["MAESTRO_WAIT_LEFT"] = str(int(left * 1000))
        try:
            code = _send_request(arguments, path, until=until)
        except (OSError, main.LostWhileWaiting):
            time.sleep(min(pause, left))
            pause = min(pause * 2, _PAUSE_SECONDS_MAX)
            continue
        assert code is not None, "a waiting command runs on the server"
        return code
    raise main.CommandEnded(
        exit_codes.NO_SERVER, "the server went away and did not come back in time; start a server with: maestro up"
    )


def _send_request(arguments: list[str], path: str, *, until: float) -> int | None:
    """Send the request to one server, and relay its answer."""
    sock = main.connect_to_server(path)
    try:
        exchange = main.FrameExchange(sock)
        # A connection that is lost now was lost while waiting: the new server has not reported the wait yet.
        exchange.waits_until = until
        return exchange.relay_answer(main.request_payload(arguments))
    finally:
        sock.close()
