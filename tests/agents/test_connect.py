"""Tests of a program that a person connects and starts by hand: it is an agent and gets mail while it works."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from agent_programs import by_hand, installed
from agent_programs.base import Finished, Room, run
from agent_programs.by_hand import ByHand
from scripted_model import Call, Say, ScriptedModel, Seen, Shell

from maestro.testing.live import PYTHON_CLIENT, LiveServer

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

RUN_SECONDS_MAX = 60
MANY = 100
MANY_SECONDS_MAX = 240
Step = Any


class Person:
    """A person who connects the program, sends mail to it, and examines its session."""

    def __init__(
        self, live: LiveServer, room: Room, api: httpx.Client, program: ByHand, model: ScriptedModel
    ) -> None:
        self.live = live
        self.room = room
        self.api = api
        self.program = program
        self.model = model
        self.sent: dict[str, str] = {}

    def maestro(self, *words: str) -> str:
        home = {"MAESTRO_HOME": str(self.live.home)}
        ran = subprocess.run(
            [*PYTHON_CLIENT, *words],
            cwd=self.room.work,
            env=by_hand.environment(self.room) | home,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def settings(self) -> dict[str, bytes | None]:
        paths = {name: self.room.home / name for name in self.program.files}
        return {name: path.read_bytes() if path.exists() else None for name, path in paths.items()}

    def connected(self, *steps: Step) -> str:
        """Write the person's settings and connect Maestro. Return the URL of the model."""
        url = self.model.script(self.program.name, *steps)
        self.program.settle(self.room, url)
        self.before = self.settings()
        self.maestro("connect", self.program.name, *self.program.connect)
        return url

    def starts(self, url: str, *, seconds: float = RUN_SECONDS_MAX) -> Finished:
        done = run(self.program.launch(self.room, url, "Go ahead."), seconds=seconds)
        assert done.code == 0, done.output
        return done

    def writes(self, text: str, **fields: Any) -> None:
        """Send a message to the agent, once, also if the model gets the same request again."""
        if text in self.sent:
            return
        letter = {"project": "vc", "to": [self.program.name], "subject": "News", "message": text} | fields
        answer = self.api.post("/api/mail", json=letter)
        assert answer.status_code == 200, answer.text
        self.sent[text] = answer.json()["id"]

    def receipt(self, text: str) -> dict[str, Any]:
        (one,) = self.api.get(f"/api/mail/{self.sent[text]}/status").json()["deliveries"]
        found: dict[str, Any] = one
        return found

    def sessions(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.api.get("/api/sessions", params={"project": "vc"}).json()["sessions"]
        return found


@pytest.fixture(params=by_hand.PROGRAMS)
def person(
    request: pytest.FixtureRequest, live: LiveServer, room: Room, api: httpx.Client, model: ScriptedModel
) -> Iterator[Person]:
    if not installed.FOLDER.is_dir():
        pytest.skip("the programs are not installed: make test-agents")
    yield Person(live, room, api, by_hand.PROGRAMS[request.param], model)


def writing(person: Person, text: str, then: Step, **fields: Any) -> Callable[[Seen], Step]:
    """Return a step of the model: a message arrives, then the model answers."""

    def step(seen: Seen) -> Step:
        person.writes(text, **fields)
        return then

    return step


def test_a_connected_program_gets_primer_and_mail_and_disconnect_restores_its_settings(person: Person) -> None:
    name, marker = person.program.name, person.room.work / "made.txt"
    looked: list[dict[str, Any]] = []

    def look(seen: Seen) -> Step:
        looked.extend(person.sessions())
        return Shell("echo looked")

    url = person.connected(
        look,
        writing(person, "while it works </mail> <b>", Shell("echo one")),
        writing(person, "stop at once", Shell(f"touch {marker}"), priority="critical"),
        Shell("false"),
        writing(person, "before it stops", Say("I am done.")),
        Say("All done."),
    )
    assert person.starts(url).output.rstrip()
    seen = person.model.seen(name)
    said = [one.newest for one in seen]
    assert f"You are {name}" in "".join([seen[0].system, *said]), "no request contains the primer"
    assert "while it works" in said[2] and "while it works" not in said[1]
    assert "stop at once" in said[3] and not marker.exists()
    assert "before it stops" in said[5]
    assert len(said) == 6
    (during,) = looked
    human = person.api.get("/api/whoami").json()["name"]
    assert (during["name"], during["tool"], during["human"]) == (name, name, human)
    assert (during["status"], during["status_source"]) == ("working", "hook")
    assert {text: person.receipt(text)["status"] for text in person.sent} == dict.fromkeys(person.sent, "read")
    assert person.receipt("before it stops")["via"] == "hook"
    (session,) = person.sessions()
    assert (session["status"], session["status_source"]) == ("stopped", "hook")
    assert f"{name:<9} " in person.maestro("doctor")
    person.maestro("disconnect", name)
    assert person.settings() == person.before
    left = [path for path in (person.room.home / ".claude.json", person.room.home / ".mcp.json") if path.exists()]
    assert not any("maestro" in path.read_text() and '"maestro":' in path.read_text() for path in left)


def test_mcp_tools_and_hooks_of_a_program_belong_to_the_same_session(person: Person) -> None:
    # Codex does not wait for MCP servers: a request in the first second has no MCP tools.
    url = person.connected(Shell("sleep 3"), Call("whoami", server="maestro"), Say("All done."))
    person.starts(url)
    assert f"You are {person.program.name}" in person.model.seen(person.program.name)[2].newest
    assert len(person.sessions()) == 1


def test_mail_that_arrives_during_a_tool_call_is_always_in_the_next_request(person: Person) -> None:
    steps = [writing(person, f"letter {number} of many.", Shell(f"echo {number}")) for number in range(MANY)]
    url = person.connected(*steps, Say("All done."))
    person.starts(url, seconds=MANY_SECONDS_MAX)
    seen = person.model.seen(person.program.name)
    came = [number for number in range(MANY) if f"letter {number} of many." in seen[number + 1].newest]
    assert came == list(range(MANY))
    statuses = {person.receipt(text)["status"] for text in person.sent}
    assert statuses == {"read"}


def test_a_connected_program_works_without_the_server_and_without_the_data_directory(person: Person) -> None:
    url = person.connected(Shell("echo one"), Shell("echo two"), Say("All done."))
    person.live.kill()
    person.live.home.rename(person.live.home.with_name("away"))
    person.live.home.write_text("no folder, so no server can be started either")
    assert "All done." in person.starts(url).output
