"""A server that starts the real programs for a person: with the person's home and settings, an invalid key, and a
scripted model."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
from scripted_model import ScriptedModel, Seen

from agent_programs import screens
from agent_programs.base import KEY, Room
from agent_programs.person import MODELS, settle
from maestro.system import stray_processes
from maestro.testing.live import LiveServer

T = TypeVar("T")
Way = tuple[str, str]  # a tool and its driver
WAYS: tuple[Way, ...] = (
    ("claude", "protocol"),
    ("codex", "protocol"),
    ("gemini", "protocol"),
    ("claude", "terminal"),
    ("codex", "terminal"),
    ("gemini", "terminal"),
)
_SECONDS_MAX = 100.0  # gemini starts slowly, and resumes only in another minute
_LOGS_MAX = 8 * 1024 * 1024
_LOOKS_SECONDS = 0.05


@dataclass
class Stage:
    """A server, a person and a scripted model for a test of a tool with a driver."""

    tool: str
    room: Room
    model: ScriptedModel
    live: LiveServer
    api: httpx.Client
    driver: str = "protocol"

    @property
    def is_in_terminal(self) -> bool:
        return self.driver == "terminal"

    @property
    def is_told_by_hooks(self) -> bool:
        return self.is_in_terminal and self.tool != "codex"

    @property
    def model_waits(self) -> bool:
        """Return whether the model starts a command that waits for mail."""
        return self.is_in_terminal and self.tool == "gemini"

    def again(self) -> None:
        """Use the new address of the server after another start."""
        self.api.base_url = self.live.url

    def log_in(self) -> None:
        """Log the person in to claude with an invalid token: claude shows the end of a limit only after a login."""
        lasts = int((time.time() + 86_400) * 1000)
        login = {"accessToken": KEY, "refreshToken": KEY, "expiresAt": lasts, "subscriptionType": "max"}
        scopes = ["user:inference", "user:profile"]
        told = json.dumps({"claudeAiOauth": login | {"scopes": scopes}})
        (self.room.home / ".claude").mkdir(exist_ok=True)
        (self.room.home / ".claude" / ".credentials.json").write_text(told)
        self.live.stop()
        self.live.remove_variable("ANTHROPIC_API_KEY")
        self.live.start()
        self.again()

    def post(self, path: str, /, **body: Any) -> dict[str, Any]:
        answer = self.api.post(path, json=body)
        assert answer.status_code == 200, answer.text
        made: dict[str, Any] = answer.json()
        return made

    def get(self, path: str, /, **params: Any) -> dict[str, Any]:
        answer = self.api.get(path, params={"project": "vc", **params})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def task(self, title: str = "Write it") -> str:
        return str(self.post("/api/tasks", project="vc", title=title)["id"])

    def spawn(self, **wanted: Any) -> str:
        given = {
            "project": "vc",
            "tool": self.tool,
            "name": "worker",
            "path": str(self.room.work),
            **({"model": MODELS[self.tool], "driver": self.driver} if self.tool in MODELS else {}),
        }
        return str(self.post("/api/sessions/spawn", **(given | wanted))["id"])

    def session(self, session: str) -> dict[str, Any]:
        return self.get(f"/api/sessions/{session}")

    def prompt(self, session: str, text: str, **more: Any) -> httpx.Response:
        return self.api.post(f"/api/sessions/{session}/prompt", json={"text": text, **more})

    def asks(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get("/api/asks")["asks"]
        return found

    def answer(self, ask: str, said: str) -> None:
        self.post(f"/api/asks/{ask}/answer", answer=said)

    def mail(self, session: str, text: str, **more: Any) -> str:
        sent = self.post("/api/mail", project="vc", to=[session], subject="Mail", message=text, **more)
        return str(sent["id"])

    def receipt(self, message: str) -> str:
        found = self.get(f"/api/mail/{message}/status")["deliveries"]
        return str(found[0]["status"])

    def seen(self) -> list[Seen]:
        return self.model.seen(self.tool)

    def logs(self, session: str) -> str:
        """Return the text that a person reads, from the start: the amount of drawing depends on the machine."""
        text = str(self.get(f"/api/sessions/{session}/logs", limit=_LOGS_MAX)["text"])
        return screens.seen(text) if self.is_in_terminal else text

    def folder(self, session: str) -> Path:
        """Return the folder of the session's runner."""
        return self.live.home / "sessions" / session

    def until(self, look: Callable[[], T | None], what: str = "") -> T:
        """Wait until `look` returns a true value, and return the value."""
        ends = time.monotonic() + _SECONDS_MAX
        while not (found := look()):
            assert time.monotonic() < ends, f"{what or 'the condition'} did not happen in time\n{self.evidence()}"
            time.sleep(_LOOKS_SECONDS)
        return found

    def until_status(self, session: str, *wanted: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            now = self.session(session)
            return now if now["status"] in wanted else None

        return self.until(look, f"{session} {wanted}")

    def processes(self, session: str) -> list[int]:
        """Return the processes with the session's id in their environment."""
        mark = f"MAESTRO_SESSION_ID={session}".encode()
        return [pid for pid in _pids() if mark in _environment(pid)]

    def evidence(self) -> str:
        told = [str(one) for one in self.get("/api/sessions")["sessions"]]
        for folder in (self.live.home / "sessions").iterdir():
            for name in ("conversation.jsonl", "runner.log"):
                if (folder / name).exists():
                    told.append(f"--- {name}\n{(folder / name).read_text(errors='replace')[-6000:]}")
        told.append((self.live.home / "server.log").read_text()[-3000:])
        return "\n".join(told)


@contextmanager
def stage(tool: str, folder: Path, model: ScriptedModel, *, driver: str = "protocol") -> Iterator[Stage]:
    room = Room(folder / "person", folder / "vc")
    room.home.mkdir()
    subprocess.run(["git", "init", "-q", str(room.work)], check=True)
    address = model.script(tool)
    live = LiveServer(folder / "maestro", environment=settle(room, lambda _: address))
    live.start()
    headers = {"Authorization": f"Bearer {live.token}"}
    try:
        with httpx.Client(base_url=live.url, headers=headers, timeout=60) as api:
            assert api.post("/api/projects", json={"path": str(room.work), "name": "vc"}).status_code == 200
            yield Stage(tool, room, model, live, api, driver)
            _end_all(api)
    finally:
        live.stop()
        stray_processes.kill_marked(
            "HOME", str(room.home)
        )  # programs outlive a server, so those of a failed test would stay


def _end_all(api: httpx.Client) -> None:
    for one in api.get("/api/sessions", params={"project": "vc", "active": "true"}).json()["sessions"]:
        api.post(f"/api/sessions/{one['id']}/stop", json={})


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
