"""`maestro down` returns when the server has ended, so that the data directory can be copied or restored."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from maestro.client import server_locks
from maestro.testing.live import LiveServer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    with LiveServer(tmp_path / "data") as live:
        yield live


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_down_returns_after_the_server_has_released_its_data_directory(server: LiveServer, flags: list[str]) -> None:
    assert server.process is not None
    pid = server.process.pid
    assert server_locks.server_pid(server.home) == pid
    done = server.run_command("down", *flags)
    assert server_locks.server_pid(server.home) is None
    assert (done.returncode, done.stderr) == (0, b"")
    if flags:
        assert json.loads(done.stdout)["pid"] == pid
    else:
        assert done.stdout.decode() == f"the server stops (pid {pid})\n"


def test_down_names_a_server_that_does_not_end(server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the process of the server, so that the server cannot end."""
    assert server.process is not None
    from maestro.client import main
    from maestro.client.live import down

    monkeypatch.setattr(down, "_SECONDS_MAX", 0.1)
    server.process.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(main.CommandEnded, match=f"kill -KILL {server.process.pid}"):
            down.run(home=str(server.home), pid=server.process.pid, text="")
    finally:
        server.process.send_signal(signal.SIGCONT)
