"""A server without memory, descriptors or disk space names the cause to the caller and in its log."""

from __future__ import annotations

import contextlib
import json
import re
import resource
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from maestro.core import limits
from maestro.testing import disks
from maestro.testing.live import LiveServer
from maestro.testing.supervised import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="prlimit and /proc are Linux's")
MiB = 1024 * 1024
LARGE_BODIES = 200
CLIENTS = 20
LARGE_BODY_BYTES = 10 * MiB
GROWTH_BYTES_MAX = 50 * MiB


def pid_of(live: LiveServer) -> int:
    assert live.process is not None
    return live.process.pid


def field(live: LiveServer, name: str) -> int:
    """Return a memory size of the server from /proc, in bytes."""
    found = re.search(rf"^{name}:\s+(\d+) kB", Path(f"/proc/{pid_of(live)}/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def log_of(live: LiveServer) -> str:
    return (live.home / "server.log").read_text()


def lines_with(live: LiveServer, code: str) -> list[str]:
    return [line for line in log_of(live).splitlines() if code in line]


@contextlib.contextmanager
def only_so_many_files(live: LiveServer, count: int) -> Iterator[None]:
    before = resource.prlimit(pid_of(live), resource.RLIMIT_NOFILE)
    resource.prlimit(pid_of(live), resource.RLIMIT_NOFILE, (count, before[1]))
    yield
    with contextlib.suppress(ProcessLookupError):
        resource.prlimit(pid_of(live), resource.RLIMIT_NOFILE, before)


@contextlib.contextmanager
def only_so_much_memory(live: LiveServer, more: int) -> Iterator[None]:
    before = resource.prlimit(pid_of(live), resource.RLIMIT_AS)
    resource.prlimit(pid_of(live), resource.RLIMIT_AS, (field(live, "VmSize") + more, before[1]))
    yield
    resource.prlimit(pid_of(live), resource.RLIMIT_AS, before)


def test_a_server_without_descriptors_refuses_new_connections_and_serves_open_connections(
    live: LiveServer, connect: Any, init: Any
) -> None:
    api = connect(live)
    project = init(api, "vc")
    used = len(list(Path(f"/proc/{pid_of(live)}/fd").iterdir()))
    address = (urlsplit(live.url).hostname, urlsplit(live.url).port)
    with only_so_many_files(live, used + limits.descriptors_reserved + 10), contextlib.ExitStack() as stack:
        for _ in range(10):
            held = stack.enter_context(socket.create_connection(address))
            held.sendall(b"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        with pytest.raises(Exception, match="out_of_descriptors") as caught:
            connect(live).call("GET", "/api/status")
        assert caught.value.status == 503  # type: ignore[attr-defined]
        assert caught.value.body["retryable"] and "ulimit" in caught.value.body["hint"]  # type: ignore[attr-defined]
        done = live.run_command("task", "list", "--json", "--project", project)
        assert done.returncode == 1 and json.loads(done.stderr)["code"] == "out_of_descriptors", done
        api.call("POST", "/api/tasks", project=project, title="a connection that was there goes on")
    assert connect(live).call("GET", "/api/status")["pid"] == pid_of(live)
    assert lines_with(live, "out_of_descriptors") and "Traceback" not in log_of(live)


def test_down_works_without_descriptors(live: LiveServer) -> None:
    with only_so_many_files(live, limits.descriptors_reserved):
        assert live.run_command("task", "list").returncode == 1
        assert live.run_command("down").returncode == 0
        assert live.process is not None
        live.process.wait(30)


def test_a_server_without_memory_refuses_large_requests_and_serves_small_requests(
    live: LiveServer, connect: Any, init: Any
) -> None:
    api = connect(live)
    project = init(api, "vc")
    task = api.call("POST", "/api/tasks", project=project, title="t")["id"]
    large = "A" * (20 * MiB)
    with only_so_much_memory(live, 16 * MiB):
        with pytest.raises(Exception, match="out_of_memory") as caught:
            api.call("POST", f"/api/tasks/{task}/documents", title="d", content=large)
        assert caught.value.status == 503  # type: ignore[attr-defined]
        assert caught.value.body["retryable"]  # type: ignore[attr-defined]
        api.call("POST", "/api/tasks", project=project, title="small requests go on")
    assert api.task(task)["documents"] == []
    api.call("POST", f"/api/tasks/{task}/documents", title="d", content=large)
    assert lines_with(live, "out_of_memory") and "Traceback" not in log_of(live)


def test_many_refused_writes_on_a_full_disk_leave_few_log_lines(tmp_path: Path, connect: Any, init: Any) -> None:
    with contextlib.ExitStack() as stack:
        try:
            disk = stack.enter_context(disks.mounted_disk(tmp_path / "disk", megabytes=4))
        except disks.CannotMount as problem:
            pytest.skip(f"a small disk cannot be mounted here: {problem}")
        live = LiveServer(disk.folder / "home")
        live.log = tmp_path / "server.log"
        stack.enter_context(live)
        api = connect(live)
        project = init(api, "vc")
        disk.fill()
        refused = 0
        while refused < 200:
            try:
                api.call("POST", "/api/tasks", project=project, title="t")
            except Exception as error:  # noqa: BLE001 (checked below)
                assert error.body["code"] == "storage_full", error  # type: ignore[attr-defined]
                refused += 1
        live.stop()
        lines = [line for line in live.log.read_text().splitlines() if "storage_full" in line]
        counted = sum(int(found[1]) for line in lines if (found := re.search(r"refused (\d+) request", line)))
        assert counted == refused
        assert len(lines) <= 30, "the log has more than about one line per second"
        assert "Traceback" not in live.log.read_text()


@pytest.mark.slow
def test_the_memory_of_large_bodies_is_released(live: LiveServer, connect: Any, init: Any) -> None:
    api = connect(live)
    project = init(api, "vc")
    task = api.call("POST", "/api/tasks", project=project, title="t")["id"]
    long, many = "A" * LARGE_BODY_BYTES, ["A"] * (LARGE_BODY_BYTES // 4)
    requests = [
        (f"/api/tasks/{task}/documents", json.dumps({"title": "d", "content": long}).encode()),
        (
            "/api/tasks",
            json.dumps({"project": project, "title": "t", "x": long}).encode(),
        ),  # `x` is not a field of a task
        ("/api/tasks", json.dumps({"project": project, "title": "t", "x": many}).encode()),
    ]

    def send(first: int) -> None:
        api = connect(live)
        for number in range(first, first + LARGE_BODIES // CLIENTS):
            api.send("POST", *requests[number % len(requests)])

    before = field(live, "VmRSS")
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(send, range(CLIENTS)))
    wait_until(lambda: field(live, "VmRSS") < before + GROWTH_BYTES_MAX, what="the release of the memory")
