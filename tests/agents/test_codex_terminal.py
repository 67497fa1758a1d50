"""Codex in a terminal: the runner speaks with its app-server, and a person's own codex joins the same conversation.

What it has in common with the others is in `test_driven.py`; here is what comes of there being two of them.
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
NOTED = "\n[tui]\nscreen_reader_detection_done = true\n"  # by codex itself, at its first start in any terminal
DIALOG = "Would you like to run"
_KEYS_SECONDS = 0.6  # between a person's words and the next key: what comes faster is taken for pasted
_DIALOG_SECONDS = 1.5


@pytest.fixture
def way() -> Way:
    return "codex", "terminal"


class Person:
    """Someone who sits at the session's terminal."""

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
        """A dialog takes no keys in its first moment: they may have been meant for what was there before."""
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
    """Which of the model's requests brought something new that says this."""
    return [number for number, one in enumerate(on.seen()) if text in one.newest]


def test_a_person_sees_it_and_takes_part_and_nothing_of_theirs_is_changed(on: Stage) -> None:
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


def test_mail_while_busy_is_in_the_next_request(on: Stage) -> None:
    sent: list[str] = []

    def mailed(seen: Seen) -> Answer:
        sent.append(on.mail("worker", "The dialect is B."))
        return Shell("true")

    worker = spawn(on, mailed, Shell("true"), Say("Done."), Say("Too much."))
    on.until(lambda: sent and on.receipt(sent[0]) == "read", "its being read")
    on.until_status(worker, "idle")
    assert told(on, "The dialect is B.") == [1], on.evidence()
    assert len(on.seen()) == 3


def test_critical_mail_stops_the_next_tool_call(on: Stage) -> None:
    sent: list[str] = []

    def mailed(seen: Seen) -> Answer:
        sent.append(on.mail("worker", "Stop, all of you.", priority="critical"))
        return Shell("touch made.txt")

    worker = spawn(on, mailed, Say("I stopped."), Say("Too much."))
    on.until(lambda: sent and on.receipt(sent[0]) == "read", "its being read")
    on.until_status(worker, "idle")
    assert told(on, "Stop, all of you.") == [1], on.evidence()
    assert not (on.room.work / "made.txt").exists()


def test_a_permission_is_answered_from_outside_and_the_dialog_closes(on: Stage) -> None:
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


def test_a_permission_is_answered_in_the_terminal_and_the_request_is_withdrawn(on: Stage) -> None:
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


def test_prompts_and_mail_never_answer_a_dialog_and_none_is_lost(on: Stage) -> None:
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


def test_half_typed_text_is_kept_through_prompts_wakes_and_dialogs(on: Stage) -> None:
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


def test_whoever_ends_it_in_the_terminal_ends_the_session(on: Stage) -> None:
    worker = idle(on)
    with attached(on) as person:
        person.sees("Hello.")
        person.ends_it()
    ended = on.until(lambda: (now := on.session(worker))["ended_at"] and now, "its end")
    assert ended["status"] == "completed", on.evidence()
    assert on.processes(worker) == []


def test_it_can_be_ended_in_the_terminal_in_the_middle_of_its_work(on: Stage) -> None:
    worker = spawn(on, busy(on, 60), Say("Done."))
    on.until(lambda: has_begun(on), "its command")
    with attached(on) as person:
        person.sees("OpenAI Codex")
        person.ends_it()
    ended = on.until(lambda: (now := on.session(worker))["ended_at"] and now, "its end")
    assert ended["status"] == "completed", on.evidence()
    assert on.processes(worker) == []
    assert not (on.room.work / "ended").exists()


def test_one_that_is_done_stays_for_as_long_as_a_person_is_there(on: Stage) -> None:
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


def test_a_terminal_that_breaks_is_opened_again(on: Stage) -> None:
    worker = idle(on, Say("Stillhere."))
    with attached(on) as person:
        person.sees("Hello.")
        (terminal,) = [pid for pid in on.processes(worker) if _is(pid, b"bin/codex", b"resume")]
        os.kill(terminal, signal.SIGKILL)
        on.until(lambda: [pid for pid in on.processes(worker) if _is(pid, b"bin/codex", b"resume")], "another")
        on.prompt(worker, "Are you there?")
        person.sees("Stillhere.")


def _is(pid: int, *words: bytes) -> bool:
    """Whether it is the program itself, not what node starts it with."""
    try:
        told = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return not told[0].endswith(b"node") and all(any(one.endswith(word) for one in told) for word in words)


def test_stop_leaves_nothing_behind(on: Stage) -> None:
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
def test_a_crash_is_noticed(on: Stage, whom: str) -> None:
    worker = idle(on)
    with attached(on) as person:
        person.sees("Hello.")
        (server,) = [pid for pid in on.processes(worker) if _is(pid, b"bin/codex", b"app-server")]
        os.kill(on.session(worker)["pid"] if whom == "the launcher" else server, signal.SIGKILL)
        ended = on.until(lambda: (now := on.session(worker))["ended_at"] and now, "its end")
    assert ended["status"] == "failed"
    assert on.processes(worker) == []


def test_one_that_was_stopped_goes_on_with_its_conversation(on: Stage) -> None:
    worker = idle(on, Say("Backagain."), Say("And on."))
    on.post(f"/api/sessions/{worker}/stop")
    on.post(f"/api/sessions/{worker}/resume")
    on.until(lambda: len(on.seen()) == 2, "the model's next request")
    assert on.seen()[1].turn == 1, "its conversation is not the same"
    on.until_status(worker, "idle")
    with attached(on) as person:
        person.sees("Hello.")  # what it was before is there too
        person.sees("Backagain.")


def test_a_folder_behind_a_link_and_too_deep_for_a_sockets_address_will_do(
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
