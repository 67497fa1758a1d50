"""The log is streamed over real HTTP from a given event, then live. Errors come before the stream."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from maestro.testing.live import LiveServer


@pytest.fixture
def project(live: LiveServer, tmp_path: Path) -> Path:
    folder = tmp_path / "vc"
    folder.mkdir()
    assert live.run_command("init", cwd=folder).returncode == 0
    return folder


def headers(live: LiveServer, **more: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {live.token}", "Accept": "text/event-stream", **more}


def test_the_stream_continues_after_the_last_event_id_and_then_live(live: LiveServer, project: Path) -> None:
    live.run_command("task", "create", "first", cwd=project)
    with httpx.stream(
        "GET", f"{live.url}/api/events", headers=headers(live, **{"Last-Event-ID": "2"}), timeout=20
    ) as feed:
        lines = (line.removeprefix("data: ") for line in feed.iter_lines() if line.startswith("data: "))
        assert [json.loads(next(lines))["seq"] for _ in range(2)] == [3, 4]
        live.run_command("task", "create", "second", cwd=project)
        assert json.loads(next(lines))["data"]["title"] == "second"


@pytest.mark.parametrize(("query", "more", "status"), [("project=none", {}, 404), ("", {"Last-Event-ID": "x"}, 400)])
def test_an_error_is_reported_before_the_stream_begins(
    live: LiveServer, query: str, more: dict[str, str], status: int
) -> None:
    answer = httpx.get(f"{live.url}/api/events?{query}", headers=headers(live, **more), timeout=20)
    assert answer.status_code == status and answer.json()["code"]
