"""The server's side of its supervisor: a supervisor that was killed is replaced.

Without a supervisor no process would start a killed server again, and a program that a gate left behind would look
like the person's. So the server starts a new supervisor, which starts the next server, and stops.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from maestro.supervisor import process_name
from maestro.system import processes

log = logging.getLogger(__name__)
_PR_SET_PDEATHSIG = 1


def replace_killed_supervisor(home: Path, stop: Callable[[], None]) -> None:
    """Start a new supervisor when ours ends before this server, then call `stop`. Linux tells of a parent's end."""
    supervisor = os.getppid()
    if sys.platform != "linux" or not _is_supervisor(supervisor, home):
        return

    def replace() -> None:
        if os.getppid() != supervisor:
            log.warning("the supervisor (pid %d) was killed: starting another one", supervisor)
            _start_supervisor(home)
            stop()

    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, replace)
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGUSR2, 0, 0, 0)
    replace()  # the supervisor may have ended before the system was asked to tell


def _is_supervisor(pid: int, home: Path) -> bool:
    found = processes.look_up(pid)
    return found is not None and found.name == process_name(str(home))


def _start_supervisor(home: Path) -> None:
    """Start a supervisor with this server's environment and options; its server makes no data directory."""
    options = [one for one in sys.argv[1:] if one != "--restart"]
    command = [sys.executable, "-P", "-m", "maestro.supervisor", *options, "--restart"]
    child = subprocess.Popen(command, cwd="/", stdin=subprocess.DEVNULL, start_new_session=True)
    child.returncode = 0  # it outlives this server
