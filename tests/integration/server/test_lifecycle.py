"""Test the life of a server process: the server file, the end of waiting commands, the order of a stop."""

from __future__ import annotations

import json
from pathlib import Path

from maestro.testing.live import LiveServer


def test_the_server_file_names_the_process_and_its_address(live: LiveServer) -> None:
    assert live.process is not None
    content = json.loads((live.home / "server.json").read_text())
    assert content["pid"] == live.process.pid and content["url"].startswith("http://127.0.0.1:")
    status = json.loads(live.run_command("status", "--json").stdout)
    assert status["url"] == content["url"]


def test_a_stop_removes_the_files_of_the_process(live: LiveServer) -> None:
    live.stop()
    assert live.process is not None and live.process.returncode == 0
    assert not (live.home / "server.json").exists() and not (live.home / "maestro.sock").exists()


def test_a_stop_ends_a_command_that_follows_the_log(live: LiveServer, tmp_path: Path) -> None:
    assert live.run_command("init", cwd=tmp_path).returncode == 0
    following = live.start_command("events", "--since", "0", "--follow", "--json")
    try:
        assert following.stdout is not None and b"project.created" in following.stdout.readline()
        live.stop()
        assert live.process is not None and live.process.returncode == 0
        log = live.log.read_text()
        assert "ended a running command because the server stops" in log and "Traceback" not in log
    finally:
        following.kill()
        following.communicate()
