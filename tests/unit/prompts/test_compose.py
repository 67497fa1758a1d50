"""Each complete prompt equals its file in snapshots/, and all prompts follow common rules.

After an intended change, write the files again and review the difference:

    WRITE_SNAPSHOTS=1 .venv/bin/python -m pytest tests/unit/prompts/test_compose.py
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from maestro.domain.manifests import AgentReach, LastStart, Manifest, ManifestCommand, UnreadMessage
from maestro.domain.messages import MessageType
from maestro.domain.priorities import Priority
from maestro.domain.sessions import SessionMode, SessionStatus
from maestro.domain.templates import WorkflowTemplate
from maestro.prompts.compose import system_prompt, task_prompt
from maestro.prompts.templates import packaged_templates
from maestro.testing.manifests import make_manifest, make_member

SNAPSHOTS = Path(__file__).parent / "snapshots"

TEMPLATES = packaged_templates().list_templates()
ALONE = {"coordinator": None, "directive": None, "siblings": (), "members": (), "roster": (), "team": None}
AT = "2026-03-01T12:00:00Z"
RESUMED = LastStart(
    status=SessionStatus.LOST,
    ended_at=AT,
    last_output="its runner is gone and left no report",
    unread=2,
    messages=(
        UnreadMessage(
            message_id="msg_00000000000000000000000001",
            sender="ada",
            type=MessageType.QUERY,
            priority=Priority.HIGH,
            subject="Which dialect?",
            text="The grammar names two.",
        ),
        UnreadMessage(
            message_id="msg_00000000000000000000000002",
            sender="maestro",
            type=MessageType.NOTIFICATION,
            priority=Priority.NORMAL,
            subject="ben is done",
        ),
    ),
)
SITUATIONS: dict[str, Manifest] = {
    "coordinator": make_manifest(SessionMode.COORDINATE),
    "worker": make_manifest(SessionMode.EXECUTE),
    "worker-over-mcp": make_manifest(SessionMode.EXECUTE, reach=AgentReach.MCP),
    "worker-alone": make_manifest(SessionMode.EXECUTE, **ALONE),
    "planner": make_manifest(SessionMode.PLAN),
    "coordinator-resumed": make_manifest(SessionMode.COORDINATE, resumed=RESUMED),
    "worker-resumed": make_manifest(
        SessionMode.EXECUTE, resumed=LastStart(status=SessionStatus.STOPPED, ended_at=AT)
    ),
}


def check_snapshot(name: str, text: str) -> None:
    path = SNAPSHOTS / f"{name}.xml"
    if os.environ.get("WRITE_SNAPSHOTS"):
        SNAPSHOTS.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.is_file(), "The snapshot is missing: see the first lines of this file."
    assert text == path.read_text()


def prompt_of(template: WorkflowTemplate, reach: AgentReach = AgentReach.COMMANDS) -> str:
    mode = SessionMode.PLAN if template.strategy == "plan" else template.mode
    return system_prompt(make_manifest(mode, reach=reach), template)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_a_system_prompt_equals_its_snapshot(template: WorkflowTemplate) -> None:
    check_snapshot(f"system-{template.name}", prompt_of(template))


@pytest.mark.parametrize("name", ["coordinate-default", "execute-simple"])
def test_a_system_prompt_over_mcp_equals_its_snapshot(name: str) -> None:
    check_snapshot(f"system-{name}-over-mcp", prompt_of(packaged_templates().get_template(name), AgentReach.MCP))


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_task_prompt_equals_its_snapshot(name: str) -> None:
    check_snapshot(f"task-{name}", task_prompt(SITUATIONS[name]))


def test_the_task_prompt_of_a_resumed_session_begins_with_its_unread_mail() -> None:
    first, *rest = ET.fromstring(task_prompt(SITUATIONS["coordinator-resumed"]))
    assert first.tag == "resumed" and "resumed" not in [element.tag for element in rest]
    unread = first.find("unread")
    assert unread is not None and unread.attrib == {"count": "2", "read_all": "maestro mail inbox"}
    assert [element.get("subject") for element in unread.iter("message")] == ["Which dialect?", "ben is done"]


def test_every_snapshot_belongs_to_a_prompt() -> None:
    known = {f"system-{template.name}" for template in TEMPLATES} | {f"task-{name}" for name in SITUATIONS}
    known |= {"system-coordinate-default-over-mcp", "system-execute-simple-over-mcp"}
    assert {path.stem for path in SNAPSHOTS.iterdir()} == known


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_a_prompt_over_mcp_has_the_same_phases_and_no_command(template: WorkflowTemplate) -> None:
    by_command, by_tool = prompt_of(template), prompt_of(template, AgentReach.MCP)
    assert not re.search(r"maestro [a-z]+ [a-z]", by_tool)
    assert "{{" not in by_command + by_tool
    for text in (by_command, by_tool):
        phases = ET.fromstring(text).findall("workflow/phase")
        assert [phase.get("name") for phase in phases] == [phase.name for phase in template.phases]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_a_team_of_twenty_and_a_hundred_calls_fit_into_the_prompt(template: WorkflowTemplate) -> None:
    manifest = make_manifest(
        template.mode,
        roster=tuple(make_member(number, identity="Who I am. " * 50) for number in range(20)),
        commands=tuple(
            ManifestCommand(
                operation=f"group.call{number}", command=f"group call{number}", summary="What it does. " * 4
            )
            for number in range(100)
        ),
    )
    text = system_prompt(manifest, template)
    assert "<more" not in text and "truncated=" not in text


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_prompts_tell_coordinators_to_wait_for_mail_and_workers_to_read_their_inbox(
    template: WorkflowTemplate,
) -> None:
    text = prompt_of(template)
    workflow = ET.tostring(ET.fromstring(text).find("workflow"), encoding="unicode")  # type: ignore[arg-type]
    if template.mode is SessionMode.COORDINATE:
        assert "maestro mail wait" in workflow and "maestro session spawn" in text
        assert "NEVER write code" in text
        assert "sleep " not in text
    else:
        assert workflow.count("maestro mail inbox") >= 3, "Fewer than three phases of the workflow read mail."
        assert "maestro mail send human" in text and "maestro session spawn" not in text


def test_an_executor_with_the_strategy_plan_gets_the_planning_rules() -> None:
    text = system_prompt(make_manifest(SessionMode.EXECUTE), packaged_templates().get_template("execute-plan"))
    assert "You are a planning agent" in text


def test_the_same_manifest_gives_the_same_prompts() -> None:
    template = packaged_templates().choose_template(SessionMode.EXECUTE)
    assert system_prompt(make_manifest(), template) == system_prompt(make_manifest(), template)
    assert task_prompt(make_manifest()) == task_prompt(make_manifest())
