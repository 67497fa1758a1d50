"""Tests of claude's hooks over HTTP with the session's token: mail, critical mail, and a held permission request."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from agent_programs import by_hand, installed
from agent_programs.base import Launch, Room, run
from scripted_model import Say, ScriptedModel, Seen, Shell

from maestro.server.secrets import Secrets
from maestro.testing.live import LiveServer
from maestro.tools import hook_settings
from maestro.tools.claude.hooks import DIALECT

pytestmark = [pytest.mark.agents, pytest.mark.timeout(120)]
Step = Any


@pytest.fixture
def claude(live: LiveServer, room: Room, api: httpx.Client, model: ScriptedModel) -> Callable[..., str]:
    """Return a function that runs claude to its end with a script, and returns its output."""
    if not installed.FOLDER.is_dir():
        pytest.skip("the programs are not installed: make test-agents")
    program = by_hand.PROGRAMS["claude"]

    def start(token: str, *steps: Step, tools: str = "Bash") -> str:
        url = model.script("claude", *steps)
        program.settle(room, url)
        settings = room.home / "hooks.json"
        hooks = hook_settings.hooks_over_http(
            DIALECT, live.url, lambda event: "true", timeouts={"PermissionRequest": 60}
        )
        settings.write_text(json.dumps({"hooks": hooks}))
        launch = program.launch(room, url, "Go ahead.")
        words = [launch.words[0], "--settings", str(settings), *launch.words[1:]]
        words[words.index("Bash")] = tools
        done = run(Launch(words, {**launch.environment, "MAESTRO_TOKEN": token}, room.work), seconds=60)
        assert done.code == 0, done.output
        return done.output

    return start


def test_mail_and_critical_mail_reach_claude_through_http_hooks(
    claude: Callable[..., str], api: httpx.Client, model: ScriptedModel, room: Room
) -> None:
    token = api.post("/api/sessions", json={"project": "vc", "name": "claude"}).json()["token"]
    sent: list[str] = []

    def writes(text: str, then: Step, **fields: str) -> Callable[[Seen], Step]:
        def step(seen: Seen) -> Step:
            letter = {"project": "vc", "to": ["claude"], "subject": "s", "message": text} | fields
            sent.append(api.post("/api/mail", json=letter).json()["id"])
            return then

        return step

    claude(
        token,
        writes("busy news", Shell("echo one")),
        writes("urgent news", Shell("touch made.txt"), priority="critical"),
        writes("last news", Say("Done.")),
        Say("All done."),
    )
    said = [one.newest for one in model.seen("claude")]
    assert ["busy news" in said[1], "urgent news" in said[2], "last news" in said[3]] == [True] * 3
    assert not (room.work / "made.txt").exists()
    for message in sent:
        (one,) = api.get(f"/api/mail/{message}/status").json()["deliveries"]
        assert (one["status"], one["via"]) == ("read", "hook")


@pytest.mark.parametrize("said", ["allow", "deny"])
def test_a_permission_request_is_held_until_the_person_answers(
    claude: Callable[..., str], live: LiveServer, api: httpx.Client, room: Room, model: ScriptedModel, said: str
) -> None:
    # The session is spawned with a stand-in as program. This test starts claude itself.
    spawned = api.post(
        "/api/sessions/spawn",
        json={"project": "vc", "path": str(room.work), "name": "claude", "arguments": ["sleep", "90"]},
    ).json()
    token = _token_of(live, spawned["id"])
    asked: list[str] = []

    def answers() -> None:
        deadline = time.monotonic() + 60
        while not asked and time.monotonic() < deadline:
            for one in api.get("/api/asks").json()["asks"]:
                asked.append(one["title"])
                api.post(f"/api/asks/{one['id']}/answer", json={"answer": said})
            time.sleep(0.05)

    person = threading.Thread(target=answers)
    person.start()
    try:
        claude(token, Shell("touch made.txt"), Say("All done."), tools="Read")
    finally:
        person.join()
        api.post(f"/api/sessions/{spawned['id']}/stop", json={})
    assert asked == ["May it use Bash: touch made.txt?"]
    assert (room.work / "made.txt").exists() == (said == "allow")


def _token_of(live: LiveServer, session_id: str) -> str:
    return Secrets(live.home).session_token(session_id)
