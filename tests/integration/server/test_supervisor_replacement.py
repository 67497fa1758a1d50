"""Test that a server replaces its killed supervisor, with real processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from maestro.runner import process_tree
from maestro.testing.homes import Home, open_home
from maestro.testing.supervised import is_running, wait_until


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """Return a data directory whose server the person's own command starts."""
    with open_home(tmp_path / "data") as opened:
        yield opened


def test_a_killed_supervisor_is_replaced(home: Home) -> None:
    home.start_server(EXTRA="kept")
    killed = home.supervisor_identity()
    os.kill(killed[0], signal.SIGKILL)
    wait_until(
        lambda: home.supervisor_identity() != killed and is_running(home.supervisor_identity()),
        what="a new supervisor",
    )
    wait_until(lambda: home.live.run_command("status", cwd="/").returncode == 0, what="a new server")
    pid = home.server_pid()
    assert process_tree.find_descendants(home.supervisor_identity()[0])[0] == pid
    assert b"EXTRA=kept" in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
