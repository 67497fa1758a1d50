"""After `down` no server runs, although windows, hooks and waiting commands of agents still call."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from maestro.system import processes
from maestro.testing import rounds
from maestro.testing.homes import Home
from maestro.testing.live import PYTHON_CLIENT
from maestro.testing.supervised import is_running, wait_until
from maestro.testing.workshop import MAESTRO, Workshop

WINDOWS = 20
SESSIONS = 5
# Clients write these files while no server runs: late hooks, and a log of unanswered hooks.
KEPT = ("hooks", "hooks.log")
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "window", "version": "1"}}
OPENING = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}


class Window:
    """A relay of an agent program: `maestro mcp`, whose standard input stays open."""

    def __init__(self, shop: Workshop, env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [MAESTRO, "mcp"],
            cwd=shop.repo,
            env=shop.live.environment(**env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.write(OPENING)
        assert self.process.stdout is not None
        assert b'"result"' in self.process.stdout.readline()

    def write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


class Crowd:
    """The windows, hooks and commands of agents that call while the server is down."""

    def __init__(self, shop: Workshop, seed: int) -> None:
        self.shop = shop
        self.chosen = random.Random(seed)
        self.calls: Counter[str] = Counter()
        self.environments = [{}]
        for number in range(SESSIONS):
            made = shop.register_session(f"worker-{number}")
            self.environments.append({"MAESTRO_TOKEN": made["token"], "MAESTRO_SESSION_ID": made["id"]})
        self.windows = [Window(shop, self.chosen.choice(self.environments)) for _ in range(WINDOWS)]
        self.waiting = [self._begin(["mail", "wait", "--timeout", "10m"], env) for env in self.environments[1:]]

    def _begin(self, words: list[str], env: dict[str, str], stdin: bytes = b"") -> subprocess.Popen[bytes]:
        program = [str(MAESTRO)] if self.chosen.random() < 0.5 else PYTHON_CLIENT
        process = subprocess.Popen(
            [*program, *words],
            cwd=self.shop.repo,
            env=self.shop.live.environment(CLAUDECODE="1", **env),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(stdin)
            process.stdin.close()
        return process

    def call(self) -> None:
        """Fire a hook, ask through a window, or run a command of a session."""
        env = self.chosen.choice(self.environments)
        kind = self.chosen.choice(["hook", "window", "command"])
        self.calls[kind] += 1
        if kind == "window":
            number = self.calls["window"] + 1
            self.chosen.choice(self.windows).write({"jsonrpc": "2.0", "id": number, "method": "tools/list"})
        elif kind == "hook":
            event = self.chosen.choice(["Stop", "SessionStart", "UserPromptSubmit"])
            payload = {
                "session_id": f"s-{self.calls.total()}",
                "cwd": str(self.shop.repo),
                "hook_event_name": event,
            }
            self._end(self._begin(["hook", "claude", event], env, json.dumps(payload).encode()), 30)
        else:
            words = self.chosen.choice([["whoami"], ["task", "list"], ["mail", "check"]])
            self.waiting.append(self._begin(words, env or {"CI": "1"}))

    def close(self) -> None:
        for window in self.windows:
            window.close()
        for process in self.waiting:
            self._end(process, 0)

    def _end(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        process.kill()
        process.wait()


def servers_of(folder: Path) -> list[str]:
    """Return the command lines of every server or supervisor of a data directory."""
    found = []
    for process in processes.find_by_variable("MAESTRO_HOME", str(folder)):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{process.pid}/cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
            if "maestro.server" in words or "maestro.supervisor" in words:
                found.append(words)
    return found


def data_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of every file of the data directory that only a server writes."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if name.parts[0] not in KEPT and path.is_file():
            state = path.stat()
            found[str(name)] = (state.st_size, state.st_mtime_ns)
    return found


@pytest.fixture
def shop(home: Home, make_repo: Callable[..., Path]) -> Iterator[Workshop]:
    home.start_server()
    made = Workshop(home.live, make_repo("vc"))
    made.run_maestro("init")
    yield made


@pytest.mark.slow
@pytest.mark.rounds
@pytest.mark.timeout(300)
@pytest.mark.skipif(sys.platform != "linux", reason="looks for servers in /proc")
def test_no_call_of_an_agent_starts_a_server_after_down(home: Home, shop: Workshop) -> None:
    seconds, seed = rounds.round_count(5, full=60), rounds.round_seed()
    crowd = Crowd(shop, seed)
    supervisor = home.supervisor_identity()
    try:
        assert len(servers_of(home.folder)) == 2
        home.stop_server()
        wait_until(lambda: not is_running(supervisor), what="the supervisor's end")
        before, ends = data_of(home.folder), time.monotonic() + seconds
        while time.monotonic() < ends:
            crowd.call()
            assert servers_of(home.folder) == []
            time.sleep(0.05)
        assert data_of(home.folder) == before
    finally:
        crowd.close()
    windows = sum(window.process.returncode == -9 for window in crowd.windows)
    rounds.report_rounds(
        "down", 1, seed=seed, seconds=seconds, windows=windows, servers=0, changed_files=0, **crowd.calls
    )
