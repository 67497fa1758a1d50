"""Durable writes over HTTP compared with a bare route, and reads during many writes."""

from __future__ import annotations

import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.report import Figure
from maestro.server.settings import ServerSettings

ROUNDS = 5
SECONDS = 2.0
CONNECTIONS = 64
# The benchmarks do not measure limits, so every rate and quota is switched off.
UNLIMITED = "".join(
    f"{name} = 0\n" for name in ServerSettings.__struct_fields__ if name.endswith(("_per_minute", "_per_day"))
)


@contextmanager
def running_server(settings: str = UNLIMITED) -> Iterator[dict[str, Any]]:
    """Start a server with a bare route in its own process. `settings` is the content of its config.toml."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        (Path(folder) / "config.toml").write_text(settings)
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.http_server", folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin and process.stdout
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.stdin.close()
            process.wait(30)


def request(server: dict[str, Any], path: str, body: dict[str, Any], *, token: str = "") -> str:
    """Return a complete POST request, with the person's token or another token."""
    text = json.dumps(body)
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token or server['token']}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}"
    )


def post(server: dict[str, Any], path: str, body: dict[str, Any]) -> Any:
    """Send a POST request and return the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server["port"])
    headers = {"Authorization": f"Bearer {server['token']}", "Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(body), headers)
    answer = connection.getresponse()
    said = json.loads(answer.read())
    connection.close()
    assert answer.status == 200, said
    return said


def start_load(
    server: dict[str, Any], requests: list[str], seconds: float, *, connections: int = CONNECTIONS
) -> subprocess.Popen[str]:
    """Start a load with this number of connections. Each connection repeats one of the requests."""
    order = {
        "host": "127.0.0.1",
        "port": server["port"],
        "requests": requests,
        "connections": connections,
        "seconds": seconds,
    }
    load = subprocess.Popen(
        [sys.executable, "-m", "bench.load"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert load.stdin
    load.stdin.write(json.dumps(order))
    load.stdin.close()
    return load


def rate_of(load: subprocess.Popen[str]) -> float:
    assert load.stdout
    answer = json.loads(load.stdout.read())
    load.wait()
    assert answer["bad"] == 0, f"{answer['bad']} requests failed"
    return float(answer["rate"])


def writes() -> Figure:
    """Compare the creation of tasks over HTTP with a route that does nothing."""
    durable, bare = [], []
    with running_server() as server:
        task = {"title": "A task", "project": server["project"]}
        for _ in range(ROUNDS):
            bare.append(rate_of(start_load(server, [request(server, "/bare", task)], SECONDS)))
            durable.append(rate_of(start_load(server, [request(server, "/api/tasks", task)], SECONDS)))
    ratio = statistics.median(ours / theirs for ours, theirs in zip(durable, bare, strict=True))
    note = f"{statistics.median(durable):,.0f}/s durable, {statistics.median(bare):,.0f}/s bare"
    return Figure(
        "durable writes over HTTP, 64 connections, against a bare Starlette route", ratio, at_least=0.45, note=note
    )


def reads_under_writes() -> Figure:
    """Compare a page of tasks during 64 busy writers with a page on an idle server, at p99."""
    idle: list[float] = []
    busy: list[float] = []
    with running_server() as server:
        create = [request(server, "/api/tasks", {"title": "A task", "project": server["project"]})]
        rate_of(start_load(server, create, 1.0))
        for _ in range(3):
            idle += _page_times(server, 400)
            load = start_load(server, create, 4.0)
            time.sleep(0.5)
            busy += _page_times(server, 400, until=time.perf_counter() + 3.0)
            rate_of(load)
    p99_idle, p99_busy = _p99(idle), _p99(busy)
    note = f"p99 {p99_busy * 1000:.1f} ms busy ({len(busy)} reads), {p99_idle * 1000:.1f} ms idle"
    return Figure(
        "a page of tasks while 64 writers are busy, p99, against an idle server",
        p99_busy / p99_idle,
        at_most=5,
        note=note,
    )


def _page_times(server: dict[str, Any], count: int, until: float = float("inf")) -> list[float]:
    connection = http.client.HTTPConnection("127.0.0.1", server["port"])
    headers = {"Authorization": f"Bearer {server['token']}"}
    times = []
    for _ in range(count):
        if time.perf_counter() > until:
            break
        began = time.perf_counter()
        connection.request("GET", f"/api/tasks?project={server['project']}", headers=headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
        times.append(time.perf_counter() - began)
    connection.close()
    return times


def _p99(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]
