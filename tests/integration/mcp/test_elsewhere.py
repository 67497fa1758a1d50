"""`maestro mcp` with nothing but MAESTRO_SERVER_URL and a token: the same over TCP."""

from __future__ import annotations

import asyncio
import json
import subprocess
from typing import Any

import httpx
import pytest

from maestro.testing.live import PYTHON_CLIENT, LiveServer
from maestro.testing.mcp import LEGACY, MODERN, connected_client, text_of

# The client warns of what 2026-07-28 no longer has.
pytestmark = pytest.mark.filterwarnings("ignore:.*removed as of 2026-07-28")

PATIENCE_SECONDS = 60
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}


def spoken(live: LiveServer, *messages: dict[str, Any], **variables: str) -> subprocess.CompletedProcess[bytes]:
    """What comes of some messages and the end of input."""
    environment = live.environment(MAESTRO_HOME="/nowhere", MAESTRO_SERVER_URL=live.url) | variables
    lines = b"".join(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n" for message in messages)
    return subprocess.run(
        [*PYTHON_CLIENT, "mcp"],
        env=environment,
        input=lines,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_tools_resources_waits_and_changes(live: LiveServer, tokens: dict[str, str], mode: str) -> None:
    heard: list[Any] = []
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        connected_client(live, "elsewhere", mode, tokens["w"], heard=heard.append) as worker,
        connected_client(live, "elsewhere", mode, tokens["boss"]) as boss,
    ):
        assert "spawn" not in [tool.name for tool in (await worker.list_tools()).tools]
        assert "You are w" in text_of(await worker.call_tool("whoami", {}))
        if mode == LEGACY:
            await worker.subscribe_resource("maestro://inbox")
        waits = asyncio.create_task(worker.call_tool("wait", {"timeout": 50}))
        await asyncio.sleep(0.2)
        letter = {"to": ["w"], "subject": "Hi", "message": "There."}
        message = text_of(await boss.call_tool("send", letter)).split()[0]
        assert "  | There." in text_of(await waits)
        assert "no mail" in text_of(await worker.call_tool("inbox", {}))
        assert "w  read" in text_of(await boss.call_tool("mail", {"action": "status", "id": message}))
        (content,) = (await worker.read_resource("maestro://primer")).contents
        assert "You are w" in content.text
        while mode == LEGACY and not heard:
            text_of(await boss.call_tool("send", letter))  # the first may have been before its stream was open
            await asyncio.sleep(0.2)


async def test_a_wait_outlives_the_server(live: LiveServer, tokens: dict[str, str]) -> None:
    port = int(live.url.rpartition(":")[2])
    async with asyncio.timeout(PATIENCE_SECONDS), connected_client(live, "elsewhere", LEGACY, tokens["w"]) as worker:
        waits = asyncio.create_task(worker.call_tool("wait", {"timeout": 50}))
        await asyncio.sleep(0.3)
        await asyncio.to_thread(live.kill)
        await asyncio.to_thread(live.start, port=port)
        letter = {"to": ["w"], "project": "vc", "subject": "Hi", "message": "There."}
        async with httpx.AsyncClient(headers={"Authorization": f"Bearer {live.token}"}) as api:
            assert (await api.post(f"{live.url}/api/mail", json=letter)).status_code == 200
        assert "  | There." in text_of(await waits)


def test_what_is_missing_or_wrong_is_said(live: LiveServer, tokens: dict[str, str]) -> None:
    hello = {"id": 0, "method": "initialize", "params": HELLO}
    without = spoken(live, hello)
    assert without.returncode == 2 and b"set MAESTRO_TOKEN" in without.stderr
    odd = spoken(live, hello, MAESTRO_TOKEN="x", MAESTRO_SERVER_URL="somewhere")
    assert odd.returncode == 2 and b"not a server's address" in odd.stderr
    forged = spoken(live, hello, MAESTRO_TOKEN="mst_none")
    assert "token is not valid" in json.loads(forged.stdout)["error"]["message"]
    ready = {"method": "notifications/initialized"}
    good = spoken(live, hello, ready, {"id": 1, "method": "tools/list"}, MAESTRO_TOKEN=tokens["w"])
    answers = [json.loads(line) for line in good.stdout.splitlines()]
    assert [one["id"] for one in answers] == [0, 1] and answers[1]["result"]["tools"]
