"""Tests of codex in a terminal: the runner speaks with the app-server, and a terminal client joins the conversation.

`test_driven.py` tests the behaviours that all tools share. This module tests the effects of two programs.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from agent_programs.stage import Stage, Way, stage
from scripted_model import Answer, Call, Say, ScriptedModel, Seen, Shell, Step

from maestro.testing.console import Console
from maestro.testing.live import PYTHON_CLIENT

pytestmark = [pytest.mark.agents, pytest.mark.timeout(240)]

DONE = Call("report", {"kind": "complete", "text": "All of it is done."}, server="maestro")
DETACH = b"\x1d"
NOTED = "\n[tui]\nscreen_reader_detection_done = true\n"  # codex writes this at its first start in any terminal
DIALOG = "Would you like to run"
_KEYS_SECONDS = 0.6  # the pause between text and the next key: codex takes faster keys for a paste
_DIALOG_SECONDS = 1.5


@pytest.fixture
def way() -> Way:
    return "codex", "terminal"


class Person:
    """A person who sits at the terminal of the session."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def sees(self, text: str) -> None:
        self._console.wait_for_screen_text(text)

    def types(self, text: str) -> None:
        self._console.type_keys(text.encode())
        self._console.read_output_for(_KEYS_SECONDS)

    def sends(self, text: str = "") -> None:
        self.types(text)
        self.types("\r")

    def answers(self, key: str) -> None:
        """Press a key after a pause: a new dialog takes no keys, because they could belong to the text before it."""
        self._console.read_output_for(_DIALOG_SECONDS)
        self.types(key)

    def leaves(self) -> None:
        self._console.type_keys(DETACH)
        assert self._console.wait_for_exit() == 0

    def ends_it(self) -> None:
        self.sends("/quit")
        self._console.wait_for_exit()


@contextmanager
def attached(on: Stage, **size: int) -> Iterator[Person]:
    words = [*PYTHON_CLIENT, "session", "attach", "worker"]
    environment = on.live.environment()
    console = Console(words, cwd=on.room.work, env=environment, **({"columns": 110, "rows": 45} | size))
    try:
        yield Person(console)
    finally:
        console.close()


def spawn(on: Stage, *steps: Step, **wanted: Any) -> str:
    on.model.script("codex", *steps)
    return on.spawn(**{"permission": "full", **wanted})


def idle(on: Stage, *steps: Step, **wanted: Any) -> str:
    worker = spawn(on, Say("Hello."), *steps, **wanted)
    on.until_status(worker, "idle")
    return worker


def busy(on: Stage, seconds: int = 4) -> Shell:
    (on.room.work / "busy.sh").write_text(
        f"touch begun\nfor i in $(seq {seconds * 10}); do sleep 0.1; done\ntouch ended\n"
    )
    return Shell("sh busy.sh")


def has_begun(on: Stage) -> bool:
    return (on.room.work / "begun").exists()


def asking(command: str) -> Call:
    fields = {"cmd": command, "sandbox_permissions": "require_escalated", "justification": "It must be."}
    return Call("exec_command", fields)


def told(on: Stage, text: str) -> list[int]:
    """Return the numbers of the requests whose new part contains the text."""
    return [number for number, one in enumerate(on.seen()) if text in one.newest]


def test_a_person_takes_part_in_the_conversation_and_keeps_the_settings_of_codex(on: Stage) -> None:
    settings = on.room.home / ".codex" / "config.toml"
    before = settings.read_text()
    worker = idle(on, Say("Wellanswered."), Say("Secondanswer."), permission="edit")
    with attached(on) as person:
        person.sees("Hello.")
        person.sends("A question of my own.")
        person.sees("Wellanswered.")
        on.until_status(worker, "idle")
        assert told(on, "A question of my own.") == [1]
        on.prompt(worker, "And one of Maestro's.")
        person.sees("Secondanswer.")
        person.leaves()
    on.until_status(worker, "idle")
    assert on.session(worker)["usage"][0]["turns"] == 3
    with attached(on) as person:
        person.sees("Secondanswer.")
    assert settings.read_text().replace(NOTED, "") == before


def test_mail_to_a_busy_codex_is_in_the_next_request_of_the_model(on: Stage) -> None:
    sent: list[str] = []

    def mailed(seen: Seen) -> Answer:
        sent.append(on.mail("worker", "The dialect is B."))
        return Shell("true")

    worker = spawn(on, mailed, Shell("true"), Say("Done."), Say("Too much."))
    on.until(lambda: sent and on.receipt(sent[0]) == "read", "its being read")
    on.until_status(worker, "idle")
    assert told(on, "The dialect is B.") == [1], on.evidence()
    assert len(on.seen()) == 3


def test_critical_mail_stops_the_next_tool_call_of_codex(on: Stage) -> None:
    sent: list[str] = []

    def mailed(seen: Seen) -> Answer:
        sent.append(on.mail("worker", "Stop, all of you.", priority="critical"))
        return Shell("touch made.txt")

    worker = spawn(on, mailed, Say("I stopped."), Say("Too much."))
    on.until(lambda: sent and on.receipt(sent[0]) == "read", "its being read")
    on.until_status(worker, "idle")
    assert told(on, "Stop, all of you.") == [1], on.evidence()
    assert not (on.room.work / "made.txt").exists()


def test_the_dialog_closes_when_the_person_answers_the_ask_outside_the_terminal(on: Stage) -> None:
    worker = idle(on, asking("touch allowed.txt"), Say("Manythanks."), permission="plan")
    with attached(on) as person:
        person.sees("Hello.")
        on.prompt(worker, "Touch it.")
        (ask,) = on.until(on.asks, "what it asks")
        assert (ask["kind"], ask["choices"]) == ("permission", ["allow", "deny"])
        assert on.until_status(worker, "needs_input")["status_source"] == "protocol"
        person.sees(DIALOG)
        on.answer(ask["id"], "allow")
        person.sees("Manythanks.")
    assert (on.room.work / "allowed.txt").exists()
    on.until_status(worker, "idle")
    assert on.asks() == []


def test_the_ask_is_withdrawn_when_the_person_answers_the_dialog_in_the_terminal(on: Stage) -> None:
    worker = idle(on, asking("touch allowed.txt"), Say("Manythanks."), permission="plan")
    with attached(on) as person:
        person.sees("Hello.")
        on.prompt(worker, "Touch it.")
        (ask,) = on.until(on.asks, "what it asks")
        person.sees(DIALOG)
        person.answers("y")
        person.sees("Manythanks.")
    assert (on.room.work / "allowed.txt").exists()
    on.until_status(worker, "idle")
    assert on.asks() == []
    (kept,) = on.get("/api/asks", all="true")["asks"]
    assert (kept["id"], kept["status"]) == (ask["id"], "withdrawn")


def test_prompts_and_mail_never_answer_a_dialog_and_are_all_read(on: Stage) -> None:
    tries = 5

    def step(seen: Seen) -> Answer:
        rounds = [number for number in range(tries) if f"Round {number}." in seen.newest]
        return asking(f"touch no{rounds[0]}.txt") if rounds else Say("Yes.")

    worker = idle(on, *[step] * 10 * tries, permission="plan")
    held: list[str] = []
    with attached(on) as person:
        person.sees("Hello.")
        for number in range(tries):
            on.prompt(worker, f"Round {number}.")
            (ask,) = on.until(on.asks, "what it asks")
            person.sees(DIALOG)
            answer = on.prompt(worker, f"Hurry {number}.").json()
            assert answer["code"] == "not_confirmed", answer
            held.extend((answer["data"]["id"], on.mail("worker", f"Letter {number}.")))
            assert not (on.room.work / f"no{number}.txt").exists()
            assert [one["id"] for one in on.asks()] == [ask["id"]]
            on.answer(ask["id"], "deny")
            on.until(lambda: all(on.receipt(one) == "read" for one in held), "all that was held")
            on.until_status(worker, "idle")
    for number in range(tries):
        assert len(told(on, f"Hurry {number}.")) == len(told(on, f"Letter {number}.")) == 1
    assert list(on.room.work.glob("no*.txt")) == []


def test_half_typed_text_stays_through_prompts_mail_and_dialogs(on: Stage) -> None:
    steps = (Say("Oneanswer."), Say("Twoanswers."), asking("touch a.txt"), Say("Threeanswers."), Say("Mineatlast."))
    worker = idle(on, *steps, permission="plan")
    with attached(on) as person:
        person.sees("Hello.")
        person.types("What I ")
        on.prompt(worker, "A prompt.")
        person.sees("Oneanswer.")
        person.types("wanted ")
        on.until_status(worker, "idle")
        on.mail("worker", "A letter.")
        person.sees("Twoanswers.")
        person.types("to ask")
        on.until_status(worker, "idle")
        on.prompt(worker, "One that asks.")
        (ask,) = on.until(on.asks, "what it asks")
        person.sees(DIALOG)
        on.answer(ask["id"], "allow")
        person.sees("Threeanswers.")
        on.until_status(worker, "idle")
        person.sends(".")
        person.sees("Mineatlast.")
    assert on.seen()[-1].newest.strip().endswith("What I wanted to ask.")
    assert [len(told(on, text)) for text in ("A prompt.", "A letter.", "One that asks.")] == [1, 1, 1]


def test_a_person_who_quits_codex_in_the_terminal_ends_the_session(on: Stage) -> None:
    worker = idle(on)
    with attached(on) as person:
        person.sees("Hello.")
        person.ends_it()
    ended = on.until(lambda: (now := on.session(worker))["ended_at"] and now, "its end")
    assert ended["status"] == "completed", on.evidence()
    assert on.processes(worker) == []


def test_a_person_can_quit_codex_in_the_terminal_during_a_turn(on: Stage) -> None:
    worker = spawn(on, busy(on, 60), Say("Done."))
    on.until(lambda: has_begun(on), "its command")
    with attached(on) as person:
        person.sees("OpenAI Codex")
        person.ends_it()
    ended = on.until(lambda: (now := on.session(worker))["ended_at"] and now, "its end")
    assert ended["status"] == "completed", on.evidence()
    assert on.processes(worker) == []
    assert not (on.room.work / "ended").exists()


def test_a_completed_session_stays_as_long_as_a_person_is_attached(on: Stage) -> None:
    worker = idle(on, DONE, Say("Reportedit."), Say("Stillthere."))
    with attached(on) as person:
        person.sees("Hello.")
        on.prompt(worker, "Report.")
        person.sees("Reportedit.")
        on.until_status(worker, "completed")
        person.sends("Are you still there?")
        person.sees("Stillthere.")
        person.leaves()
    ended = on.until(lambda: (now := on.session(worker))["ended_at"] and now, "its end")
    assert ended["status"] == "completed", on.evidence()
    assert on.processes(worker) == []


def test_a_terminal_client_that_is_killed_is_started_again(on: Stage) -> None:
    worker = idle(on, Say("Stillhere."))
    with attached(on) as person:
        person.sees("Hello.")
        (terminal,) = [pid for pid in on.processes(worker) if _is(pid, b"bin/codex", b"resume")]
        os.kill(terminal, signal.SIGKILL)
        on.until(lambda: [pid for pid in on.processes(worker) if _is(pid, b"bin/codex", b"resume")], "another")
        on.prompt(worker, "Are you there?")
        person.sees("Stillhere.")


def _is(pid: int, *words: bytes) -> bool:
    """Return whether the process is the program itself, and not the node process that starts it."""
    try:
        told = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return not told[0].endswith(b"node") and all(any(one.endswith(word) for one in told) for word in words)


def test_a_stopped_session_leaves_no_process_and_no_temporary_folder(on: Stage) -> None:
    worker = spawn(on, busy(on, 60), Say("Done."))
    on.until(lambda: has_begun(on), "its command")
    with attached(on) as person:
        person.sees("OpenAI Codex")
        assert len(on.processes(worker)) > 4
        on.post(f"/api/sessions/{worker}/stop")
        assert on.session(worker)["status"] == "stopped"
        assert on.processes(worker) == []
    assert not (on.live.home / "sessions" / worker / "tmp").exists()


@pytest.mark.parametrize("whom", ["the launcher", "the program"])
def test_a_session_whose_launcher_or_program_is_killed_fails_and_leaves_no_process(on: Stage, whom: str) -> None:
    worker = idle(on)
    with attached(on) as person:
        person.sees("Hello.")
        (server,) = [pid for pid in on.processes(worker) if _is(pid, b"bin/codex", b"app-server")]
        os.kill(on.session(worker)["pid"] if whom == "the launcher" else server, signal.SIGKILL)
        ended = on.until(lambda: (now := on.session(worker))["ended_at"] and now, "its end")
    assert ended["status"] == "failed"
    assert on.processes(worker) == []


def test_a_resumed_session_continues_its_conversation(on: Stage) -> None:
    worker = idle(on, Say("Backagain."), Say("And on."))
    on.post(f"/api/sessions/{worker}/stop")
    on.post(f"/api/sessions/{worker}/resume")
    on.until(lambda: len(on.seen()) == 2, "the model's next request")
    assert on.seen()[1].turn == 1, "the conversation is not the same"
    on.until_status(worker, "idle")
    with attached(on) as person:
        person.sees("Hello.")  # the text from before the stop is shown too
        person.sees("Backagain.")


def test_codex_works_in_a_linked_folder_that_is_too_long_for_a_socket_address(
    tmp_path: Path, model: ScriptedModel
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    deep = tmp_path / "link" / ("deep" * 30)
    deep.mkdir()
    with stage("codex", deep, model, driver="terminal") as on:
        settings = on.room.home / ".codex" / "config.toml"
        before = settings.read_text()
        sent: list[str] = []

        def mailed(seen: Seen) -> Answer:
            sent.append(on.mail("worker", "The dialect is B."))
            return Shell("true")

        worker = idle(on, mailed, Say("Done."), permission="edit")
        with attached(on) as person:
            person.sees("Hello.")
            on.prompt(worker, "Go.")
            person.sees("Done.")
        assert told(on, "The dialect is B.") == [2], on.evidence()
        on.post(f"/api/sessions/{worker}/stop")
        assert on.processes(worker) == []
        assert settings.read_text().replace(NOTED, "") == before
