"""A supervisor starts a killed server again, and starts no server after `down`. The processes are real."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from maestro.runner import process_tree
from maestro.testing.homes import Home
from maestro.testing.supervised import is_running, process_identity, wait_until

pytestmark = pytest.mark.slow

MAESTRO = Path(sys.executable).with_name("maestro")


def test_a_killed_server_is_started_again_with_the_same_environment(home: Home) -> None:
    pids = [home.start_server(EXTRA="from the person")]
    for _ in range(3):
        killed = process_identity(pids[-1])
        os.kill(pids[-1], signal.SIGKILL)
        wait_until(lambda killed=killed: not is_running(killed), what="the end of the server")
        pids.append(home.server_pid())  # a command waits for the next server
    assert len(set(pids)) == len(pids)
    assert b"EXTRA=from the person" in Path(f"/proc/{pids[-1]}/environ").read_bytes().split(b"\0")


def test_the_supervisor_is_the_parent_of_the_server(home: Home) -> None:
    pid = home.start_server()
    assert process_tree.find_descendants(home.supervisor_identity()[0])[0] == pid


def test_a_stopped_server_is_not_started_again(home: Home) -> None:
    home.start_server()
    supervisor = home.supervisor_identity()
    home.stop_server()
    wait_until(lambda: not is_running(supervisor), what="the supervisor's end")
    for words, env in ((["mcp"], {}), (["hook", "claude", "Stop"], {}), (["task", "list"], {"CLAUDECODE": "1"})):
        home.live.run_command(*words, cwd="/", env=env)
    status = home.live.run_command("status", cwd="/")
    assert status.returncode == 8 and b"no server runs" in status.stdout


def test_a_signal_to_the_supervisor_stops_the_server(home: Home) -> None:
    pid = process_identity(home.start_server())
    supervisor = home.supervisor_identity()
    os.kill(supervisor[0], signal.SIGTERM)
    wait_until(lambda: not is_running(supervisor) and not is_running(pid), what="the end of supervisor and server")
    assert "stopping" in (home.folder / "server.log").read_text()


def test_a_killed_server_does_not_create_its_removed_data_directory_again(home: Home) -> None:
    pid, supervisor = home.start_server(), home.supervisor_identity()
    shutil.rmtree(home.folder)
    with contextlib.suppress(ProcessLookupError):  # the server may have ended already, because its directory is gone
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_running(supervisor), what="the supervisor's end")
    assert not (home.folder / "maestro.db").exists()


def test_a_server_that_cannot_start_leaves_no_supervisor(home: Home) -> None:
    home.folder.mkdir(mode=0o700)
    (home.folder / "config.toml").write_text("port = 'none'\n")
    refused = home.live.run_command("up", cwd="/")
    assert refused.returncode == 8 and b"the server did not start" in refused.stderr
    supervisor = home.supervisor_identity()
    wait_until(lambda: not is_running(supervisor), what="the supervisor's end")


def test_an_agent_starts_no_server(home: Home, tmp_path: Path) -> None:
    """The agent outlives the server. With an empty environment its orphan looks like a command of the person."""
    home.start_server()
    script = (
        f"(setsid env -i MAESTRO_HOME={home.folder} HOME=$HOME PATH=$PATH sh -c "
        f"'until test -e go; do sleep 0.05; done; {MAESTRO} up > told 2>&1; touch over' &); exec sleep 60"
    )
    home.live.run_command("init", cwd=tmp_path)
    spawned = home.live.run_command("session", "spawn", "--name", "ada", "--", "sh", "-c", script, cwd=tmp_path)
    assert spawned.returncode == 0, spawned.stderr.decode()
    home.stop_server()
    (tmp_path / "go").touch()
    wait_until((tmp_path / "over").exists, what="the end of the agent's command")
    told = (tmp_path / "told").read_text()
    try:
        assert "the server did not start" in told and "session" in told, told
        assert home.live.run_command("status", cwd="/").returncode == 8
    finally:
        home.start_server()
        home.live.run_command("session", "stop", "ada", cwd=tmp_path)
        home.stop_server()


def test_a_process_that_a_gate_left_is_nobody_for_the_next_server(home: Home, tmp_path: Path) -> None:
    home.start_server()
    probe = f"{MAESTRO} whoami --json > who.part 2>&1; mv who.part who"
    waiting = f"touch begun; until test -e go; do sleep 0.05; done; {probe}"
    hidden = f"(setsid env -i MAESTRO_HOME={home.folder} sh -c '{waiting}' > out 2>&1 &)"
    (tmp_path / "gate.sh").write_text(f"{hidden}\nuntil test -e begun; do sleep 0.05; done\n")
    worker, completed = ["session", "spawn", "--task", "#1", "--", "true"], ["task", "wait", "#1", "--timeout", "30s"]
    for words in (["init"], ["task", "create", "t", "--gate", "sh gate.sh"], worker, completed):
        done = home.live.run_command(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr.decode()
    home.stop_server()
    home.start_server()
    (tmp_path / "go").touch()
    wait_until((tmp_path / "who").exists, what="the answer to the remaining process")
    answer = json.loads((tmp_path / "who").read_text())
    assert answer.get("role") == "nobody" or answer.get("code") == "not_authenticated", answer


def test_an_interrupt_of_up_in_the_foreground_stops_the_server(home: Home) -> None:
    command = [
        sys.executable,
        "-c",
        "from maestro.client.main import main; main()",
        "up",
        "--foreground",
        "--port",
        "0",
    ]
    with subprocess.Popen(command, env=home.live.environment(), stderr=subprocess.PIPE) as process:
        wait_until(lambda: home.live.run_command("status", cwd="/").returncode == 0, what="the start of the server")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert home.live.run_command("status", cwd="/").returncode == 8
