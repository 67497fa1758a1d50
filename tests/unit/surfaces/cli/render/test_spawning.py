"""Spawned sessions, prompts, transcripts, tools and templates are rendered as text."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.unit.surfaces.cli.render.conftest import rendered, text_of

from maestro.domain.conversations import DriverKind
from maestro.domain.manifests import AgentReach
from maestro.domain.members import Permission
from maestro.domain.sessions import SessionMode
from maestro.operations import spawning as ops
from maestro.operations.terminals import AgentTerminal, SessionLogs
from maestro.operations.tools import ToolInfo, ToolList
from maestro.testing.factories import make_session
from maestro.testing.manifests import make_manifest


def spawned(**fields: Any) -> ops.SpawnedSession:
    facts = msgspec.structs.asdict(make_session(id="ses_1", name="parser", tool="claude")) | {
        "strategy": "simple",
        "template": "execute-simple",
        "permission": Permission.EDIT,
        "directory": "/src/dave/vc",
    }
    return ops.SpawnedSession(**{**facts, **fields})


def logs(text: str, *, truncated: bool = False) -> SessionLogs:
    return SessionLogs(session_id="ses_1", text=text, truncated=truncated, name="parser")


def test_a_spawned_session_shows_how_it_was_started() -> None:
    shown = rendered(spawned(branch="parser", warnings=["No such\nskill."]))
    lines = str(shown.out).splitlines()
    assert lines[0] == "ses_1  parser  execute  working"
    facts = [line.split() for line in lines[1:]]
    assert ["template", "execute-simple"] in facts and ["branch", "parser"] in facts and ["tool", "claude"] in facts
    assert shown.notes == ["No such skill."]
    assert "branch" not in text_of(spawned())


def test_a_dry_run_shows_the_prompts_and_says_that_no_session_was_started() -> None:
    shown = rendered(spawned(dry_run=True, system_prompt="You are.\n", task_prompt="Do it.\n"))
    assert shown.out == "You are.\n\nDo it.\n"
    assert shown.notes[0].startswith("dry run: no session was started (permission edit")


def test_only_existing_prompts_are_shown() -> None:
    prompts = ops.SessionPrompts(session_id="ses_1", system_prompt=None, task_prompt="Do it.\n")
    assert text_of(prompts) == "Do it.\n"
    both = ops.SessionPrompts(session_id="ses_1", system_prompt="You are.\n", task_prompt="Do it.\n")
    assert text_of(both) == "You are.\n\nDo it.\n"


def test_a_manifest_is_shown_as_indented_json() -> None:
    shown = text_of(make_manifest())
    assert shown.startswith('{\n  "version": 1,') and shown.endswith("}\n")


def test_a_transcript_is_shown_without_control_characters() -> None:
    shown = rendered(logs("\x1b[31mred\x1b[0m\r\nnext"))
    assert shown.out == "red\nnext" and shown.notes == []


def test_a_note_says_how_to_see_more_of_a_cut_transcript() -> None:
    assert rendered(logs("x\n", truncated=True)).notes == ["the output is longer: --limit N shows more"]


def test_a_note_names_a_session_without_output() -> None:
    assert rendered(logs("")).notes == ["parser has no output yet"]


def test_the_terminal_of_a_session_is_shown_with_its_size_and_folder() -> None:
    terminal = AgentTerminal(session_id="ses_1", name="parser", folder="/d/ses_1", columns=80, rows=24, attached=0)
    assert text_of(terminal) == "ses_1  parser  80x24  /d/ses_1\n"


def test_the_list_of_tools_shows_only_the_existing_abilities_of_a_tool() -> None:
    abilities = {
        name: name in ("resumes", "reports_usage")
        for name in ToolInfo.__struct_fields__
        if name not in ("name", "aliases", "reach", "drivers", "unreachable_during_turn")
    }
    tool = ToolInfo(
        name="claude",
        aliases=[],
        reach=AgentReach.MCP,
        drivers=list(DriverKind),
        unreachable_during_turn=[],
        **abilities,
    )
    assert text_of(ToolList(tools=[tool])) == (
        "claude  driven by protocol, terminal; reaches Maestro by mcp; "
        "reports its usage, resumes earlier conversations\n"
    )


def test_templates_are_listed_and_shown_with_their_phases() -> None:
    facts: dict[str, Any] = {
        "name": "execute-simple", "mode": SessionMode.EXECUTE, "strategy": "simple", "summary": "One task.",
        "phases": ["init", "verify"], "source": "maestro", "aliases": [],
    }  # fmt: skip
    listed = ops.TemplateList(templates=[ops.TemplateInfo(**facts)])
    assert text_of(listed) == "execute-simple  One task.  init → verify\n"
    texts = {"init": "Read.", "verify": "Test."}
    head = "execute-simple  One task.\n"
    phases = "\ninit\nRead.\n\nverify\nTest.\n"
    assert text_of(ops.TemplateDetail(**facts, intro="", texts=texts)) == head + phases
    assert text_of(ops.TemplateDetail(**facts, intro="For all.", texts=texts)) == f"{head}\nFor all.\n{phases}"
