"""Hooks reach a real server over HTTP with a session's token, and by the command in a child process of an agent."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from maestro.testing.live import PYTHON_CLIENT, LiveServer

# A process that acts as an agent: it runs the command that each line of its input names, and prints the result.
AGENT = """
import json, subprocess, sys
for line in sys.stdin:
    words, payload = json.loads(line)
    ran = subprocess.run(words, input=payload.encode(), capture_output=True)
    print(json.dumps([ran.returncode, ran.stdout.decode(), ran.stderr.decode()]), flush=True)
"""


class Agent:
    def __init__(self, live: LiveServer, work: Path) -> None:
        self.work = work
        self.process = subprocess.Popen(
            [sys.executable, "-c", AGENT],
            cwd=work,
            env=live.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def runs(self, *words: str, payload: str = "") -> tuple[int, str, str]:
        return self.runs_program(*PYTHON_CLIENT, *words, payload=payload)

    def runs_program(self, *words: str, payload: str = "") -> tuple[int, str, str]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps([words, payload]) + "\n")
        self.process.stdin.flush()
        code, out, err = json.loads(self.process.stdout.readline())
        return code, out, err

    def fires(self, event: str, **fields: Any) -> Any:
        code, out, err = self.runs("hook", "claude", event, payload=json.dumps({"cwd": str(self.work), **fields}))
        assert (code, err) == (0, "")
        return json.loads(out) if out else None

    def close(self) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


@pytest.fixture
def repo(make_repo: Callable[..., Path]) -> Path:
    return make_repo("vc")


@pytest.fixture
def api(live: LiveServer, repo: Path) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {live.token}"}
    with httpx.Client(base_url=live.url, headers=headers, timeout=60) as made:
        assert made.post("/api/projects", json={"path": str(repo), "name": "vc"}).status_code == 200
        yield made


@pytest.fixture
def agent(live: LiveServer, repo: Path, api: httpx.Client) -> Iterator[Agent]:
    made = Agent(live, repo)
    yield made
    made.close()


def sessions(api: httpx.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.get("/api/sessions", params={"project": "vc"}).json()["sessions"]
    return found


def send(api: httpx.Client, **fields: Any) -> str:
    letter = {"project": "vc", "to": ["claude"], "subject": "News", "message": "Look here."} | fields
    made: str = api.post("/api/mail", json=letter).json()["id"]
    return made


def receipt(api: httpx.Client, message: str) -> tuple[str, str]:
    (one,) = api.get(f"/api/mail/{message}/status").json()["deliveries"]
    return one["status"], one["via"]


def until(is_so: Callable[[], bool]) -> None:
    """Wait until a condition is true, and fail after a time limit."""
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_agent_that_was_started_by_hand_is_one_session_for_hooks_and_commands(
    agent: Agent, api: httpx.Client
) -> None:
    told = agent.fires("SessionStart", source="startup")
    assert "You are claude" in told["hookSpecificOutput"]["additionalContext"]
    agent.fires("UserPromptSubmit")
    (session,) = sessions(api)
    assert (session["name"], session["tool"], session["pid"]) == ("claude", "claude", agent.process.pid)
    assert (session["status"], session["status_source"]) == ("working", "hook")
    code, out, _ = agent.runs("whoami", "--json")
    assert code == 0 and json.loads(out)["session"]["id"] == session["id"]
    sent = send(api)
    assert "Look here." in agent.fires("PostToolUse")["hookSpecificOutput"]["additionalContext"]
    assert receipt(api, sent) == ("delivered", "hook")
    agent.fires("Stop")
    assert receipt(api, sent) == ("read", "hook")
    assert len(sessions(api)) == 1
    agent.fires("SessionEnd", reason="other")
    assert sessions(api)[0]["status"] == "stopped"


def test_a_hook_that_cannot_be_answered_is_recorded_and_prints_nothing(agent: Agent, api: httpx.Client) -> None:
    assert agent.runs("hook", "claude", "Stop", payload="{no") == (0, "", "")
    assert agent.runs("hook", "vim", "Stop", payload="{}") == (0, "", "")
    assert agent.runs("hook") == (0, "", "")
    noted = {one["event"]: one["problem"] for one in api.get("/api/hooks").json()["hooks"]}
    assert "cannot be read" in noted["Stop"]


def test_a_hook_outside_of_any_project_creates_no_session(agent: Agent, api: httpx.Client, tmp_path: Path) -> None:
    for _ in range(2):
        assert agent.fires("SessionStart", cwd=str(tmp_path)) is None
    assert sessions(api) == []
    (noted,) = api.get("/api/hooks").json()["hooks"]
    assert noted["fired_at"] and "project" in noted["problem"]


def test_the_person_at_a_terminal_does_not_become_a_session(live: LiveServer, repo: Path, api: httpx.Client) -> None:
    payload = repo / "payload.json"
    payload.write_text(json.dumps({"cwd": str(repo)}))
    line = f"{shlex.join([*PYTHON_CLIENT, 'hook', 'claude', 'Stop'])} < {shlex.quote(str(payload))}; echo over"
    pid, terminal = pty.fork()
    if not pid:
        os.execve("/bin/sh", ["sh", "-c", line], live.environment())
    said = b""
    with contextlib.suppress(OSError):  # a read from a closed terminal is an error
        while piece := os.read(terminal, 4096):
            said += piece
    os.close(terminal)
    os.waitpid(pid, 0)
    assert said.split() == [b"over"]
    assert sessions(api) == []
    (noted,) = api.get("/api/hooks").json()["hooks"]
    assert "A shell, not an agent" in noted["problem"]


def test_a_shell_that_a_program_starts_for_its_hook_is_not_taken_for_the_person(
    agent: Agent, api: httpx.Client
) -> None:
    line = shlex.join([*PYTHON_CLIENT, "hook", "claude", "UserPromptSubmit"])
    agent.runs_program("setsid", "--wait", "sh", "-c", f"{line}; true", payload=json.dumps({"cwd": str(agent.work)}))
    (session,) = sessions(api)
    assert session["tool"] == "claude" and session["pid"] != 1


def test_a_self_test_of_a_hook_creates_no_session_and_no_record(agent: Agent, api: httpx.Client) -> None:
    said = agent.fires("PostToolUse", maestro_test="n1")
    assert said == {"maestro": "ok", "tool": "claude", "event": "PostToolUse", "test": "n1"}
    assert sessions(api) == []
    assert api.get("/api/hooks").json()["hooks"] == []


@pytest.fixture
def token(api: httpx.Client) -> str:
    made: str = api.post("/api/sessions", json={"project": "vc", "name": "claude", "tool": "claude"}).json()["token"]
    return made


def post(live: LiveServer, token: str, path: str, content: bytes = b"{}", **headers: str) -> httpx.Response:
    named = {"Authorization": f"Bearer {token}", **headers}
    return httpx.post(f"{live.url}/hooks/{path}", content=content, headers=named, timeout=60)


def test_hooks_over_http_deliver_mail_and_set_the_status(live: LiveServer, api: httpx.Client, token: str) -> None:
    quiet = post(live, token, "claude/PostToolUse")
    assert (quiet.status_code, quiet.content) == (200, b"{}")
    sent = send(api, priority="critical")
    refused = post(live, token, "claude/PreToolUse", b'{"tool_name": "Bash", "tool_input": {"command": "ls"}}').json()
    assert refused["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert "Look here." in refused["hookSpecificOutput"]["permissionDecisionReason"]
    until(
        lambda: receipt(api, sent) == ("delivered", "hook")
    )  # the server records the delivery after it has sent the answer
    post(live, token, "claude/Stop")
    assert receipt(api, sent) == ("read", "hook")
    (session,) = sessions(api)
    assert (session["status"], session["status_source"]) == ("idle", "hook")


@pytest.mark.parametrize(
    ("path", "content", "status"),
    [
        ("claude/PostToolUse", b"{no", 200),
        ("claude/PostToolUse", b"", 200),
        ("claude/Unheard", b"{}", 200),
        ("vim/Stop", b"{}", 404),
        ("", b"{}", 404),
        ("claude/Stop/more", b"{}", 200),
    ],
)
def test_an_invalid_hook_over_http_gets_an_empty_answer_or_not_found(
    live: LiveServer, token: str, path: str, content: bytes, status: int
) -> None:
    answer = post(live, token, path, content)
    assert answer.status_code == status
    assert status != 200 or answer.content == b"{}"


def test_only_sessions_may_send_hooks_over_http(live: LiveServer, api: httpx.Client, token: str) -> None:
    assert post(live, "", "claude/Stop", Authorization="Basic x").status_code == 401
    assert post(live, "mst_wrong", "claude/Stop").status_code == 401
    assert post(live, live.token, "claude/Stop").status_code == 403
    assert post(live, token, "claude/Stop", Origin="http://elsewhere.example").status_code == 403
    assert httpx.get(f"{live.url}/hooks/claude/Stop").status_code == 405
