"""A data directory for tests, whose server is started by the person's command, with a supervisor."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from maestro.supervisor import LOCK_FILE
from maestro.testing.live import LiveServer
from maestro.testing.supervised import is_running, process_identity, wait_until


class Home:
    """Starts and stops the server of one data directory as the person does."""

    def __init__(self, live: LiveServer) -> None:
        self.live = live
        self.folder = live.home

    def start_server(self, **env: str) -> int:
        """Start the server as the person does; return its pid."""
        done = self.live.run_command("up", "--port", "0", "--json", cwd="/", env=env)
        assert done.returncode == 0, done.stderr.decode()
        return int(json.loads(done.stdout)["pid"])

    def stop_server(self) -> None:
        """Stop the server as the person does."""
        assert self.live.run_command("down", cwd="/").returncode == 0

    def supervisor_identity(self) -> tuple[int, str]:
        """Return the pid and start time of the supervisor."""
        return process_identity(int((self.folder / LOCK_FILE).read_text()))

    def server_pid(self) -> int:
        """Return the pid of the server that answers now."""
        return int(json.loads(self.live.run_command("status", "--json", cwd="/").stdout)["pid"])


@contextlib.contextmanager
def open_home(folder: Path) -> Iterator[Home]:
    """Yield a data directory without a server; end its supervisor afterwards."""
    home = Home(LiveServer(folder))
    yield home
    with contextlib.suppress(OSError, ValueError):
        supervisor = home.supervisor_identity()
        if is_running(supervisor):
            os.kill(supervisor[0], signal.SIGTERM)
            wait_until(lambda: not is_running(supervisor), what="the supervisor's end")
