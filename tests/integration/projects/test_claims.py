"""When two agents claim one issue at the same time, exactly one of them gets the issue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from maestro.testing.live import LiveServer

TIMES = 1_000


@pytest.mark.slow
async def test_exactly_one_of_two_simultaneous_claims_of_an_issue_succeeds(
    live: LiveServer, make_repo: Callable[..., Path]
) -> None:
    async with httpx.AsyncClient(base_url=live.url, timeout=60) as client:
        person = {"Authorization": f"Bearer {live.token}"}

        async def post(route: str, headers: dict[str, str], **body: Any) -> httpx.Response:
            return await client.post(route, json=body, headers=headers)

        for name in ("vc", "beads"):
            assert (await post("/api/projects", person, path=str(make_repo(name)))).status_code == 200

        async def join(name: str, project: str) -> dict[str, str]:
            made = await post("/api/sessions", person, name=name, project=project)
            return {"Authorization": f"Bearer {made.json()['token']}"}

        one, two = await join("one", "beads"), await join("two", "beads")
        wins = {"one": 0, "two": 0}
        for number in range(TIMES):
            opened = await post("/api/issues", person, to="beads", project="vc", title=f"Issue {number}", message="x")
            path = f"/api/issues/{opened.json()['id']}/claim"
            # The order alternates, so that neither session has an advantage.
            pair = [("one", one), ("two", two)][:: 1 if number % 2 else -1]
            answers = await asyncio.gather(*(post(path, who) for _, who in pair))
            won = [name for (name, _), answer in zip(pair, answers, strict=True) if answer.status_code == 200]
            assert len(won) == 1, [answer.text for answer in answers]
            lost = next(answer.json() for answer in answers if answer.status_code != 200)
            assert lost["code"] == "already_held"
            wins[won[0]] += 1
        assert sum(wins.values()) == TIMES
        found = await client.get("/api/issues?project=beads&limit=500", headers=person)
        assert all(issue["status"] == "in_progress" and issue["fence"] == 1 for issue in found.json()["issues"])
