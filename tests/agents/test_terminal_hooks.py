"""Tests of connected programs in a terminal: a session with an open dialog is `needs_input` and shows the command."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from agent_programs import by_hand, installed
from agent_programs.base import KEY, Launch, Room
from scripted_model import Call, Say, ScriptedModel, Shell

from maestro.testing.live import PYTHON_CLIENT, LiveServer

pytestmark = [pytest.mark.agents, pytest.mark.timeout(150)]

SECONDS_MAX = 60
COMMAND = "touch made.txt"


def _claude(room: Room, url: str) -> Launch:
    known = {
        "hasCompletedOnboarding": True,
        "projects": {str(room.work): {"hasTrustDialogAccepted": True}},
        "customApiKeyResponses": {"approved": [KEY[-20:]]},
    }
    (room.home / ".claude.json").write_text(json.dumps(known))
    launch = by_hand.PROGRAMS["claude"].launch(room, url, "Go ahead.")
    return Launch(
        [launch.words[0], "--model", "sonnet", "--permission-mode", "manual", "Go ahead."],
        launch.environment,
        room.work,
    )


def _codex(room: Room, url: str) -> Launch:
    launch = by_hand.PROGRAMS["codex"].launch(room, url, "Go ahead.")
    words = [launch.words[0], "-a", "on-request", "-s", "read-only", "Go ahead."]
    return Launch(words, launch.environment, room.work)


def _gemini(room: Room, url: str) -> Launch:
    (room.home / ".gemini" / "trustedFolders.json").write_text(json.dumps({str(room.work): "TRUST_FOLDER"}))
    launch = by_hand.PROGRAMS["gemini"].launch(room, url, "Go ahead.")
    words = [launch.words[0], "--approval-mode", "default", "-m", "gemini-2.5-pro", "-i", "Go ahead."]
    return Launch(words, launch.environment, room.work)


LAUNCHES: dict[str, Callable[[Room, str], Launch]] = {"claude": _claude, "codex": _codex, "gemini": _gemini}
ESCALATED = {"cmd": COMMAND, "sandbox_permissions": "require_escalated", "justification": "because"}
ASKS = {"claude": Shell(COMMAND), "codex": Call("exec_command", ESCALATED), "gemini": Shell(COMMAND)}


class Terminal:
    """A program in a terminal of its own, and all output of the program."""

    def __init__(self, launch: Launch) -> None:
        self.end, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
        environment = {**launch.environment, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self.process = subprocess.Popen(
            launch.words, cwd=launch.work, env=environment, stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.drawn = b""
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # a closed terminal gives an error
            while piece := os.read(self.end, 1 << 16):
                self.drawn += piece
                if b"\x1b[6n" in piece:  # the program asks for the position of the cursor and can wait for the answer
                    os.write(self.end, b"\x1b[1;1R")

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)
        self.reader.join(30)
        os.close(self.end)


@pytest.fixture
def opened() -> Iterator[list[Terminal]]:
    made: list[Terminal] = []
    yield made
    for one in made:
        one.close()


def until(is_so: Callable[[], Any], terminal: Terminal) -> Any:
    deadline = time.monotonic() + SECONDS_MAX
    while not (found := is_so()):
        assert time.monotonic() < deadline, terminal.drawn[-3000:].decode(errors="replace")
        time.sleep(0.1)
    return found


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_session_needs_input_while_a_dialog_is_open_and_is_idle_afterwards(
    name: str, live: LiveServer, room: Room, api: httpx.Client, model: ScriptedModel, opened: list[Terminal]
) -> None:
    if not installed.FOLDER.is_dir():
        pytest.skip("the programs are not installed: make test-agents")
    program = by_hand.PROGRAMS[name]
    url = model.script(name, ASKS[name], Say("All done."))
    program.settle(room, url)
    launch = LAUNCHES[name](room, url)
    connected = subprocess.run(
        [*PYTHON_CLIENT, "connect", name, *program.connect],
        cwd=room.work,
        env=by_hand.environment(room) | {"MAESTRO_HOME": str(live.home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert connected.returncode == 0, connected.stdout + connected.stderr
    terminal = Terminal(launch)
    opened.append(terminal)

    def session() -> dict[str, Any]:
        found = api.get("/api/sessions", params={"project": "vc"}).json()["sessions"]
        return dict(found[0]) if found else {}

    until(lambda: session().get("status") == "needs_input", terminal)
    assert session()["status_source"] == "hook"
    signals = api.get(f"/api/sessions/{session()['id']}/explain").json()["signals"]
    detail = next(one["detail"] for one in signals if one["source"] == "hook")
    assert COMMAND in detail
    assert not (room.work / "made.txt").exists()
    time.sleep(1)  # a dialog takes no keys at first
    os.write(terminal.end, b"\r")
    until((room.work / "made.txt").exists, terminal)
    until(lambda: session()["status"] == "idle", terminal)
