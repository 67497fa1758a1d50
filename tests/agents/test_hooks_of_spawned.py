"""Tests of the hooks of spawned programs, over the protocol and in a terminal: mail reaches the model during a turn.

Gemini fires its tool hooks only in a terminal, not over its protocol.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from agent_programs.screens import at_keyboard
from agent_programs.stage import WAYS, Stage, Way
from scripted_model import Answer, Call, Say, Seen, Shell, Step

from maestro.testing import rounds

pytestmark = pytest.mark.agents

DRIVEN = [way for way in WAYS if way != ("gemini", "protocol")]
AT_ONCE = 25  # gemini asks its model about a loop after thirty turns, and after five identical turns
MANY = AT_ONCE * rounds.round_count(1, full=4)


@pytest.fixture(params=DRIVEN, ids="-".join)
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found


class Post:
    """Mail that is sent while the model gets a request, so that the agent is busy."""

    def __init__(self, on: Stage) -> None:
        self.on = on
        self.sent: list[str] = []
        self.turns: list[int] = []  # the turn of the model in which each message was sent

    def then(self, answer: Answer, text: str, **fields: Any) -> Callable[[Seen], Answer]:
        def step(seen: Seen) -> Answer:
            self.turns.append(seen.turn)
            self.sent.append(self.on.mail("worker", text, **fields))
            return answer

        return step

    def deliveries(self) -> list[tuple[str, str]]:
        told = [self.on.get(f"/api/mail/{one}/status")["deliveries"] for one in self.sent]
        return [(one["status"], one["via"]) for (one,) in told]


def told(on: Stage, text: str) -> list[int]:
    """Return the turns of the model whose new part contains the text."""
    return sorted({one.turn for one in on.seen() if text in one.newest})


def turns(on: Stage) -> int:
    return len({one.turn for one in on.seen()})


def all_read(on: Stage, post: Post) -> None:
    on.until(lambda: all(status == "read" for status, _ in post.deliveries()), "its mail being read")


def statuses(on: Stage, worker: str) -> set[str]:
    told = on.get(f"/api/sessions/{worker}/explain")["signals"]
    return {one["source"] for one in told}


def test_mail_to_a_busy_program_is_in_the_next_request_and_read_once(on: Stage) -> None:
    post = Post(on)
    steps = (post.then(Shell("true"), "The dialect is B."), Shell("true"), Say("Done."))
    on.model.script(on.tool, *steps, Say("Too much."))
    worker = on.spawn(permission="full", subject="Parser", message="Keep the grammar.")
    on.until_status(worker, "idle")
    all_read(on, post)
    assert told(on, "The dialect is B.") == [1], on.evidence()
    assert told(on, "Keep the grammar.") == [0]
    assert post.deliveries() == [("read", "assumed" if on.tool == "codex" else "hook")]
    assert turns(on) == 3
    assert ("hook" in statuses(on, worker)) == on.is_told_by_hooks


def test_mail_during_the_last_answer_of_a_turn_continues_the_turn(on: Stage) -> None:
    post = Post(on)
    on.model.script(on.tool, post.then(Say("Done."), "One thing more."), Say("That too."), Say("Too much."))
    worker = on.spawn(permission="full")
    on.until(lambda: post.sent, "its mail")
    all_read(on, post)
    on.until_status(worker, "idle")
    assert told(on, "One thing more.") == [1], on.evidence()
    assert post.deliveries() == [("read", "hook")]
    assert turns(on) == 2


def test_critical_mail_stops_the_next_tool_call(on: Stage) -> None:
    post = Post(on)
    steps = (post.then(Shell("touch made.txt"), "Stop, all of you.", priority="critical"), Say("I stopped."))
    on.model.script(on.tool, *steps, Say("Too much."))
    worker = on.spawn(permission="full")
    on.until(lambda: post.sent, "its mail")
    all_read(on, post)
    on.until_status(worker, "idle")
    assert told(on, "Stop, all of you.") == [1], on.evidence()
    assert not (on.room.work / "made.txt").exists()
    assert turns(on) == 2


def test_a_connected_and_spawned_program_asks_for_a_permission_once(on: Stage) -> None:
    if on.tool == "gemini":
        pytest.skip("its program asks nobody, and Maestro once")
    connect(on)
    call = {"cmd": "touch a.txt", "sandbox_permissions": "require_escalated", "justification": "It must be."}
    asking = Call("exec_command", call) if on.tool == "codex" else Shell("touch a.txt")
    post = Post(on)
    on.model.script(on.tool, asking, post.then(Shell("true"), "Half of it."), Say("Done."), Say("Too much."))
    worker = on.spawn(permission="plan", allow=["shell:true"])
    (ask,) = on.until(on.asks, "what it asks")
    on.until_status(worker, "needs_input")
    on.answer(ask["id"], "allow")
    on.until_status(worker, "idle")
    all_read(on, post)
    assert (on.room.work / "a.txt").exists()
    # A second hook can come after the call: its ask is withdrawn without an answer.
    on.until(lambda: on.asks() == [], "nothing being asked")
    every = on.get("/api/asks", all="true")["asks"]
    assert [one["id"] for one in every if one["status"] != "withdrawn"] == [ask["id"]]
    assert told(on, "Half of it.") == [2], on.evidence()


def test_a_prompt_to_a_busy_program_reaches_the_model_once(on: Stage) -> None:
    (on.room.work / "busy.sh").write_text("touch begun\nuntil [ -e go ]; do sleep 0.1; done\n")
    on.model.script(on.tool, Shell("sh busy.sh"), Shell("true"), Say("Done."), Say("And that."))
    worker = on.spawn(permission="full")
    on.until(lambda: (on.room.work / "begun").exists(), "its command")
    sent = on.prompt(worker, "Something new came up.").json()["id"]
    (on.room.work / "go").touch()
    on.until(lambda: on.receipt(sent) == "read", "its being read")
    on.until_status(worker, "idle")
    assert len(told(on, "Something new came up.")) == 1, on.evidence()


def test_the_model_gets_the_primer_again_after_compaction(on: Stage) -> None:
    if on.tool == "codex" and not on.is_in_terminal:
        pytest.skip("it compacts by itself, or by a request that Maestro has no use for")
    if on.tool == "gemini":
        pytest.skip("what it compresses is too little here")
    on.model.script(on.tool, Say("Hello."), *[Say("A summary of it.")] * 6)
    worker = on.spawn(permission="full")
    on.until_status(worker, "idle")
    primer = "You are worker, worker in Maestro"
    assert told(on, primer) == []
    compact(on, worker)
    on.prompt(worker, "Go on.")
    on.until(lambda: told(on, primer), "who it is, in a request")


def compact(on: Stage, worker: str) -> None:
    """Compact the conversation, with a live prompt or at the terminal."""
    if not on.is_in_terminal:
        sent = on.prompt(worker, "/compact").json()["id"]
        on.until(lambda: on.receipt(sent) == "read", "that it was carried out")
        on.until_status(worker, "idle")
        assert told(on, "/compact") == [], "the command came again as mail"
        return
    with at_keyboard(on.folder(worker)) as keyboard:
        keyboard.press("/compact")
        on.until(lambda: "/compact" in on.logs(worker), "the command on the screen")
        time.sleep(0.5)  # the program takes text and Enter in one piece for a paste
        keyboard.press("\r")
        on.until(lambda: "ompacted" in on.logs(worker), "the end of it")
    on.until_status(worker, "idle")


@pytest.mark.slow
@pytest.mark.rounds
@pytest.mark.timeout(900)
def test_mail_before_each_of_many_hooks_is_in_the_next_request(on: Stage) -> None:
    post = Post(on)
    steps: list[Step] = []
    for number in range(MANY):
        steps.append(post.then(Shell(f"echo {number}"), f"Word {number} of many."))
        steps += [Say("Done.")] if (number + 1) % AT_ONCE == 0 else []
    on.model.script(on.tool, *steps, Say("Too much."))
    worker = on.spawn(permission="full")
    for count in range(AT_ONCE, MANY + 1, AT_ONCE):
        on.until(lambda count=count: len(post.sent) == count, f"{count} of the mail")  # type: ignore[misc]
        on.until_status(worker, "idle")
        if count < MANY:
            on.prompt(worker, "Go on.")
    all_read(on, post)
    assert [told(on, f"Word {number} of many.") for number in range(MANY)] == [[one + 1] for one in post.turns]


@pytest.mark.parametrize("way", [("codex", "protocol")], ids="-".join)
def test_codex_does_not_run_hooks_that_the_person_has_not_reviewed(on: Stage) -> None:
    """Write a foreign hook: codex asks the person before it runs a hook, and Maestro trusts only its own hooks."""
    strange = {"type": "command", "command": f"touch {on.room.work}/strange", "timeout": 5}
    told_to = {"hooks": {"PostToolUse": [{"hooks": [strange]}]}}
    (on.room.home / ".codex" / "hooks.json").write_text(json.dumps(told_to))
    post = Post(on)
    on.model.script("codex", post.then(Shell("true"), "The dialect is B."), Say("Done."), Say("Too much."))
    worker = on.spawn(permission="full")
    on.until_status(worker, "idle")
    all_read(on, post)
    assert told(on, "The dialect is B.") == [1], on.evidence()
    assert not (on.room.work / "strange").exists()


def connect(on: Stage) -> None:
    """Connect the program too, so that it has each hook twice, also the permission hook."""
    done = on.live.run_command("connect", on.tool)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
