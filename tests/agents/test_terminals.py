"""Tests of programs in a terminal with a person at the keyboard: typed prompts, half-typed text, and answers."""

from __future__ import annotations

import time

import pytest
from agent_programs.screens import at_keyboard
from agent_programs.stage import Stage, Way
from scripted_model import Answer, Call, Say, Shell

from maestro.testing import rounds

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

HALF = "half a thou"
QUESTION = {
    "question": "Which one?",
    "header": "One",
    "multiSelect": False,
    "options": [{"label": "A", "description": "the first"}, {"label": "B", "description": "the second"}],
}


@pytest.fixture(params=("claude", "codex", "gemini"))
def way(request: pytest.FixtureRequest) -> Way:
    return request.param, "terminal"


def asking(on: Stage, command: str) -> Answer:
    if on.tool == "codex":
        given = {"cmd": command, "sandbox_permissions": "require_escalated", "justification": "It must be."}
        return Call("exec_command", given)
    return Shell(command)


def at_rest(on: Stage, *steps: Answer, permission: str = "plan") -> str:
    on.model.script(on.tool, Say("Hello."), *steps)
    worker = on.spawn(permission=permission)
    on.until_status(worker, "idle")
    return worker


def test_a_prompt_that_a_person_types_starts_a_turn(on: Stage) -> None:
    worker = at_rest(on, Say("I hear you well."))
    with at_keyboard(on.folder(worker)) as keyboard:
        keyboard.press("Do you hear me well")
        time.sleep(0.5)  # the program takes text and Enter in one piece for a paste
        keyboard.press("\r")
        on.until(lambda: len(on.seen()) == 2, "what was typed in a request")
    assert "Do you hear me well" in on.seen()[1].newest
    on.until_status(worker, "idle")
    on.until(lambda: "I hear you well." in on.logs(worker), "its answer on the screen")


def test_half_typed_text_stays_through_mail_and_prompts(on: Stage) -> None:
    worker = at_rest(on, *[Say("I have read it.")] * 6)
    with at_keyboard(on.folder(worker)) as keyboard:
        keyboard.press(HALF)
        on.until(lambda: HALF in on.logs(worker), "the words on the screen")
        message = on.mail("worker", "The dialect is B now.")
        on.until(lambda: on.receipt(message) == "read", "the mail being read")
        on.until_status(worker, "idle")
        sent = on.prompt(worker, "And a prompt.", wait_for="read", timeout=30_000)
        assert sent.status_code == 200, sent.text
        on.until_status(worker, "idle")
        on.until(lambda: on.logs(worker).rstrip().count(HALF) >= 1, "the words on the screen")
        assert not any(HALF in one.newest for one in on.seen())
        keyboard.press("ght")
        time.sleep(0.5)
        keyboard.press("\r")
        on.until(lambda: any(f"{HALF}ght" in one.newest for one in on.seen()), "the whole of it in a request")


@pytest.mark.slow
@pytest.mark.rounds
@pytest.mark.timeout(600)
def test_text_that_a_person_types_stays_complete_through_many_pushes(on: Stage) -> None:
    tries = rounds.round_count(8, full=67)  # in a long run about two hundred over the three programs
    worker = at_rest(on, *[Say("I have read it.")] * (3 * tries))
    typed = ""
    with at_keyboard(on.folder(worker)) as keyboard:
        for number in range(tries):
            typed += f"w{number} "
            keyboard.press(f"w{number} ")
            if number % 2:
                sent = on.mail("worker", f"Mail {number}.")
            else:
                sent = on.prompt(worker, f"Prompt {number}.").json()["id"]
            on.until(lambda sent=sent: on.receipt(sent) == "read", f"{number} being read")  # type: ignore[misc]
            on.until_status(worker, "idle")
        assert not any("w0 " in one.newest for one in on.seen())
        time.sleep(0.5)
        keyboard.press("\r")
        on.until(lambda: any(typed.strip() in one.newest for one in on.seen()), "the whole of it in a request")


def test_an_answer_at_the_terminal_closes_the_ask(on: Stage) -> None:
    if on.tool == "gemini":
        pytest.skip("it opens no dialog: its hook holds the call")
    worker = at_rest(on, asking(on, "touch allowed.txt"), Say("Thank you."))
    on.prompt(worker, "Touch it.")
    on.until(on.asks, "what it asks")
    with at_keyboard(on.folder(worker)) as keyboard:
        on.until(lambda: "touch allowed.txt" in on.logs(worker), "the dialog")
        time.sleep(1)  # a dialog takes no keys at first
        keyboard.press("\r")
        on.until(lambda: (on.room.work / "allowed.txt").exists(), "the file")
    on.until_status(worker, "idle")
    assert on.asks() == []


def test_a_question_of_claude_is_answered_outside_the_terminal(on: Stage) -> None:
    if on.tool != "claude":
        pytest.skip("it has no tool for that")
    worker = at_rest(on, Call("AskUserQuestion", {"questions": [QUESTION]}), Say("B it is."))
    on.prompt(worker, "Ask me.")
    (ask,) = on.until(on.asks, "what it asks")
    assert (ask["kind"], ask["title"], ask["choices"]) == ("question", "Which one?", ["A", "B"])
    on.answer(ask["id"], "B")
    on.until(lambda: len(on.seen()) == 3, "the answer in a request")
    assert "B" in on.seen()[2].newest
    on.until_status(worker, "idle")


def test_an_open_dialog_keeps_its_ask_through_a_kill_of_the_server(on: Stage) -> None:
    worker = at_rest(on, asking(on, "touch allowed.txt"), Say("Thank you."))
    on.prompt(worker, "Touch it.")
    (ask,) = on.until(on.asks, "what it asks")
    on.live.kill()
    on.live.start()
    on.again()
    on.until(lambda: [one["id"] for one in on.asks()] == [ask["id"]], "the same question")
    time.sleep(2)
    assert len(on.asks()) == 1
    on.answer(ask["id"], "allow")
    on.until(lambda: (on.room.work / "allowed.txt").exists(), "the file")
    on.until_status(worker, "idle")


@pytest.mark.parametrize("way", [("gemini", "terminal")], ids="-".join)
def test_a_model_without_a_waiting_command_gets_a_prompt_with_the_next_typed_text(on: Stage) -> None:
    on.model.is_obedient = False
    worker = at_rest(on, Say("No."), Say("I have read it."), permission="full")
    on.until(lambda: len(on.seen()) == 2, "its being told to wait")
    assert "is_background true" in on.seen()[1].newest
    on.until_status(worker, "idle")
    sent = on.prompt(worker, "Are you there?")
    assert (sent.status_code, sent.json()["code"]) == (202, "not_confirmed"), sent.text
    assert "waits for Maestro" in sent.json()["message"]
    assert len(on.seen()) == 2
    with at_keyboard(on.folder(worker)) as keyboard:
        keyboard.press("Look up.")
        time.sleep(0.5)
        keyboard.press("\r")
        on.until(lambda: on.receipt(sent.json()["data"]["id"]) == "read", "the prompt, with what was typed")
    (told,) = (one for one in on.seen() if "Are you there?" in one.newest)
    assert "Look up." in told.newest
