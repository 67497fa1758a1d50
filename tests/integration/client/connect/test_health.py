"""`maestro doctor` reports problems, repairs them with `--fix`, and answers in JSON."""

from __future__ import annotations

import json
from typing import Any

from maestro.client.connect import entries

SETTINGS = '{\n  // mine\n  "ui": {"theme": "dark"},\n}\n'


def test_the_doctor_finds_no_problem_without_connected_tools(person: Any) -> None:
    person.install("gemini", "0.61.0")
    said = person.run("doctor")
    assert "gemini    0.61.0" in said and "not connected: maestro connect gemini" in said
    assert "claude    not found" in said and "nothing is wrong" in said
    person.run("connect", "gemini")
    said = person.run("doctor")
    assert "connected (user): 8 hooks" in said and "fired: none yet" in said and "nothing is wrong" in said


def test_the_doctor_names_problems_and_repairs_them(person: Any) -> None:
    person.install("gemini", "0.99.1")
    person.run("connect", "gemini")
    text = person.settings.read_text()
    maestro = entries.maestro_command().program
    person.settings.write_text(text.replace("hook gemini AfterTool", "elsewhere").replace(maestro, "/gone/maestro"))
    log = person.live.home / "hooks.log"
    log.write_text("1\tclaude Stop\tlong ago\n9999999999\tgemini AfterTool\tno server answers\n")
    said = person.run("doctor", code=1)
    assert "(tested with 0.61.0)" in said
    assert "lacks 1 of 8 hooks" in said and "/gone/maestro does not exist" in said
    assert "1 hook got no answer in the last day; the last: gemini AfterTool" in said
    assert person.settings.read_text() != text, "the doctor without --fix changes no settings"
    said = person.run("doctor", "--fix")
    assert "after the repair" in said and "nothing is wrong" in said
    assert "/gone/maestro hook" not in person.settings.read_text()
    assert not log.exists()


def test_the_doctor_answers_in_json(person: Any) -> None:
    assert json.loads(person.run("doctor", "--json"))["problems"] == []
    person.run("down")
    told = json.loads(person.run("doctor", "--json", code=1))
    assert "no server runs" in [problem["problem"] for problem in told["problems"]]
    assert any(line.startswith("server") for line in told["findings"])


def test_the_doctor_starts_a_server_only_for_a_repair(person: Any) -> None:
    person.live.stop()
    assert "no server runs" in person.run("doctor", code=1)
    try:
        assert "started the server" in person.run("doctor", "--fix")
    finally:
        person.run("down")
