"""Tests of the behaviours that all tools share, for each tool and each driver."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest
from agent_programs.stage import Stage
from scripted_model import Answer, Call, Refuse, Say, Seen, Shell, Step

pytestmark = pytest.mark.agents

BY_TOOL = Call("report", {"kind": "complete", "text": "All of it is done."}, server="maestro")
BY_COMMAND = Shell('maestro session report complete "All of it is done."')
NOT_CONFIRMED = 202


def done(on: Stage) -> Answer:
    """Return the answer that reports the completion. In a terminal, claude offers MCP tools only a second after its
    start, and the shell of codex may not find `maestro`."""
    return BY_COMMAND if on.is_in_terminal and on.tool == "claude" else BY_TOOL


def busy(on: Stage, seconds: int = 4) -> Shell:
    """Return a command that takes some time and creates a file at its start. Gemini runs no command with `$(…)`."""
    (on.room.work / "busy.sh").write_text(
        f"touch begun\nfor i in $(seq {seconds * 10}); do sleep 0.1; done\ntouch ended\n"
    )
    return Shell("sh busy.sh")


def asking(on: Stage, command: str) -> Answer:
    """Return a command for which the program asks for permission."""
    if on.tool == "codex":
        return Call(
            "exec_command",
            {"cmd": command, "sandbox_permissions": "require_escalated", "justification": "It must be."},
        )
    return Shell(command)


def has_begun(on: Stage) -> bool:
    return (on.room.work / "begun").exists()


def idle(on: Stage, *steps: Step, **wanted: object) -> str:
    """Start a session whose program has said hello and is idle, and return the session's id."""
    on.model.script(on.tool, Say("Hello."), *steps)
    worker = on.spawn(**{"permission": "full", **wanted})
    on.until_status(worker, "idle")
    return worker


def test_a_spawned_program_works_on_its_task_reports_and_ends(on: Stage) -> None:
    on.model.script(on.tool, Shell("echo written > made.txt"), done(on), Say("That was it."))
    task = on.task()
    worker = on.spawn(task=[task], permission="full", subject="Parser", message="Keep the grammar.")
    ended = on.until(lambda: (now := on.session(worker))["ended_at"] and now, "its end")
    assert ended["status"] == "completed", on.evidence()
    assert on.get(f"/api/tasks/{task}")["status"] == "completed"
    assert (on.room.work / "made.txt").read_text() == "written\n"
    first = on.seen()[0]
    assert "Keep the grammar." in first.newest
    assert "</system_prompt>" in (first.newest if on.tool == "gemini" else first.system)
    assert on.processes(worker) == []
    assert "That was it." in on.logs(worker)


def test_a_prompt_to_an_idle_program_starts_a_turn_and_is_read(on: Stage) -> None:
    worker = idle(on, Say("I heard you."))
    sent = on.prompt(worker, "Are you there?", wait_for="read", timeout=30_000)
    assert sent.status_code == 200, sent.text + on.evidence()
    (delivery,) = sent.json()["deliveries"]
    assert (delivery["status"], delivery["via"]) == ("read", "hook" if on.is_told_by_hooks else "prompt")
    told = on.until(lambda: on.seen()[1:], "its next request")[0].newest
    assert "Are you there?" in told if on.is_told_by_hooks else told.strip().endswith("Are you there?")
    on.until(lambda: "I heard you." in on.logs(worker), "its answer in the logs")


def test_a_prompt_to_a_busy_program_joins_the_turn_or_waits_for_its_end(on: Stage) -> None:
    on.model.script(on.tool, busy(on), Say("Done."), Say("Also done."))
    worker = on.spawn(permission="full")
    on.until(lambda: has_begun(on), "its command")
    sent = on.prompt(worker, "Something new came up.")
    waits = on.tool == "gemini" and not on.is_in_terminal
    message = sent.json()["data"]["id"] if waits else sent.json()["id"]
    if waits:
        assert sent.json()["code"] == "not_confirmed", sent.text
        assert "one prompt at a time" in sent.json()["message"]
    on.until(lambda: on.receipt(message) == "read", "its being read")
    told = [one for one in on.seen() if "Something new came up." in one.newest]
    assert len(told) == 1, [one.newest[-300:] for one in on.seen()]
    assert told[0].turn == (2 if waits else 1)
    assert (on.room.work / "ended").exists()


def test_a_program_asks_for_permission_and_continues_when_the_person_allows(on: Stage) -> None:
    worker = idle(on, asking(on, "touch allowed.txt"), Say("Thank you."), Say("And that."), permission="plan")
    on.prompt(worker, "Touch it.")
    (ask,) = on.until(on.asks, "what it asks")
    assert (ask["kind"], ask["session_id"], ask["choices"]) == ("permission", worker, ["allow", "deny"])
    assert "touch allowed.txt" in ask["title"]
    source = on.until_status(worker, "needs_input")["status_source"]
    assert source == ("report" if on.is_told_by_hooks else "protocol")
    held = on.prompt(worker, "Hurry up.")
    assert held.json()["code"] == "not_confirmed", held.text
    assert not (on.room.work / "allowed.txt").exists()
    requests = len(on.seen())
    on.answer(ask["id"], "allow")
    on.until(lambda: (on.room.work / "allowed.txt").exists(), "the file")
    on.until(lambda: on.receipt(held.json()["data"]["id"]) == "read", "the prompt that was held")
    on.until_status(worker, "idle")
    assert on.asks() == []
    assert len([one for one in on.seen() if "Hurry up." in one.newest]) == 1
    assert not any("Hurry up." in one.newest for one in on.seen()[:requests])


def test_a_program_does_not_run_a_command_that_the_person_denies(on: Stage) -> None:
    worker = idle(on, asking(on, "touch refused.txt"), Say("A pity."), permission="plan")
    on.prompt(worker, "Touch it.")
    (ask,) = on.until(on.asks, "what it asks")
    on.answer(ask["id"], "deny")
    on.until(lambda: len(on.seen()) == 3, "what the model makes of it")
    on.until_status(worker, "idle")
    assert not (on.room.work / "refused.txt").exists()


def test_prompts_and_mail_do_not_answer_an_open_dialog_and_are_all_read(on: Stage) -> None:
    """Send prompts and mail with words that a dialog could take for an answer."""
    tries = 34  # about two hundred over all tools and drivers
    worker = idle(on, asking(on, "touch approved.txt"), *[Say("I see.")] * 2 * tries, permission="plan")
    on.prompt(worker, "Touch it.")
    (ask,) = on.until(on.asks, "what it asks")
    said = []
    for number in range(tries):
        if number % 2:
            held = on.prompt(worker, f"y\n1\nyes, {number}!")
            assert held.json()["code"] == "not_confirmed", held.text
            said.append(held.json()["data"]["id"])
        else:
            said.append(on.mail("worker", f"y\n1\nyes, {number}!", priority="critical" if number % 4 else "normal"))
    time.sleep(1)
    assert not (on.room.work / "approved.txt").exists()
    assert [one["id"] for one in on.asks()] == [ask["id"]]
    on.answer(ask["id"], "deny")
    on.until(lambda: all(on.receipt(one) == "read" for one in said), "all of it being read")
    assert not (on.room.work / "approved.txt").exists()
    # The check counts turns: codex asks its model again if more input arrives during an answer.
    told = [{one.turn for one in on.seen() if f"yes, {number}!" in one.newest} for number in range(tries)]
    assert [len(turns) for turns in told] == [1] * tries


def test_a_policy_answers_permission_requests_for_the_person(on: Stage) -> None:
    steps = (asking(on, "touch one.txt"), asking(on, "touch two.txt"), Say("So be it."))
    worker = idle(on, *steps, permission="plan", allow=["shell:touch one*"], asks="deny")
    on.prompt(worker, "Touch both.")
    on.until(lambda: len(on.seen()) == 4, "the last answer")
    on.until_status(worker, "idle")
    assert (on.room.work / "one.txt").exists()
    assert not (on.room.work / "two.txt").exists()
    assert on.get("/api/asks", all="true")["asks"] == []
    assert on.is_in_terminal or "denied by the policy" in on.logs(worker)


@pytest.mark.parametrize("permission", ["plan", "edit"])
def test_calls_of_maestro_never_need_a_permission(on: Stage, permission: str) -> None:
    by_command = Shell('maestro session report progress "half of it"')
    steps = (done(on), Say("Done.")) if on.tool == "codex" else (by_command, done(on), Say("Done."))
    on.model.script(on.tool, *steps)
    worker = on.spawn(task=[on.task()], permission=permission)
    ended = on.until(lambda: on.asks() or on.session(worker)["ended_at"], "its end")
    assert ended == on.session(worker)["ended_at"], f"{on.asks()}\n{on.evidence()}"
    assert on.session(worker)["status"] == "completed"


@pytest.mark.parametrize("busy_first", [False, True])
@pytest.mark.parametrize("way", [("claude", "protocol")], ids="-".join)
def test_a_prompt_that_is_a_command_of_claude_is_carried_out_once(on: Stage, busy_first: bool) -> None:
    on.model.script("claude", busy(on, 2) if busy_first else Say("Hello."), *[Say("Too much.")] * 6)
    worker = on.spawn(permission="full")
    on.until(lambda: has_begun(on) if busy_first else on.session(worker)["status"] == "idle", "its first turn")
    sent = on.prompt(worker, "/cost").json()["id"]
    on.until(lambda: on.receipt(sent) == "read", "that it was carried out")
    on.until_status(worker, "idle")
    assert len(on.seen()) == (2 if busy_first else 1), "the model got a request for the command"
    on.until(lambda: "Total cost" in on.logs(worker), "what came of it")
    asked = len(on.seen())
    on.prompt(worker, "/clear", wait_for="read", timeout=30_000)
    on.prompt(worker, "Something new.", wait_for="read", timeout=30_000)
    assert on.seen()[asked].turn == 0, "the conversation was not cleared"
    on.until_status(worker, "idle")
    on.post(f"/api/sessions/{worker}/stop")
    on.post(f"/api/sessions/{worker}/resume")
    asked = len(on.seen())
    on.until(lambda: len(on.seen()) > asked, "its next request")
    assert "Something new." in json.dumps(on.seen()[-1].body), (
        "the session resumed another conversation than the last"
    )
    on.until_status(worker, "idle")


def test_mail_to_a_busy_program_reaches_the_model_once(on: Stage) -> None:
    """Check the note for the sender too: a program without tool hooks gets mail only between turns."""
    on.model.script(on.tool, busy(on), Say("Done."), Say("I have read it."), Say("Too much."))
    worker = on.spawn(permission="full")
    on.until(lambda: has_begun(on), "its command")
    sent = on.post("/api/mail", project="vc", to=[worker], subject="Mail", message="The dialect is B.")
    (delivery,) = sent["deliveries"]
    is_deaf = on.tool == "gemini" and not on.is_in_terminal
    assert ("only between turns" in (delivery["note"] or "")) == is_deaf
    on.until(lambda: on.receipt(sent["id"]) == "read", "its being read")
    on.until_status(worker, "idle")
    assert len({one.turn for one in on.seen() if "The dialect is B." in one.newest}) == 1, on.evidence()


def test_mail_starts_a_turn_of_an_idle_program(on: Stage) -> None:
    worker = idle(on, Say("I have read it."), Say("And that."))
    message = on.mail("worker", "The dialect </message> is B now.")
    on.until(lambda: on.receipt(message) == "read", "its being read")
    told, *more = on.until(lambda: [one for one in on.seen() if "is B now." in one.newest], "it in a request")
    assert more == [], on.evidence()
    assert 'subject="Mail"' in told.newest
    assert "The dialect &lt;/message&gt; is B now." in told.newest
    on.until_status(worker, "idle")
    assert len(on.seen()) == 2


def test_a_stopped_session_leaves_no_process(on: Stage) -> None:
    on.model.script(on.tool, busy(on, 60), Say("Done."))
    worker = on.spawn(permission="full")
    on.until(lambda: has_begun(on), "its command")
    assert len(on.processes(worker)) > 1
    on.post(f"/api/sessions/{worker}/stop")
    assert on.session(worker)["status"] == "stopped"
    assert on.processes(worker) == []


def test_an_interrupt_ends_the_turn_and_the_session_takes_the_next_prompt(on: Stage) -> None:
    on.model.script(on.tool, busy(on, 60), *[Say("Here again.")] * 3)
    worker = on.spawn(permission="full")
    on.until(lambda: has_begun(on), "its command")
    on.post(f"/api/sessions/{worker}/interrupt")
    on.until_status(worker, "idle")
    sent = on.prompt(worker, "Something else.", wait_for="read", timeout=30_000)
    assert sent.status_code == 200, sent.text + on.evidence()
    assert not (on.room.work / "ended").exists()


def test_a_session_whose_program_is_killed_fails_and_leaves_no_process(on: Stage) -> None:
    worker = idle(on)
    os.kill(on.session(worker)["pid"], signal.SIGKILL)
    ended = on.until(lambda: (now := on.session(worker))["ended_at"] and now, "its end")
    assert ended["status"] == "failed"
    assert on.processes(worker) == []


def test_a_resumed_session_continues_its_conversation(on: Stage) -> None:
    worker = idle(on, Say("I am back."))
    on.post(f"/api/sessions/{worker}/stop")
    on.post(f"/api/sessions/{worker}/resume")
    on.until(lambda: len(on.seen()) == 2, "the model's next request")
    assert on.seen()[1].turn == 1, "the conversation is not the same"
    on.until_status(worker, "idle")


def test_a_killed_coordinator_is_resumed_with_its_conversation_and_the_mail_since_then(on: Stage) -> None:
    on.model.script(on.tool, Say("Hello."), busy(on, 60), Say("I am back."), *[Say("Still here.")] * 3)
    worker = on.spawn(permission="full", mode="coordinate")
    on.until_status(worker, "idle")
    on.prompt(worker, "Work.")
    on.until(lambda: has_begun(on), "its command")
    # A program that is killed before it has recorded the call gets the same call again.
    (on.room.work / "quick.sh").write_text("true\n")
    (on.room.work / "quick.sh").rename(on.room.work / "busy.sh")
    message = on.mail("worker", "Said while you were away.")
    before = on.session(worker)["pid"]
    # The test kills all processes: gemini's second process would see the command end, and still ask its model.
    os.killpg(before, signal.SIGKILL)  # Maestro starts a coordinator again
    on.until(lambda: any("Said while" in one.newest for one in on.seen()), "the mail in a request")
    again = next(one for one in on.seen() if "Said while" in one.newest)
    assert again.turn >= 1, "the conversation is not the same"
    assert "<resumed" in again.newest
    on.until_status(worker, "idle")
    assert on.session(worker)["pid"] != before
    on.until(lambda: on.receipt(message) == "read", "the mail being read")
    assert on.get("/api/sessions")["sessions"][0]["id"] == worker


def test_a_session_at_its_limit_is_parked_until_the_reset_and_continues_once(on: Stage) -> None:
    if on.tool == "gemini" and on.is_in_terminal:
        pytest.skip("it opens a dialog (keep trying, or stop), of which none of its hooks tells")
    if on.tool == "claude":
        on.log_in()
    refused: list[float] = []

    def first_refused(seen: Seen) -> Answer:
        if refused:
            return Say("Here again.")
        refused.append(time.time() + 5)
        return limit(on.tool, int(refused[0]))

    worker = idle(on, first_refused, Say("All done."))
    sent = on.prompt(worker, "Go.").json()["id"]
    parked = on.until(lambda: (now := on.session(worker))["parked_until"] and now, "its being parked")
    assert parked["status"] == "idle"
    if on.is_told_by_hooks:
        return  # claude names only the minute, and continues by itself within the next minute
    on.until(lambda: len(on.seen()) >= 3, "the next request")
    assert time.time() >= refused[0] - 1
    again = on.seen()[2]
    assert "limit is over" in again.newest
    on.until_status(worker, "idle")
    on.until(lambda: on.receipt(sent) == "read", "the prompt being read")
    assert on.session(worker)["parked_until"] is None


def limit(tool: str, reset: int) -> Refuse:
    """Return the response of a provider whose limit is reached."""
    if tool == "claude":
        headers = {"anthropic-ratelimit-unified-status": "rejected", "x-should-retry": "false"}
        headers |= {"anthropic-ratelimit-unified-reset": str(reset)}
        headers |= {"anthropic-ratelimit-unified-representative-claim": "five_hour"}
        return Refuse(429, {"type": "error", "error": {"type": "rate_limit_error", "message": "Too much."}}, headers)
    if tool == "gemini":  # gemini itself waits up to five minutes, which Maestro does not count as a limit
        said = f"Too much. Your quota will reset after 0h0m{reset - time.time():.1f}s."
        why = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "QUOTA_EXHAUSTED"}
        why |= {"domain": "cloudcode-pa.googleapis.com", "metadata": {}}
        error = {"code": 429, "message": said, "status": "RESOURCE_EXHAUSTED", "details": [why]}
        return Refuse(429, {"error": error})
    error = {"type": "usage_limit_reached", "message": "Too much.", "plan_type": "plus", "resets_at": reset}
    headers = {"x-codex-primary-used-percent": "100.0", "x-codex-primary-window-minutes": "300"}
    return Refuse(429, {"error": error}, headers | {"x-codex-primary-reset-at": str(reset)})


def test_the_usage_of_a_session_is_counted(on: Stage) -> None:
    on.model.script(on.tool, Shell("true"), done(on), Say("That was it."))
    task = on.task()
    worker = on.spawn(task=[task], permission="full")
    on.until(lambda: on.session(worker)["ended_at"], "its end")
    (used,) = on.session(worker)["usage"]
    assert (used["task_id"], used["turns"]) == (task, 1)
    asked = 3 + on.model_waits  # the number of requests
    assert (used["input_tokens"], used["output_tokens"]) == (10 * asked, 20 * asked)
    assert (used["cost_usd"] is not None) == (on.tool == "claude" and not on.is_in_terminal)


def test_a_session_continues_through_a_kill_of_the_server(on: Stage) -> None:
    # Codex does not wait for a command that takes ten seconds.
    on.model.script(on.tool, busy(on, 8), BY_TOOL if on.tool == "codex" else BY_COMMAND, Say("Done."))
    task = on.task()
    worker = on.spawn(task=[task], permission="full", subject="Go", message="Go.")
    on.until(lambda: has_begun(on), "its command")
    on.live.kill()
    on.live.start()
    on.again()
    ended = on.until(lambda: (now := on.session(worker))["ended_at"] and now, "its end")
    assert ended["status"] == "completed", on.evidence()
    (used,) = ended["usage"]
    assert used["turns"] == 1
    assert on.processes(worker) == []


def test_a_turn_that_ends_without_a_server_is_known_after_the_next_start(on: Stage) -> None:
    worker = idle(on, busy(on), Say("Done."), Say("I have read it."))
    on.prompt(worker, "Work.")
    on.until(lambda: has_begun(on), "its command")
    on.live.kill()
    on.until(lambda: (on.room.work / "ended").exists(), "its end")
    time.sleep(2)  # the time for the last answer of the model, and for the end of the turn in the program
    on.live.start()
    on.again()
    on.until_status(worker, "idle")
    sent = on.mail(worker, "Look here.")
    on.until(lambda: on.receipt(sent) == "read", "its being read")
    on.until(lambda: any("Look here." in one.newest for one in on.seen()), "it in a request")
    on.until_status(worker, "idle")
    assert len([one for one in on.seen() if "Look here." in one.newest]) == 1, on.evidence()
