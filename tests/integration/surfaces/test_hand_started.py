"""An agent that the person started by hand becomes one session, which its first MCP server registers."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from maestro.surfaces.hand_started import default_name
from maestro.testing.live import PYTHON_CLIENT, LiveServer
from maestro.testing.mcp_wire import tool_call_message

PATIENCE_SECONDS = 60

# An agent that a person starts. The agent starts two MCP servers, and a command from its shell.
AGENT = """
import json, subprocess, sys
program, answers = json.loads(sys.argv[1]), []
for name in ("claude-code", "claude-code"):
    pipe = subprocess.Popen([*program, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    def say(message):
        pipe.stdin.write(json.dumps({"jsonrpc": "2.0"} | message) + "\\n")
        pipe.stdin.flush()
    info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}
    say({"id": 0, "method": "initialize", "params": info})
    pipe.stdout.readline()
    say({"method": "notifications/initialized"})
    say({"id": 1, "method": "tools/call", "params": {"name": sys.argv[2], "arguments": json.loads(sys.argv[3])}})
    answers.append(json.loads(pipe.stdout.readline())["result"])
    pipe.stdin.close()
    pipe.wait()
shell = subprocess.run([*program, "whoami", "--json"], capture_output=True, text=True)
print(json.dumps({"answers": answers, "shell": json.loads(shell.stdout or "{}")}))
"""


def agent(live: LiveServer, folder: Path, tool: str = "whoami", **arguments: Any) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", AGENT, json.dumps(PYTHON_CLIENT), tool, json.dumps(arguments)],
        cwd=folder,
        env=live.environment(),
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_an_agent_with_two_mcp_servers_becomes_one_session(
    live: LiveServer, api: httpx.Client, project: Path
) -> None:
    found = agent(live, project)
    first, second = (answer["content"][0]["text"] for answer in found["answers"])
    assert first.startswith("You are claude, worker in Maestro, project vc")
    assert second.startswith("You are claude, worker")
    assert (found["shell"]["role"], found["shell"]["name"]) == ("worker", "claude")
    assert (found["shell"]["session"]["tool"], found["shell"]["human"]) == (
        "claude",
        api.get("/api/whoami").json()["name"],
    )
    assert [session["name"] for session in api.get("/api/sessions", params={"project": "vc"}).json()["sessions"]] == [
        "claude"
    ]


def test_the_shell_of_a_person_is_refused_and_a_wrapper_shell_is_skipped(
    live: LiveServer, api: httpx.Client, project: Path
) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
    lines = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        tool_call_message("inbox", {}, 1),
    ]
    said = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    script = f"{shlex.join(PYTHON_CLIENT)} mcp; true"  # `true` keeps the shell alive

    def answer(*, leads: bool) -> dict[str, Any]:
        shell = subprocess.Popen(
            ["sh", "-c", script],
            cwd=project,
            env=live.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=leads,
        )
        assert shell.stdin and shell.stdout
        shell.stdin.write(said)
        shell.stdin.flush()
        answers = [json.loads(shell.stdout.readline()) for _ in range(2)]
        shell.communicate(timeout=PATIENCE_SECONDS)
        found: dict[str, Any] = answers[1]["result"]
        return found

    refused = answer(leads=True)
    assert refused["isError"] and "A shell, not an agent" in refused["content"][0]["text"]
    assert api.get("/api/sessions", params={"project": "vc"}).json()["sessions"] == []
    assert not answer(leads=False)["isError"]
    (session,) = api.get("/api/sessions", params={"project": "vc"}).json()["sessions"]
    assert session["pid"] == os.getpid()


def test_an_agent_outside_of_any_project_gets_the_remedy_with_every_call(live: LiveServer, tmp_path: Path) -> None:
    (nowhere := tmp_path / "nowhere").mkdir()
    found = agent(live, nowhere, "inbox")
    for answer in found["answers"]:
        assert answer["isError"] and "maestro init" in answer["content"][0]["text"]


@pytest.mark.parametrize(
    ("tool", "client", "name"),
    [
        ("claude", "claude-code", "claude"),
        (None, "My IDE!", "My-IDE"),
        (None, "human", "assistant"),
        (None, "", "assistant"),
    ],
)
def test_an_agent_is_named_after_its_tool_else_after_its_client(tool: str | None, client: str, name: str) -> None:
    assert default_name(tool, client) == name
