"""Test the identification of callers on the Unix socket, with real processes: token, parent processes, another user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from maestro.testing.live import LiveServer

THIN = "from maestro.client.main import main; main()"


@pytest.fixture
def project(live: LiveServer, tmp_path: Path) -> Path:
    folder = tmp_path / "vc"
    folder.mkdir()
    assert live.run_command("init", cwd=folder).returncode == 0
    return folder


def whoami(live: LiveServer, folder: Path, **env: str) -> tuple[int, dict[str, str]]:
    done = live.run_command("whoami", "--json", cwd=folder, env=env)
    return done.returncode, json.loads(done.stdout or done.stderr)


def test_the_same_user_is_the_person(live: LiveServer, project: Path) -> None:
    assert whoami(live, project)[1]["role"] == "person"


def test_a_token_identifies_a_session_and_a_wrong_token_is_refused(live: LiveServer, project: Path) -> None:
    made = json.loads(live.run_command("session", "register", "--name", "w", "--json", cwd=project).stdout)
    assert whoami(live, project, MAESTRO_TOKEN=made["token"])[1]["role"] == "worker"
    code, refused = whoami(live, project, MAESTRO_TOKEN="mst_wrong")
    assert (code, refused["code"]) == (4, "not_authenticated")


def test_a_process_of_an_agent_without_a_token_is_the_agent(live: LiveServer, project: Path) -> None:
    """A child of a registered process runs the command without a token. The child must not become the person."""
    script = (
        "import subprocess, sys, os\n"
        "sys.stdin.readline()\n"  # until the process is registered
        "done = subprocess.run([sys.executable, '-c', sys.argv[1], *sys.argv[2:]], capture_output=True)\n"
        "sys.stdout.buffer.write(done.stdout + done.stderr)\n"
        "sys.exit(done.returncode)\n"
    )
    agent = subprocess.Popen(
        [sys.executable, "-c", script, THIN, "whoami", "--json"],
        cwd=project,
        env=live.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    registered = live.run_command(
        "session", "register", "--name", "w", "--pid", str(agent.pid), "--json", cwd=project
    )
    session = json.loads(registered.stdout)
    out, _ = agent.communicate(b"\n", timeout=30)
    assert json.loads(out)["session"]["id"] == session["id"]
    # The process has ended: another process with the same pid is not the session.
    assert whoami(live, project)[1]["role"] == "person"


def test_another_user_is_identified_as_nobody(live: LiveServer, project: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    # The mode of the socket would refuse another user. The test opens the socket, to check the server itself.
    for path in (live.home, *live.home.parents):
        if path in (Path("/"), Path("/tmp")):
            break
        path.chmod(0o755)
    (live.home / "maestro.sock").chmod(0o666)
    probe = (
        "import os, socket, sys\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
        "body = b'maestro/2\\0python\\x000\\x00000\\x000\\0-\\0\\0' + b'task\\0list\\0--json\\0'\n"
        "s.sendall(b'R' + len(body).to_bytes(4, 'big') + body)\n"
        "data = b''\n"
        "while (more := s.recv(65536)): data += more\n"
        "sys.stdout.buffer.write(data)\n"
    )
    socket_path = str(live.home / "maestro.sock")
    done = subprocess.run([sys.executable, "-c", probe, socket_path], capture_output=True, check=True)
    assert b"not_authenticated" in done.stdout and done.stdout.endswith(b"4")


def test_a_session_never_starts_a_server(tmp_path: Path) -> None:
    idle = LiveServer(tmp_path / "none")
    for env in ({"MAESTRO_TOKEN": "mst_x"}, {"MAESTRO_SESSION_ID": "ses_x"}, {"MAESTRO_SOCKET": "/nowhere/s"}):
        assert idle.run_command("task", "list", cwd=tmp_path, env=env).returncode == 8
    assert not (tmp_path / "none").exists()
