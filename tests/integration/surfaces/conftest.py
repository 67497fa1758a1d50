"""Provide a live server with one project, a coordinator and a worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from maestro.testing.live import LiveServer
from maestro.testing.mcp_wire import McpWire


@pytest.fixture
def api(live: LiveServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=live.url, headers={"Authorization": f"Bearer {live.token}"}, timeout=60) as made:
        yield made


@pytest.fixture
def project(api: httpx.Client, tmp_path: Path) -> Path:
    folder = tmp_path / "vc"
    folder.mkdir()
    assert api.post("/api/projects", json={"path": str(folder), "name": "vc"}).status_code == 200
    return folder


@pytest.fixture
def tokens(api: httpx.Client, project: Path) -> dict[str, str]:
    boss = api.post(
        "/api/sessions", json={"project": "vc", "name": "boss", "mode": "coordinate", "grant": "full"}
    ).json()
    worker = api.post("/api/sessions", json={"project": "vc", "name": "w", "parent": "boss"}).json()
    return {"boss": boss["token"], "w": worker["token"]}


@pytest.fixture
def wire(live: LiveServer, tokens: dict[str, str]) -> Iterator[McpWire]:
    made = McpWire(live, tokens["w"])
    yield made
    made.http.close()
