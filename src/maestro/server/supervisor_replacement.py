"""Replace a killed supervisor.

Without a supervisor no process starts a killed server again, and a program that a gate left behind looks like a
program of the person. The server starts a new supervisor, which starts the next server, and stops.
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

from maestro.supervisor import supervisor_process_name
from maestro.system import processes

log = logging.getLogger(__name__)
_PR_SET_PDEATHSIG = 1


def replace_killed_supervisor(home: Path, stop: Callable[[], None]) -> None:
    """Start a new supervisor when the present supervisor ends before this server, then call `stop`. Linux only."""
    supervisor = os.getppid()
    if sys.platform != "linux" or not _is_supervisor(supervisor, home):
        return

    def replace_if_gone() -> None:
        if os.getppid() != supervisor:
            log.warning("the supervisor (pid %d) was killed: starting a new supervisor", supervisor)
            _start_supervisor(home)
            stop()

    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, replace_if_gone)
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGUSR2, 0, 0, 0)
    replace_if_gone()  # the supervisor may have ended before the kernel was asked for the signal


def _is_supervisor(pid: int, home: Path) -> bool:
    process = processes.find_process(pid)
    return process is not None and process.name == supervisor_process_name(str(home))


def _start_supervisor(home: Path) -> None:
    """Start a supervisor with this server's environment and options. Its server creates no data directory."""
    options = [argument for argument in sys.argv[1:] if argument != "--restart"]
    command = [sys.executable, "-P", "-m", "maestro.supervisor", *options, "--restart"]
    child = subprocess.Popen(command, cwd="/", stdin=subprocess.DEVNULL, start_new_session=True)
    child.returncode = 0  # the supervisor outlives this server: no warning about an unwaited child
