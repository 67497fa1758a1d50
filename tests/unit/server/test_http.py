"""The HTTP listener takes a free port, and the application passes each path to its surface and checks the host."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from maestro.core import errors
from maestro.server import http
from maestro.server.app import Server
from maestro.server.http import HttpApplication
from maestro.server.surfaces import build_surfaces


@pytest.fixture
async def app(server: Server) -> AsyncIterator[HttpApplication]:
    surfaces = build_surfaces(server)
    yield surfaces.http
    await surfaces.mcp.stop()


async def get(app: HttpApplication, path: str, **headers: str) -> httpx.Response:
    transport: Any = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.get(path, headers=headers)


def test_the_listener_takes_the_next_port_if_a_port_is_busy() -> None:
    with http.open_listener("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with http.open_listener("127.0.0.1", port) as second:
            assert second.getsockname()[1] > port


def test_opening_a_listener_without_a_free_port_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_PORTS_TRIED_MAX", 1)
    with http.open_listener("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(errors.Conflict, match=f"No port between {port}"):
            http.open_listener("127.0.0.1", port)


def test_opening_a_listener_on_a_foreign_address_is_refused() -> None:
    with pytest.raises(errors.Invalid, match=r"Cannot listen on 192\.0\.2\.1"):
        http.open_listener("192.0.2.1", 0)


def test_the_url_of_a_listener_names_its_address_and_port() -> None:
    with http.open_listener("127.0.0.1", 0) as listener:
        assert http.url_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.skipif(not socket.has_ipv6, reason="the system has no IPv6")
def test_the_url_of_an_ipv6_address_has_brackets() -> None:
    try:
        listener = http.open_listener("::1", 0)
    except errors.Invalid:
        pytest.skip("the machine has no IPv6 loopback address")
    with listener:
        assert http.url_of(listener) == f"http://[::1]:{listener.getsockname()[1]}"


async def test_the_application_passes_each_path_to_its_surface(app: HttpApplication, server: Server) -> None:
    assert (await get(app, "/")).text.startswith("Maestro ")
    assert (await get(app, "/api/openapi.json")).json()["openapi"]
    assert (await get(app, "/mcp")).status_code == 401
    assert (await get(app, "/hooks/claude/Stop")).status_code == 405
    assert (await get(app, "/unknown")).status_code == 404


async def test_a_request_with_a_foreign_host_name_is_refused(app: HttpApplication) -> None:
    answer = await get(app, "/", host="evil.example")
    assert answer.status_code == 403 and "not a host name of this server" in answer.text


async def test_a_setting_allows_further_host_names(tmp_path: Any) -> None:
    (tmp_path / "config.toml").write_text('allowed_hosts = "agents.example, other.example"\n')
    server = Server(tmp_path)
    try:
        guard = http.build_header_guard(server)
        guard.check_headers([(b"host", b"other.example")])
        with pytest.raises(errors.NotPermitted):
            guard.check_headers([(b"host", b"third.example")])
    finally:
        await server.close()
