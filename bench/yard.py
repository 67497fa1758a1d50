"""A live server with a checkout, used over HTTP, on which benchmarks spawn programs."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from maestro.testing.live import LiveServer
from maestro.testing.workshop import Workshop


class Yard:
    """A project on a server, over HTTP."""

    def __init__(self, live: LiveServer, repo: Path) -> None:
        self.live = live
        self.repo = repo
        self.shop = Workshop(live, repo)
        self.project = self.post("/api/projects", {"path": str(repo), "name": "vc"})["project"]["id"]

    def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        return self._call("POST", path, json.dumps(body or {}))

    def get(self, path: str) -> Any:
        return self._call("GET", path, None)

    def spawn(self, *words: str) -> dict[str, Any]:
        body = {"project": self.project, "path": str(self.repo), "arguments": list(words)}
        made: dict[str, Any] = self.post("/api/sessions/spawn", body)
        return made

    def server_pid(self) -> int:
        assert self.live.process is not None
        return self.live.process.pid

    def note(self, session_id: str) -> dict[str, Any]:
        """Return the identity file of a session's runner, which names the processes of runner and program."""
        found: dict[str, Any] = json.loads((self.shop.runner_folder(session_id) / "runner.json").read_bytes())
        return found

    def _call(self, method: str, path: str, body: str | None) -> Any:
        connection = http.client.HTTPConnection(self.live.url.removeprefix("http://"))
        headers = {"Authorization": f"Bearer {self.live.token}", "Content-Type": "application/json"}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        said = json.loads(answer.read())
        connection.close()
        assert answer.status == 200, said
        return said


@contextmanager
def yard() -> Iterator[Yard]:
    """Yield a project on its own server. End all programs that are left."""
    with tempfile.TemporaryDirectory(prefix="maestro-yard-", ignore_cleanup_errors=True) as folder:
        repo, home = Path(folder) / "vc", Path(folder) / "data"
        repo.mkdir()
        home.mkdir(mode=0o700)
        git = ("git", "-C", str(repo), "-c", "user.name=dana", "-c", "user.email=dana@example.org")
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
        with LiveServer(home) as live:
            made = Yard(live, repo)
            yield made
            made.shop.close()


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
