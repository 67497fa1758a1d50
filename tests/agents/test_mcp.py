"""Tests that each program calls Maestro's MCP tools as its own session, and passes the results to its model."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from agent_programs.base import SERVER, Http, Program, Room, Stdio, run
from scripted_model import Call, Say, ScriptedModel, Seen, Shell

from maestro.testing.live import PYTHON_CLIENT, LiveServer

pytestmark = pytest.mark.agents

RUN_SECONDS_MAX = 60
LETTER = {"to": ["human"], "subject": "From the agent", "message": "The tools work."}


def stdio(live: LiveServer, **environment: str) -> Stdio:
    return Stdio([*PYTHON_CLIENT, "mcp"], {"MAESTRO_HOME": str(live.home), **environment})


def talk(program: Program, room: Room, model: ScriptedModel, mcp: Stdio | Http) -> list[Seen]:
    """Let the model call whoami and send mail to the person. Return the requests to the model."""
    steps = (Call("whoami", server=SERVER), Call("send", LETTER, server=SERVER), Say("All done."))
    url = model.script(program.name, *steps)
    done = run(program.once(room, model=url, mcp=mcp, prompt="Go ahead."), seconds=RUN_SECONDS_MAX)
    seen = model.seen(program.name)
    assert (done.code, "All done." in done.output, len(seen)) == (0, True, 3), done.output
    assert "Go ahead." in seen[0].newest
    return seen


def inbox(api: httpx.Client) -> list[dict[str, Any]]:
    answer = api.get("/api/mail/inbox", params={"project": "vc"})
    assert answer.status_code == 200, answer.text
    mail: list[dict[str, Any]] = answer.json()["messages"]
    return mail


def sessions(api: httpx.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.get("/api/sessions", params={"project": "vc"}).json()["sessions"]
    return found


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_a_program_with_a_token_acts_as_the_session_of_the_token(
    program: Program, way: str, room: Room, model: ScriptedModel, live: LiveServer, api: httpx.Client
) -> None:
    session = api.post("/api/sessions", json={"project": "vc", "name": "parser"}).json()
    token = session["token"]
    mcp = Http(f"{live.url}/mcp", token) if way == "http" else stdio(live, MAESTRO_TOKEN=token)
    seen = talk(program, room, model, mcp)
    assert "You are parser" in seen[1].newest
    (letter,) = inbox(api)
    assert letter["subject"] == LETTER["subject"]
    assert letter["sender"]["id"] == session["id"]
    assert letter["id"] in seen[2].newest
    assert [one["id"] for one in sessions(api)] == [session["id"]]


def test_a_program_that_a_person_started_becomes_a_session(
    program: Program, room: Room, model: ScriptedModel, live: LiveServer, api: httpx.Client
) -> None:
    seen = talk(program, room, model, stdio(live))
    assert f"You are {program.name}" in seen[1].newest
    (session,) = sessions(api)
    assert (session["name"], session["tool"]) == (program.name, program.name)
    (letter,) = inbox(api)
    assert letter["sender"]["id"] == session["id"]


def test_a_program_outside_a_project_is_told_to_run_maestro_init(
    program: Program, room: Room, model: ScriptedModel, live: LiveServer
) -> None:
    url = model.script(program.name, Call("whoami", server=SERVER), Say("All done."))
    done = run(program.once(room, model=url, mcp=stdio(live), prompt="Go ahead."), seconds=RUN_SECONDS_MAX)
    assert "All done." in done.output, done.output
    assert "maestro init" in model.seen(program.name)[1].newest


def test_a_program_runs_the_shell_commands_of_its_model(
    program: Program, room: Room, model: ScriptedModel, live: LiveServer
) -> None:
    url = model.script(
        program.name, Shell("echo written > made.txt; echo said"), lambda seen: Say(seen.newest[-200:])
    )
    done = run(program.once(room, model=url, mcp=stdio(live), prompt="Go ahead."), seconds=RUN_SECONDS_MAX)
    assert done.code == 0, done.output
    assert (room.work / "made.txt").read_text() == "written\n"
    assert "said" in model.seen(program.name)[1].newest
