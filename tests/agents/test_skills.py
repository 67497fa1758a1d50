"""Tests that the model of a session knows the session's skills, from the program's list or from the prompt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agent_programs.stage import Stage, Way
from scripted_model import Call, Say, Shell, Step

pytestmark = pytest.mark.agents

ABOUT = "How brass pipes are bent in this workshop."
TEXT = "Warm them first, to the colour of straw."
# The text about a skill in each program's requests. Gemini takes no skills for one session: its prompt has them.
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
    """Return the step with which a model reads the text of a skill."""
    if on.tool == "claude":
        return Call("Skill", {"skill": "maestro:pipes"})
    return Shell(f"cat {pipes / 'SKILL.md'}")


def test_the_model_knows_the_chosen_skills_and_can_read_them(on: Stage) -> None:
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


def test_the_model_of_a_resumed_session_knows_the_skills(on: Stage) -> None:
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
