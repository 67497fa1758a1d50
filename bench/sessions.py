"""Sessions as processes: the time to a start and to a known crash, the cost of many sessions, and their remains."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from bench.report import Figure
from bench.yard import Yard, cpu_seconds, resident_mb, yard
from maestro.testing.supervised import wait_until

SPAWNS = 30
CRASHES = 20
IDLE_SESSIONS = 100
IDLE_SECONDS = 30
STOPPED = 200
AT_ONCE = 20
# Behaviours that make programs hard to stop.
_HARD = {
    "well-behaved": "sleep 600",
    "ignores SIGTERM": "trap '' TERM; while :; do sleep 0.2; done",
    "forks": "sleep 600 & sleep 600 & sleep 600",
    "daemonises": "(setsid sleep 600 &) ; setsid sleep 600 & sleep 600",
    "floods the terminal": "yes maestro",
}


def starting() -> Figure:
    """Compare the time from the request to the program's first action with the same program as a bare subprocess."""
    bare, ours = [], []
    with yard() as here:
        mark = here.repo / "mark"
        os.mkfifo(mark)
        words = ["sh", "-c", f"echo . > {mark}"]
        for _ in range(SPAWNS):
            bare.append(_until_marked(mark, lambda: subprocess.Popen(words).wait))
            ours.append(_until_marked(mark, lambda: here.spawn(*words) and None))
            time.sleep(0.1)  # the runner ends
    p50_bare, p50_ours = statistics.median(bare) * 1e3, statistics.median(ours) * 1e3
    note = f"p50 {p50_ours:.0f} ms, bare {p50_bare:.1f} ms; allowed {3 * p50_bare + 100:.0f} ms"
    what = "request to running agent process, as a share of three bare starts and 100 ms"
    return Figure(what, p50_ours / (3 * p50_bare + 100), at_most=1, note=note)


def crashing() -> Figure:
    """Return the time from the end of a killed program to the event in the log."""
    with yard() as here:
        took = [_crash(here) * 1e3 for _ in range(CRASHES)]
    what = "an agent's crash to session.status_changed, the slowest"
    note = f"p50 {statistics.median(took):.0f} ms of {CRASHES}"
    return Figure(what, max(took), at_most=1000, unit=" ms", note=note)


def _crash(here: Yard) -> float:
    session_id = here.spawn("sleep", "600")["id"]
    wait_until(lambda: _runner(here, session_id), what="the runner")
    agent = here.note(session_id)["program"]
    seq = here.get("/api/status")["events"]
    began = time.perf_counter()
    os.kill(agent, signal.SIGKILL)
    wait_until(lambda: _ended(here, session_id, seq), what="the line in the log")
    return time.perf_counter() - began


def idling() -> list[Figure]:
    """Return the CPU time of server and runners for a hundred sleeping sessions, and the largest runner's size."""
    with yard() as here:
        sessions = [here.spawn("sleep", "600") for _ in range(IDLE_SESSIONS)]
        runners = [wait_until(lambda one=one: _runner(here, one["id"]), what="a runner") for one in sessions]
        pids = [here.server_pid(), *runners]
        time.sleep(5)
        before = sum(map(cpu_seconds, pids))
        time.sleep(IDLE_SECONDS)
        share = (sum(map(cpu_seconds, pids)) - before) / IDLE_SECONDS * 100
        largest = max(map(resident_mb, runners))
    what = f"{IDLE_SESSIONS} idle sessions"
    return [
        Figure(f"{what}: server and runners, share of a core", share, at_most=3, unit=" %"),
        Figure(f"{what}: the largest runner", largest, at_most=25, unit=" MB"),
    ]


def stopping() -> Figure:
    """Spawn and stop sessions in groups, also programs that resist, and count everything that is left."""
    kinds = list(_HARD.values())
    with yard() as here:
        before = _descriptors(here)
        temporary = set(Path("/tmp").iterdir())
        began = time.perf_counter()
        for first in range(0, STOPPED, AT_ONCE):
            words = [kinds[number % len(kinds)] for number in range(first, first + AT_ONCE)]
            sessions = [here.spawn("sh", "-c", script)["id"] for script in words]
            for one in sessions:
                wait_until(lambda one=one: _runner(here, one), what="a runner")
            stops = [here.shop.live.start_command("session", "stop", one, cwd=here.repo) for one in sessions]
            for stop in stops:
                stop.communicate(timeout=60)
        seconds = time.perf_counter() - began
        time.sleep(2)  # the runners end
        left = [f"process {pid}" for pid in _processes(here)]
        left += [str(path) for path in (here.live.home / "sessions").glob("*/*.sock")]
        left += [f"lock {path}" for path in (here.live.home / "sessions").glob("*/runner.lock") if _is_locked(path)]
        left += [f"temporary {path}" for path in set(Path("/tmp").iterdir()) - temporary if _is_ours(path)]
        grown = _descriptors(here) - before
        left += [f"{grown} descriptors of the server"] if grown > 8 else []
    note = ", ".join(left[:3]) or f"in {seconds:.0f} s"
    return Figure(
        f"{STOPPED} sessions spawned and stopped, five kinds: what is left", len(left), at_most=0, unit="", note=note
    )


def _until_marked(mark: Path, start: Callable[[], Callable[[], object] | None]) -> float:
    """Return the seconds until a program has written into a pipe."""
    began = time.perf_counter()
    end = start()
    with mark.open() as pipe:
        assert pipe.read()
    took = time.perf_counter() - began
    if end is not None:
        end()
    return took


def _ended(here: Yard, session_id: str, seq: int) -> bool:
    found = here.get(f"/api/events?since={seq}&limit=100")["events"]
    return any(
        one["kind"] in ("session.status_changed", "session.ended") and one["subject"] == session_id for one in found
    )


def _runner(here: Yard, session_id: str) -> int | None:
    path = here.shop.runner_folder(session_id) / "runner.json"
    return int(here.note(session_id)["runner"]) if path.exists() else None


def _descriptors(here: Yard) -> int:
    return len(list(Path(f"/proc/{here.server_pid()}/fd").iterdir()))


def _processes(here: Yard) -> list[int]:
    """Return all processes of the server's sessions: they have the server's socket in their environment."""
    mark = f"MAESTRO_SOCKET={here.live.home}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def _is_locked(path: Path) -> bool:
    return subprocess.run(["flock", "-n", str(path), "true"], check=False).returncode != 0


def _is_ours(path: Path) -> bool:
    return "maestro" in path.name or "runner" in path.name
