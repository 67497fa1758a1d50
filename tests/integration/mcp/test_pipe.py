"""`maestro mcp` with real processes: whose it is, and what it does when the server goes away."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from maestro.store.layout import SOCKET
from maestro.testing.live import PYTHON_CLIENT, LiveServer
from maestro.testing.mcp import LEGACY, MODERN, connected_client, text_of
from maestro.testing.mcp_wire import tool_call_message
from maestro.testing.raw import FrameRelay

PATIENCE_SECONDS = 60

# An agent as one starts it by hand: two MCP servers, and a command from its shell.
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


def test_an_agent_started_by_hand_is_one_session(live: LiveServer, api: httpx.Client, project: Path) -> None:
    found = agent(live, project)
    first, second = (one["content"][0]["text"] for one in found["answers"])
    assert first.startswith("You are claude, worker in Maestro, project vc")
    assert second.startswith("You are claude, worker")
    assert (found["shell"]["role"], found["shell"]["name"]) == ("worker", "claude")
    assert (found["shell"]["session"]["tool"], found["shell"]["human"]) == (
        "claude",
        api.get("/api/whoami").json()["name"],
    )
    assert [one["name"] for one in api.get("/api/sessions", params={"project": "vc"}).json()["sessions"]] == [
        "claude"
    ]


def test_a_shell_is_no_agent_and_a_wrapper_is_none_either(live: LiveServer, api: httpx.Client, project: Path) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
    lines = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        tool_call_message("inbox", {}, 1),
    ]
    said = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    script = f"{shlex.join(PYTHON_CLIENT)} mcp; true"  # `true`: so that the shell stays

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


def test_where_there_is_no_project_every_call_says_what_to_do(live: LiveServer, tmp_path: Path) -> None:
    (nowhere := tmp_path / "nowhere").mkdir()
    found = agent(live, nowhere, "inbox")
    for answer in found["answers"]:
        assert answer["isError"] and "maestro init" in answer["content"][0]["text"]


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_where_there_is_no_project_all_there_could_be_is_listed(
    live: LiveServer, tmp_path: Path, mode: str
) -> None:
    async with connected_client(live, "stdio", mode, "", cwd=tmp_path) as agent:
        assert (await agent.list_tools()).tools
        assert (await agent.list_resources()).resources
        assert (await agent.list_resource_templates()).resource_templates


@pytest.mark.parametrize("env", [{}, {"MAESTRO_TOKEN": "mst_x"}])
def test_a_relay_starts_no_server(tmp_path: Path, env: dict[str, str]) -> None:
    """An agent starts the relay: a server started by the relay would have the agent's environment."""
    live = LiveServer(tmp_path / "none")
    refused = live.run_command("mcp", cwd=tmp_path, env=env)
    assert refused.returncode == 8 and b"no server answers" in refused.stderr
    assert b"maestro up" in refused.stderr
    assert not live.home.exists()


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_a_wait_outlives_the_server(live: LiveServer, tokens: dict[str, str], mode: str) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS), connected_client(live, "stdio", mode, tokens["w"]) as worker:
        assert "You are w" in text_of(await worker.call_tool("whoami", {}))
        waits = asyncio.create_task(worker.call_tool("wait", {"timeout": 50}))
        await asyncio.sleep(0.3)
        await asyncio.to_thread(live.kill)
        await asyncio.to_thread(live.start)
        letter = {"to": ["w"], "project": "vc", "subject": "Hi", "message": "There."}
        headers = {"Authorization": f"Bearer {live.token}"}
        async with httpx.AsyncClient(headers=headers) as api:
            assert (await api.post(f"{live.url}/api/mail", json=letter)).status_code == 200
        assert "  | There." in text_of(await waits)
        assert "You are w" in text_of(await worker.call_tool("whoami", {}))


def test_what_was_under_way_is_done_once(live: LiveServer, tokens: dict[str, str], api: httpx.Client) -> None:
    """The connection is cut just before the answer; the relay asks another server the same again."""
    front = FrameRelay(live.home / "front.sock", live.home / SOCKET)
    cuts = iter([True])

    def cut(number: int, frame: tuple[bytes, bytes]) -> bytes | None:
        return b"" if b'"id":1,' in frame[1] and next(cuts, False) else None

    front.cut_at = cut
    front.start_listening()
    environment = live.environment(MAESTRO_TOKEN=tokens["boss"], MAESTRO_SOCKET=str(front.path))
    pipe = subprocess.Popen([*PYTHON_CLIENT, "mcp"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert pipe.stdin and pipe.stdout
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
    for message in (
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        tool_call_message("task_create", {"title": "Once"}, 1),
    ):
        pipe.stdin.write(json.dumps(message).encode() + b"\n")
    pipe.stdin.flush()
    answers = [json.loads(pipe.stdout.readline()) for _ in range(2)]
    assert [one["id"] for one in answers] == [0, 1]
    assert "vc#1" in answers[1]["result"]["content"][0]["text"]
    # The first was told that this is for its own side to do.
    assert [one.variables.get(b"MAESTRO_MCP_RESENT") for one in front.requests] == [None, b"[]", b"[1]"]
    pipe.communicate(timeout=PATIENCE_SECONDS)
    front.stop_listening()
    assert [task["title"] for task in api.get("/api/tasks", params={"project": "vc"}).json()["tasks"]] == ["Once"]
