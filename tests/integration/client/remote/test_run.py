"""Commands use a remote server with MAESTRO_SERVER_URL and a token, without a socket."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from maestro.testing.live import LiveServer

Maestro = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def elsewhere(live: LiveServer, make_repo: Callable[..., Path]) -> tuple[Maestro, Path, dict[str, str]]:
    """Return a function that runs commands, its checkout and its variables. The server knows the project."""
    repo = make_repo("vc")
    assert live.run_command("init", cwd=repo).returncode == 0
    env = {"MAESTRO_HOME": "/nowhere", "MAESTRO_SERVER_URL": live.url, "MAESTRO_TOKEN": live.token}

    def maestro(*words: str, **options: object) -> subprocess.CompletedProcess[bytes]:
        return live.run_command(*words, cwd=repo, env=env | options.pop("env", {}), **options)  # type: ignore[arg-type, operator]

    return maestro, repo, env


def test_commands_with_a_remote_server_give_the_answers_of_a_local_server(
    elsewhere: tuple[Maestro, Path, dict[str, str]],
) -> None:
    maestro, repo, _ = elsewhere
    assert maestro("task", "create", "First", "--description", "-", stdin=b"from a pipe").returncode == 0
    assert maestro("task", "create", "Second", "--depends-on", "#1").returncode == 0
    refused = maestro("task", "start", "#2")
    assert refused.returncode == 5 and b"it waits on vc#1 (todo)" in refused.stderr
    shown = json.loads(maestro("task", "show", "#1", "--json").stdout)
    assert shown["description"] == "from a pipe"
    (repo / "notes.bin").write_bytes(b"\0\1\2")
    added = json.loads(maestro("task", "docs", "add", "#1", "Notes", "--file", "notes.bin", "--json").stdout)
    assert maestro("task", "docs", "show", added["id"]).stdout == b"\0\1\2"
    assert maestro("task", "wait", "#1", "--timeout", "50ms").returncode == 3
    kinds = [json.loads(line)["kind"] for line in maestro("events", "--json").stdout.splitlines()]
    assert kinds.count("task.created") == 2
    assert maestro("task", "list", env={"MAESTRO_TOKEN": "mst_wrong"}).returncode == 4
    assert maestro("init").returncode == 2


def test_ctrl_c_ends_a_command_that_follows_events(
    elsewhere: tuple[Maestro, Path, dict[str, str]], live: LiveServer
) -> None:
    _, repo, env = elsewhere
    follow = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from maestro.client.main import main; main()",
            "events",
            "--follow",
            "--since",
            "0",
            "--json",
        ],
        cwd=repo,
        env=live.environment(**env),
        stdout=subprocess.PIPE,
    )
    assert follow.stdout is not None
    assert json.loads(follow.stdout.readline())["seq"] == 1
    follow.send_signal(signal.SIGINT)
    assert follow.wait(10) != 0
    follow.stdout.close()


def test_commands_without_a_server_exit_with_code_8(tmp_path: Path) -> None:
    nowhere = LiveServer(tmp_path / "none")
    for url in ("http://127.0.0.1:9", "nonsense"):
        done = nowhere.run_command("task", "list", cwd=tmp_path, env={"MAESTRO_SERVER_URL": url})
        assert done.returncode == 8, done.stderr
