"""A hook without mail: an agent pays this cost twice for each tool call."""

from __future__ import annotations

import http.client
import json
import statistics
import subprocess
import time
from pathlib import Path

from bench.http import post, running_server
from bench.installed import Place, medians, place
from bench.report import Figure

_PAYLOAD = json.dumps(
    {
        "session_id": "693e4871-0b72-4349-8fb4-47216a311075",
        "cwd": "/",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "make test"},
        "tool_response": {"stdout": "x" * 2_000},
    }
)
_CLIENTS = {"Python": "maestro-py", "native": "maestro"}
_WARM, _COUNT = 200, 2_000


def over_http() -> Figure:
    """Measure hooks over a kept connection, and for comparison with a new connection for each hook."""
    with running_server() as server:
        session = post(server, "/api/sessions", {"project": server["project"], "name": "worker"})
        kept = _times(server["port"], session["token"], keeps=True)
        fresh = _times(server["port"], session["token"], keeps=False)
    p50 = statistics.median(kept) * 1000
    note = f"p99 {_p99(kept) * 1000:.2f} ms; with a new connection each time {statistics.median(fresh) * 1000:.2f} ms"
    return Figure("a hook with nothing to say, over HTTP, p50", p50, at_most=3, note=note, unit=" ms")


def _times(port: int, token: str, *, keeps: bool) -> list[float]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", port)
    times = []
    for _ in range(_WARM + _COUNT):
        began = time.perf_counter()
        connection.request("POST", "/hooks/claude/PostToolUse", _PAYLOAD, headers)
        answer = connection.getresponse()
        said = answer.read()
        times.append(time.perf_counter() - began)
        assert (answer.status, said) == (200, b"{}"), said
        if not keeps:
            connection.close()
    connection.close()
    return times[_WARM:]


def _p99(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]


def by_command() -> list[Figure]:
    """Measure the installed command with both clients, alternating with a bare interpreter."""
    with place() as here:
        token = json.loads(here.run("maestro", "session", "register", "--name", "worker", "--json"))["token"]
        payload = here.directory / "payload.json"
        payload.write_text(_PAYLOAD)
        cases = {"bare": lambda: here.run("python", "-c", "pass")}
        for client, program in _CLIENTS.items():
            cases[client] = lambda program=program: _hook(here, program, token, payload)
        middle = medians(cases, before={})
    note = ", ".join(f"{name} {taken * 1000:.1f} ms" for name, taken in middle.items())
    what = "`maestro hook` with nothing to say against `python -c pass`"
    return [
        Figure(f"{what}, Python client", middle["Python"] / middle["bare"], at_most=1.3, note=note),
        Figure(f"{what}, native client", middle["native"] / middle["bare"], at_most=0.3),
    ]


def _hook(here: Place, program: str, token: str, payload: Path) -> bytes:
    with payload.open("rb") as given:
        done = subprocess.run(
            [str(here.programs / program), "hook", "claude", "PostToolUse"],
            cwd=here.directory,
            env={**here.env, "MAESTRO_TOKEN": token},
            stdin=given,
            capture_output=True,
            check=True,
        )
    assert (done.stdout, done.stderr) == (b"", b""), done
    return done.stdout


def figures() -> list[Figure]:
    return [over_http(), *by_command()]
