"""A command that waits outlives its server: it asks again as soon as there is one, for the time that is left.

`thin` loads this when the connection ends while the server had nothing to do but wait.
"""

from __future__ import annotations

import os
import time

from maestro.client import thin

_PAUSE_SECONDS = 0.1
_PAUSE_SECONDS_MAX = 1.0


def ask_again(arguments: list[str], path: str, *, until: float) -> int:
    """Asks until someone answers or the time is over. `until` is wall time, as the native client hands it on."""
    ends = time.monotonic() + until - time.time()
    os.environ.pop("MAESTRO_WAIT_UNTIL", None)
    pause = _PAUSE_SECONDS
    while (left := ends - time.monotonic()) > 0:
        os.environ["MAESTRO_WAIT_LEFT"] = str(int(left * 1000))
        try:
            exchange = thin.Exchange(thin.connect(path))
            # It is known to do nothing but wait, also before the server says so again.
            exchange.waits_until = until
            code = exchange.run(thin.request(arguments))
        except (OSError, thin.Lost):
            time.sleep(min(pause, left))
            pause = min(pause * 2, _PAUSE_SECONDS_MAX)
            continue
        assert code is not None, "what waits is not local"
        return code
    raise thin.Ended(thin.NO_SERVER, "the server went away, and did not come back in time")
