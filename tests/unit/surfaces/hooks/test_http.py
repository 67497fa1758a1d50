"""Hooks over HTTP get an answer with a status, and failures and limits are handled."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.operations import sessions
from maestro.server.app import Server
from maestro.surfaces.hooks.answers import HookAnswers
from maestro.surfaces.hooks.http import HookEndpoint
from maestro.surfaces.rest.guard import HeaderGuard


class Records:
    """A record of the failed hooks."""

    def __init__(self) -> None:
        self.failed: list[tuple[str, str, str]] = []

    def record_firing(self, tool: str, event: str) -> None: ...

    def record_failure(self, tool: str, event: str, problem: str) -> None:
        self.failed.append((tool, event, problem))


@pytest.fixture
def records() -> Records:
    return Records()


@pytest.fixture
async def client(server: Server, dana: Caller, vc: str, records: Records) -> AsyncIterator[httpx.AsyncClient]:
    registration = sessions.RegisterSession(project=vc, name="w")
    token = (await server.call(sessions.REGISTER, registration, caller=dana)).token
    hooks = HookAnswers(server.parts.hooks.handler, records)
    endpoint = HookEndpoint(server, hooks, guard=HeaderGuard([]).check_headers)
    transport = httpx.ASGITransport(app=endpoint)
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as made:
        yield made


async def test_a_hook_over_http_is_answered(client: httpx.AsyncClient) -> None:
    answer = await client.post("/hooks/claude/SessionStart", json={"source": "startup"})
    assert answer.status_code == 200 and "You are w" in answer.text
    empty = await client.post("/hooks/claude/NoSuchEvent", json={})
    assert (empty.status_code, empty.json()) == (200, {})


async def test_a_hook_over_http_must_be_a_post_request(client: httpx.AsyncClient) -> None:
    answer = await client.get("/hooks/claude/Stop")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Authorization": ""}, 401), ({"Authorization": "Bearer mst_none"}, 401), ({"Host": "evil.example"}, 403)],
)
async def test_a_hook_without_a_valid_token_or_host_is_refused_and_not_recorded(
    client: httpx.AsyncClient, records: Records, headers: dict[str, str], status: int
) -> None:
    answer = await client.post("/hooks/claude/Stop", content=b"{", headers=headers)
    assert answer.status_code == status and records.failed == []


async def test_an_unreadable_payload_is_recorded_and_answered_with_an_empty_object(
    client: httpx.AsyncClient, records: Records
) -> None:
    answer = await client.post("/hooks/claude/Stop", content=b"{")
    assert (answer.status_code, answer.json()) == (200, {})
    ((tool, event, problem),) = records.failed
    assert (tool, event) == ("claude", "Stop") and "cannot be read" in problem


async def test_an_unknown_tool_and_a_payload_above_the_limit_are_refused_with_a_status(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await client.post("/hooks/parrot/Stop", json={})).status_code == 404
    monkeypatch.setattr(limits, "hook_body_bytes_max", 3)
    large = await client.post("/hooks/claude/Stop", content=b"{  }")
    assert large.status_code == 413 and "payload is too large: at most 3 bytes" in large.text
