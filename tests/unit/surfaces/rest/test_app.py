"""The application for /api calls operations, refuses invalid requests, and hides unexpected failures."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from starlette.types import Message

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.operations import sessions
from maestro.operations.registry import REGISTRY
from maestro.server.app import Server
from maestro.surfaces.rest.app import RestApplication


@pytest.fixture
def application(server: Server) -> RestApplication:
    return RestApplication(server, REGISTRY, hosts=["maestro.example"], version="1.2.3")


@pytest.fixture
async def token(server: Server, dana: Caller, vc: str) -> str:
    registration = sessions.RegisterSession(project=vc, name="w")
    return str((await server.call(sessions.REGISTER, registration, caller=dana)).token)


@pytest.fixture
async def api(application: RestApplication, token: str) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=application)
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
        yield client


async def test_a_request_calls_an_operation_and_gets_its_answer_as_json(api: httpx.AsyncClient) -> None:
    created = await api.post("/api/tasks", json={"title": "Parse"})
    assert created.status_code == 200 and created.json()["title"] == "Parse"
    shown = await api.get("/api/tasks/vc%231")
    assert shown.json()["id"] == created.json()["id"]


async def test_the_same_idempotency_key_gives_the_first_answer(api: httpx.AsyncClient) -> None:
    first, again = [
        await api.post("/api/tasks", json={"title": "Once"}, headers={"Idempotency-Key": "k"}) for _ in range(2)
    ]
    assert first.json()["id"] == again.json()["id"]


@pytest.mark.parametrize(
    ("headers", "text"),
    [({}, "docs/http.md"), ({"Authorization": "Basic x"}, "Bearer"), ({"Authorization": "Bearer mst_none"}, "token")],
)
async def test_a_request_without_a_valid_token_is_refused(
    application: RestApplication, headers: dict[str, str], text: str
) -> None:
    transport = httpx.ASGITransport(app=application)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.get("/api/tasks", headers=headers)
    assert answer.status_code == 401 and text in answer.text


async def test_the_description_of_the_api_needs_no_token(application: RestApplication) -> None:
    transport = httpx.ASGITransport(app=application)
    async with httpx.AsyncClient(transport=transport, base_url="http://maestro.example") as client:
        assert (await client.get("/api/openapi.json")).json()["info"]["version"] == "1.2.3"
        assert (await client.get("/api/openapi.json", headers={"Host": "evil.example"})).status_code == 403


async def test_a_wrong_verb_is_refused_with_the_allowed_verbs(api: httpx.AsyncClient) -> None:
    answer = await api.delete("/api/tasks")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST")


async def test_a_body_that_is_not_json_or_above_the_limit_is_refused(api: httpx.AsyncClient) -> None:
    plain = await api.post("/api/tasks", content=b"{}", headers={"Content-Type": "text/plain"})
    assert plain.status_code == 400 and "content-type application/json" in plain.json()["message"]
    large = await api.post("/api/tasks", content=b" " * (limits.body_bytes_max + 1))
    assert large.status_code == 413


async def test_a_caller_without_the_right_is_refused_before_the_body_is_read(
    application: RestApplication, token: str
) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        raise AssertionError("the body was read")

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/stop",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode())],
    }
    await application(scope, receive, send)
    assert sent[0]["status"] == 403 and json.loads(sent[1]["body"])["code"] == "not_permitted"


async def test_an_unexpected_exception_is_logged_and_answered_without_details(
    api: httpx.AsyncClient, server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(server, "call", fail)
    answer = await api.get("/api/tasks")
    assert answer.status_code == 500 and "secret detail" not in answer.text
    assert "secret detail" in caplog.text


async def test_a_wait_over_http_ends_when_the_client_leaves(application: RestApplication, token: str) -> None:
    sent: list[Message] = []
    leaving = asyncio.Event()
    is_body_read = False

    async def receive() -> Message:
        nonlocal is_body_read
        if not is_body_read:
            is_body_read = True
            return {"type": "http.request", "body": b'{"timeout": 60000}', "more_body": False}
        leaving.set()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/mail/wait",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode())],
    }
    async with asyncio.timeout(20):
        await application(scope, receive, send)
    assert leaving.is_set() and sent[0]["status"] == 408
