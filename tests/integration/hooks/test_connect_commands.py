"""`maestro connect`, `disconnect` and `doctor` as a person runs them, without any agent program."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from maestro.client.connect import entries
from maestro.testing.live import PYTHON_CLIENT, LiveServer

SETTINGS = '{\n  // mine\n  "ui": {"theme": "dark"},\n}\n'


class Person:
    def __init__(self, live: LiveServer, folder: Path) -> None:
        self.live = live
        self.home = folder / "person"
        self.work = folder / "work"
        self.programs = folder / "programs"
        for one in (self.home, self.work, self.programs):
            one.mkdir()
        (self.home / ".gemini").mkdir()
        self.settings = self.home / ".gemini" / "settings.json"
        self.settings.write_text(SETTINGS)

    def runs(self, *words: str, code: int = 0, **variables: str) -> str:
        named = {"HOME": str(self.home), "PATH": f"{self.programs}:/usr/bin:/bin", **variables}
        ran = subprocess.run(
            [*PYTHON_CLIENT, *words],
            cwd=self.work,
            env=self.live.environment(**named),
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stdout + ran.stderr

    def has(self, tool: str, version: str) -> None:
        """Installs a program that can only tell its version."""
        program = self.programs / tool
        program.write_text(f"#!/bin/sh\necho '{version} (something)'\n")
        program.chmod(0o755)


@pytest.fixture
def person(live: LiveServer, tmp_path: Path) -> Iterator[Person]:
    yield Person(live, tmp_path)


def test_it_is_shown_done_tried_and_undone(person: Person) -> None:
    shown = person.runs("connect", "gemini", "--dry-run")
    assert "+++" in shown and '+  "hooks": {' in shown and '"ui"' in shown
    assert person.settings.read_text() == SETTINGS
    said = person.runs("connect", "gemini")
    assert "8 of 8 hooks were fired and answered" in said and "gemini is connected" in said
    assert person.settings.read_text() != SETTINGS
    assert "already up to date" in person.runs("connect", "gemini")
    assert "nothing to change" in person.runs("connect", "gemini", "--dry-run")
    assert "-  " in person.runs("disconnect", "gemini", "--dry-run")
    assert "Maestro was removed" in person.runs("disconnect", "gemini")
    assert person.settings.read_text() == SETTINGS
    assert person.runs("disconnect", "gemini") == "", "there is nothing left to do"
    assert any((person.live.home / "connect").glob("*.before")), "the copy stays"


def test_in_a_project(person: Person) -> None:
    (person.work / ".git").mkdir()
    deep = person.work / "a" / "b"
    deep.mkdir(parents=True)
    person.runs("connect", "claude", "--scope", "project")
    assert json.loads((person.work / ".mcp.json").read_text())["mcpServers"].keys() == {"maestro"}
    assert (person.work / ".claude" / "settings.json").exists()
    assert sorted(one.name for one in person.home.iterdir()) == [".gemini"], "nobody's own settings are touched"
    person.runs("disconnect", "claude")
    assert sorted(one.name for one in person.work.iterdir()) == [".git", "a"]


def test_one_file_that_cannot_be_changed_keeps_all_as_they_are(person: Person) -> None:
    (person.home / ".claude.json").write_text("{broken")
    said = person.runs("connect", "claude", code=1)
    assert ".claude.json is not changed: the file cannot be read" in said and "nothing was changed" in said
    assert not (person.home / ".claude").exists()
    person.runs("connect", "claude", "--dry-run", code=1)


def test_what_is_asked_wrongly_is_refused(person: Person) -> None:
    assert "usage: maestro connect" in person.runs("connect", code=2)
    assert "invalid choice" in person.runs("connect", "vim", code=2)
    assert "invalid choice" in person.runs("connect", "claude", "--scope", "moon", code=2)


def test_an_agent_does_not_change_its_persons_settings(person: Person) -> None:
    """A server refuses the token; without one the client refuses every token."""
    for word in ("connect", "disconnect"):
        said = person.runs(word, "gemini", code=4, MAESTRO_TOKEN="mst_x")
        assert "only the person" in said or "The token is not valid" in said
    assert person.settings.read_text() == SETTINGS


def test_without_a_server_that_can_be_started_the_hooks_are_said_to_be_untried(
    person: Person, tmp_path: Path
) -> None:
    said = person.runs("connect", "gemini", code=1, MAESTRO_SOCKET=str(tmp_path / "none"))
    assert "were not tested" in said
    assert "maestro hook" in person.settings.read_text()


def test_the_doctor_finds_nothing_wrong_where_nothing_is(person: Person) -> None:
    person.has("gemini", "0.61.0")
    said = person.runs("doctor")
    assert "gemini    0.61.0" in said and "not connected: maestro connect gemini" in said
    assert "claude    not found" in said and "nothing is wrong" in said
    person.runs("connect", "gemini")
    said = person.runs("doctor")
    assert "connected (user): 8 hooks" in said and "fired: none yet" in said and "nothing is wrong" in said


def test_the_doctor_says_what_is_wrong_and_mends_it(person: Person) -> None:
    person.has("gemini", "0.99.1")
    person.runs("connect", "gemini")
    text = person.settings.read_text()
    maestro = entries.maestro_command().program
    person.settings.write_text(text.replace("hook gemini AfterTool", "elsewhere").replace(maestro, "/gone/maestro"))
    log = person.live.home / "hooks.log"
    log.write_text("1\tclaude Stop\tlong ago\n9999999999\tgemini AfterTool\tno server answers\n")
    said = person.runs("doctor", code=1)
    assert "(tested with 0.61.0)" in said
    assert "lacks 1 of 8 hooks" in said and "/gone/maestro does not exist" in said
    assert "1 hook got no answer in the last day; the last: gemini AfterTool" in said
    assert person.settings.read_text() != text, "looking changes nothing"
    said = person.runs("doctor", "--fix")
    assert "after the repair" in said and "nothing is wrong" in said
    assert "/gone/maestro hook" not in person.settings.read_text()
    assert not log.exists()


def test_the_doctor_answers_in_json(person: Person) -> None:
    assert json.loads(person.runs("doctor", "--json"))["problems"] == []
    person.runs("down")
    told = json.loads(person.runs("doctor", "--json", code=1))
    assert "no server runs" in [problem["problem"] for problem in told["problems"]]
    assert any(line.startswith("server") for line in told["findings"])


def test_the_doctor_starts_a_server_only_when_asked_to_mend(person: Person) -> None:
    person.live.stop()
    assert "no server runs" in person.runs("doctor", code=1)
    try:
        assert "started the server" in person.runs("doctor", "--fix")
    finally:
        person.runs("down")
