"""Bound the logs of the server and of runners: move the end of a large log to a single old log, and empty the log.

Processes keep their log open for appending. Therefore the old lines are copied and the file is emptied in place;
lines that are written between the two steps are lost.
"""

from __future__ import annotations

import asyncio
import contextlib
from datetime import datetime, timedelta
from pathlib import Path

from maestro.core import limits
from maestro.core.clock import Clock
from maestro.wire import runner_folder

_EVERY = timedelta(minutes=1)
_SERVER_LOG = "server.log"


class LogSizeJob:
    """A job that checks the server's log and every runner's log once a minute."""

    name = "log-sizes"

    def __init__(self, home: Path, runs: Path, *, clock: Clock) -> None:
        self._home = home
        self._runs = runs
        self._clock = clock

    async def run_once(self) -> datetime | None:
        await asyncio.to_thread(self._bound_all_logs)
        return self._clock.now() + _EVERY

    def _bound_all_logs(self) -> None:
        for log in (self._home / _SERVER_LOG, *self._runs.glob(f"*/{runner_folder.LOG}")):
            with contextlib.suppress(FileNotFoundError):  # the log does not exist yet, or its folder was just removed
                bound_log(log)


def bound_log(log: Path) -> None:
    """Move the end of a log that is too large to its old log (`.1`), and empty the log."""
    size = log.stat().st_size
    if size <= limits.log_bytes_max:
        return
    with log.open("rb+") as file:
        file.seek(size - limits.log_bytes_max // 2)
        log.with_name(f"{log.name}.1").write_bytes(file.read(limits.log_bytes_max))
        file.truncate(0)
