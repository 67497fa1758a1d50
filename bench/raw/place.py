"""A server of this tree without limits, its installed commands, and HTTP requests to it."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from maestro.server.settings import ServerSettings
from maestro.testing.live import LiveServer

PROGRAMS = Path(sys.executable).parent
LOAD = Path(__file__).resolve().parent.parent / "load.py"
# The limits differ between trees. Every rate and quota that this tree can set is switched off.
LIMITS = tuple(name for name in ServerSettings.__struct_fields__ if name.endswith(("_per_minute", "_per_day")))


@dataclass(frozen=True)
class Place:
    """A project on its own server."""

    live: LiveServer
    directory: Path
    project: str

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Send a POST request of the person, and return the answer."""
        return post(self.live.url, self.live.token, path, body)

    def register(self, name: str) -> dict[str, Any]:
        """Register a session and return its id and token."""
        made: dict[str, Any] = self.post("/api/sessions", {"name": name, "project": self.project})
        return made

    def run(self, *words: str, token: str = "", stdin: str = "") -> bytes:
        """Run an installed program to its end, and return its output."""
        extra = {"MAESTRO_TOKEN": token} if token else {}
        done = subprocess.run(
            [str(PROGRAMS / words[0]), *words[1:]],
            cwd=self.directory,
            env=self.live.environment(**extra),
            input=stdin.encode(),
            check=True,
            capture_output=True,
        )
        return done.stdout


@contextmanager
def opened_place() -> Iterator[Place]:
    """Start a server on the disk of the tree, create a project, and yield the place."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        home, directory = Path(folder) / "data", Path(folder) / "vc"
        home.mkdir(mode=0o700)
        directory.mkdir()
        (home / "config.toml").write_text("".join(f"{name} = 0\n" for name in LIMITS))
        with LiveServer(home) as live:
            body = {"path": str(directory), "name": "vc"}
            project = post(live.url, live.token, "/api/projects", body)["project"]["id"]
            yield Place(live, directory, project)
            live.stop()


def post(url: str, token: str, path: str, body: dict[str, Any]) -> Any:
    """Send a POST request, and return the answer."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(body), headers)
    answer = connection.getresponse()
    text = json.loads(answer.read())
    connection.close()
    assert answer.status == 200, text
    return text


def load_rate(place: Place, requests: list[str], *, connections: int, seconds: float) -> float:
    """Return the answers per second to connections that repeat requests from a process of their own."""
    where = urlsplit(place.live.url)
    order = {
        "host": where.hostname,
        "port": where.port,
        "requests": requests,
        "connections": connections,
        "seconds": seconds,
    }
    done = subprocess.run(
        [sys.executable, str(LOAD)], input=json.dumps(order), capture_output=True, text=True, check=True
    )
    answer = json.loads(done.stdout)
    assert answer["bad"] == 0, f"{answer['bad']} requests failed"
    return float(answer["rate"])


def times_of(work: Callable[[], object], count: int) -> list[float]:
    """Return the seconds of each of `count` calls."""
    times = []
    for _ in range(count):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return times
