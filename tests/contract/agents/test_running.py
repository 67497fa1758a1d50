"""Tests of each tool with a running program: a plain program, and the real programs with a scripted model."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_programs import installed
from agent_programs.stage import Stage, stage
from scripted_model import Say, ScriptedModel

from maestro.domain.members import COMMAND_TOOL
from maestro.tools import registry

_REAL = ("claude", "codex", "gemini")
# Other tools are on the PATH already: test_new_tool.py runs this module with an added tool.
_OTHERS = [tool for tool in registry.TOOLS if tool not in (*_REAL, COMMAND_TOOL)]
_PLAIN = ["sh", "-c", "echo Hello.; while read line; do echo heard: $line; done"]


@pytest.fixture(params=[COMMAND_TOOL, *_OTHERS, *(pytest.param(tool, marks=pytest.mark.agents) for tool in _REAL)])
def on(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    if request.param in _REAL and not installed.FOLDER.is_dir():
        pytest.skip("the programs are not installed: make test-agents")
    with ScriptedModel() as model, stage(request.param, tmp_path, model) as made:
        yield made


@pytest.fixture
def worker(on: Stage) -> str:
    """Start a session whose program has said hello, and return the session's id."""
    on.model.script(on.tool, Say("Hello."), Say("heard: you"), Say("Yes."))
    wanted: dict[str, Any] = {"tool": None, "arguments": _PLAIN} if on.tool == "command" else {"permission": "full"}
    session = on.spawn(**wanted)
    on.until(lambda: "Hello." in on.logs(session), "its first words")
    if on.tool != "command":
        on.until_status(session, "idle")  # gemini takes the next prompt only when idle
    return session


def test_a_prompt_reaches_the_program_and_the_program_answers(on: Stage, worker: str) -> None:
    sent = on.prompt(worker, "Are you there?", wait_for="delivered", timeout=30_000)
    assert sent.status_code == 200, sent.text
    on.until(lambda: "heard:" in on.logs(worker), "its answer")


def test_a_stopped_session_leaves_no_process(on: Stage, worker: str) -> None:
    assert on.processes(worker)
    on.post(f"/api/sessions/{worker}/stop")
    assert on.session(worker)["status"] == "stopped"
    assert on.processes(worker) == []


def test_a_session_whose_program_is_killed_fails_and_leaves_no_process(on: Stage, worker: str) -> None:
    os.kill(on.session(worker)["pid"], signal.SIGKILL)
    ended = on.until(lambda: (now := on.session(worker))["ended_at"] and now, "its end")
    assert ended["status"] == "failed"
    assert on.processes(worker) == []
