"""`maestro mcp` over a real pipe is a relay that outlives the server and starts no server."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import httpx
import pytest

from maestro.store.layout import SOCKET
from maestro.testing.live import PYTHON_CLIENT, LiveServer
from maestro.testing.mcp import LEGACY, MODERN, connected_client, text_of
from maestro.testing.mcp_wire import tool_call_message
from maestro.testing.raw import FrameRelay

PATIENCE_SECONDS = 60


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_a_client_outside_of_any_project_still_gets_all_lists(
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
async def test_a_wait_continues_after_a_restart_of_the_server(
    live: LiveServer, tokens: dict[str, str], mode: str
) -> None:
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


def test_a_call_that_is_sent_again_is_carried_out_once(
    live: LiveServer, tokens: dict[str, str], api: httpx.Client
) -> None:
    """Cut the connection just before the answer: the relay sends the request again."""
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
    # The first connection is only for the relay's own request.
    assert [one.variables.get(b"MAESTRO_MCP_RESENT") for one in front.requests] == [None, b"[]", b"[1]"]
    pipe.communicate(timeout=PATIENCE_SECONDS)
    front.stop_listening()
    assert [task["title"] for task in api.get("/api/tasks", params={"project": "vc"}).json()["tasks"]] == ["Once"]
