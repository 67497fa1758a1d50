"""A skill that a session was given is in what its model is told: as each program tells of skills, or in its prompt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agent_programs.stage import Stage, Way
from scripted_model import Call, Say, Shell, Step

pytestmark = pytest.mark.agents

ABOUT = "How brass pipes are bent in this workshop."
TEXT = "Warm them first, to the colour of straw."
# How each program tells its model of a skill; gemini takes none for one session, and has it in its prompt.
TOLD = {
    "claude": f"- maestro:pipes: {ABOUT}",
    "codex": f"- pipes: {ABOUT} (file: r",
    "gemini": f"description: {ABOUT}\n---\n# pipes\n\n{TEXT}",
}


@pytest.fixture(params=tuple(TOLD))
def way(request: pytest.FixtureRequest) -> Way:
    return request.param, "protocol"


def skill(folder: Path, name: str, about: str) -> Path:
    made = folder / name
    made.mkdir(parents=True)
    (made / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {about}\n---\n# {name}\n\n{TEXT}\n")
    return made


def reading(on: Stage, pipes: Path) -> Step:
    """How a model gets at the rest of it."""
    if on.tool == "claude":
        return Call("Skill", {"skill": "maestro:pipes"})
    return Shell(f"cat {pipes / 'SKILL.md'}")


def test_what_it_can_do_is_told_to_its_model(on: Stage) -> None:
    pipes = skill(on.room.work / ".maestro" / "skills", "pipes", ABOUT)
    skill(on.room.work / ".maestro" / "skills", "valves", "Not chosen.")
    skill(on.live.home / "skills", "pipes", "Hidden by the project's own.")
    skill(on.live.home / "skills", "kettles", "How kettles are tested.")
    on.model.script(on.tool, Say("Hello."), reading(on, pipes), Say("I know now."))
    worker = on.spawn(permission="full", skill=["pipes", "kettles"])
    on.until_status(worker, "idle")
    (seen,) = on.seen()
    body = json.dumps(seen.body, ensure_ascii=False)
    assert json.dumps(TOLD[on.tool], ensure_ascii=False)[1:-1] in body, on.evidence()
    assert "How kettles are tested." in body
    assert "Not chosen." not in body
    assert "Hidden by" not in body
    on.prompt(worker, "Look it up.")
    on.until(lambda: any(TEXT in one.newest for one in on.seen()[2:]), "what it looked up")


def test_one_that_is_resumed_has_its_skills(on: Stage) -> None:
    skill(on.room.work / ".maestro" / "skills", "pipes", ABOUT)
    on.model.script(on.tool, Say("Hello."), Say("Here again."))
    worker = on.spawn(permission="edit", skill=["pipes"])
    on.until_status(worker, "idle")
    on.post(f"/api/sessions/{worker}/stop")
    on.post(f"/api/sessions/{worker}/resume")
    on.until(lambda: len(on.seen()) == 2, "the model's next request")
    body = json.dumps(on.seen()[1].body, ensure_ascii=False)
    assert json.dumps(TOLD[on.tool], ensure_ascii=False)[1:-1] in body, on.evidence()
    on.until_status(worker, "idle")
