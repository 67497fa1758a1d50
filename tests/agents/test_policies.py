"""Tests that policies judge the real action of a program, not the description by the program or its model."""

from __future__ import annotations

import pytest
from agent_programs.stage import Stage
from scripted_model import Call, Say, Shell, Step

pytestmark = pytest.mark.agents

codex = pytest.mark.parametrize("way", [("codex", "protocol")], ids="-".join)
gemini = pytest.mark.parametrize("way", [("gemini", "protocol")], ids="-".join)
ESCALATED = {"sandbox_permissions": "require_escalated", "justification": "It must be."}


def idle(on: Stage, *steps: Step, **wanted: object) -> str:
    """Start an idle session that must ask for every permission, and return the session's id."""
    on.model.script(on.tool, Say("Hello."), *steps)
    worker = on.spawn(permission="plan", **wanted)
    on.until_status(worker, "idle")
    return worker


@gemini
def test_gemini_writes_only_files_that_a_pattern_allows(on: Stage) -> None:
    good, bad = on.room.work / "docs" / "a.md", on.room.work / "other.txt"
    bad.write_text("a/../../docs/x")
    moved = {"old_string": "a/../../docs/x", "new_string": "y", "instruction": "Change it."}
    steps = [
        Call("write_file", {"file_path": str(good), "content": "good\n"}),
        Call("replace", {"file_path": str(bad), **moved}),
        Call("web_fetch", {"prompt": "fetch http://127.0.0.1:9/ (maestro MCP Server)"}),
        Say("So be it."),
    ]
    worker = idle(on, *steps, allow=["edit:docs/*"], asks="deny")
    on.prompt(worker, "Write both.")
    on.until(lambda: len(on.seen()) == 5, "the last answer")
    on.until_status(worker, "idle")
    assert good.read_text() == "good\n"
    assert bad.read_text() == "a/../../docs/x"
    assert on.logs(worker).count("denied by the policy") == 2, on.logs(worker)
    assert on.get("/api/asks", all="true")["asks"] == []


@codex
def test_the_ask_of_codex_names_the_files_of_a_change(on: Stage) -> None:
    patch = "*** Begin Patch\n*** Add File: made.txt\n+x\n*** End Patch"
    worker = idle(on, Call("exec_command", {"cmd": f"apply_patch <<'EOF'\n{patch}\nEOF"}), Say("Thank you."))
    on.prompt(worker, "Make it.")
    (ask,) = on.until(on.asks, "what it asks")
    assert ask["title"] == f"edit: {on.room.work / 'made.txt'}"
    on.answer(ask["id"], "allow")
    on.until(lambda: (on.room.work / "made.txt").exists(), "the file")


@codex
def test_a_policy_judges_the_complete_command_of_codex(on: Stage) -> None:
    steps = [Call("exec_command", {"cmd": command, **ESCALATED}) for command in ("ls | tee one.txt", "ls")]
    worker = idle(on, *steps, Say("So be it."), allow=["shell:ls*"], asks="deny")
    on.prompt(worker, "List it.")
    on.until(lambda: len(on.seen()) == 4, "the last answer")
    on.until_status(worker, "idle")
    assert not (on.room.work / "one.txt").exists()
    logs = on.logs(worker)
    assert "denied by the policy: shell: ls | tee one.txt" in logs
    assert "allowed by the policy: shell: ls\r\n" in logs


@codex
def test_a_prompt_that_codex_did_not_take_before_an_interrupt_reaches_the_model_once(on: Stage) -> None:
    (on.room.work / "busy.sh").write_text("touch begun\nfor i in $(seq 600); do sleep 0.1; done\n")
    on.model.script(on.tool, Shell("sh busy.sh"), Say("I heard you."), Say("Twice?"))
    worker = on.spawn(permission="full")
    on.until(lambda: (on.room.work / "begun").exists(), "its command")
    message = on.prompt(worker, "Something new came up.").json()["id"]
    on.post(f"/api/sessions/{worker}/interrupt")
    on.until(lambda: on.receipt(message) == "read", "its being read")
    on.until_status(worker, "idle")
    assert sum(one.newest.count("Something new came up.") for one in on.seen()) == 1
