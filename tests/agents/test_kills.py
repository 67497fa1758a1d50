"""Test of repeated kills of the server during twenty conversations with the real programs.

No message is lost or repeated, and the agents continue.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from agent_programs.person import MODELS
from agent_programs.stage import Stage, Way
from scripted_model import Say, Seen, Shell

from maestro.testing import rounds

pytestmark = [pytest.mark.agents, pytest.mark.slow, pytest.mark.rounds, pytest.mark.timeout(900)]

CONVERSATIONS = [
    *[("claude", "protocol")] * 4,
    *[("claude", "terminal")] * 4,
    *[("codex", "protocol")] * 4,
    *[("codex", "terminal")] * 4,
    *[("gemini", "protocol")] * 2,
    *[("gemini", "terminal")] * 2,
]
KILLS, ROUNDS = 6, 4


@pytest.fixture
def way() -> Way:
    return "every", "protocol"


@pytest.mark.parametrize("seed", range(1, 1 + rounds.round_count(1, full=3)))
def test_twenty_conversations_continue_through_repeated_kills_of_the_server(on: Stage, seed: int) -> None:
    (on.room.work / "busy.sh").write_text("for i in $(seq 20); do sleep 0.1; done\n")
    on.model.script("every", Say("Hello."), Shell("sh busy.sh"), *[Say("I see."), Shell("sh busy.sh")] * 50)
    # Several first starts of codex at once disturb each other, so one session creates codex's home before.
    on.until_status(on.spawn(tool="codex", driver="protocol", model=MODELS["codex"], name="first"), "idle")
    workers = [
        on.spawn(tool=tool, driver=driver, model=MODELS[tool], name=f"{tool}-{driver}-{number}", permission="full")
        for number, (tool, driver) in enumerate(CONVERSATIONS)
    ]
    for worker in workers:
        on.until_status(worker, "idle")
    before = {worker: on.session(worker)["pid"] for worker in workers}
    chance = random.Random(seed)
    said: dict[str, tuple[str, str]] = {}  # session and text, by the id of the message
    for number in range(KILLS):
        for turn in range(ROUNDS):
            worker = chance.choice(workers)
            words = f"Word {number}.{turn} of it."
            said[_said(on, worker, words, by_prompt=chance.random() < 0.5)] = (worker, words)
            time.sleep(chance.random() * 0.7)
        on.live.kill()
        time.sleep(chance.random())
        on.live.start()
        on.again()
    on.until(lambda: all(on.receipt(message) == "read" for message in said), "all of it being read")
    for worker in workers:
        on.until_status(worker, "idle", "working")
    # The check counts turns: a program can send the same request to its model again.
    told = {
        words: {(_whose(one), one.turn) for one in on.seen() if words in one.newest} for _, words in said.values()
    }
    assert {words: [who for who, _ in found] for words, found in told.items()} == {
        words: [worker] for worker, words in said.values()
    }
    assert {worker: on.session(worker)["pid"] for worker in workers} == before, "an agent was started again"


def _said(on: Stage, worker: str, words: str, *, by_prompt: bool) -> str:
    """Send a message to a session, until the server has accepted it, and return the message's id."""
    key = {"Idempotency-Key": f"k-{words}"}
    if by_prompt:
        path, body = f"/api/sessions/{worker}/prompt", {"text": words}
    else:
        path, body = "/api/mail", {"project": "vc", "to": [worker], "subject": "Mail", "message": words}
    answer = _until_answered(lambda: on.api.post(path, json=body, headers=key))
    given: dict[str, Any] = answer.json()
    return str(given["id"] if "id" in given else given["data"]["id"])


def _until_answered(ask: Callable[[], httpx.Response]) -> httpx.Response:
    while True:
        try:
            return ask()
        except httpx.TransportError:
            time.sleep(0.2)


def _whose(one: Seen) -> str:
    """Return the session whose model got the request: the first prompt names the session."""
    text = str(one.body)
    at = text.index("ses_", text.index("<session id="))
    return text[at : at + 30]
