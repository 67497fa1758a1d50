"""The environment of a new agent contains no variables of the agent or the server that starts it."""

from __future__ import annotations

import pytest

from maestro.tools.environments import AGENT_MARKS, ENVIRONMENTS, clear_environment


def test_variables_of_another_running_agent_are_dropped() -> None:
    found = clear_environment(
        {"CLAUDECODE": "1", "CLAUDE_CODE_X": "1", "GEMINI_CLI": "1", "CLAUDE_CONFIG_DIR": "a", "CODEX_HOME": "b"}
        | {"GEMINI_CLI_HOME": "c", "ANTHROPIC_API_KEY": "k", "MAESTRO_TOKEN": "t", "HOME": "h"}
    )
    assert set(found) == {"CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "ANTHROPIC_API_KEY", "HOME"}


@pytest.mark.parametrize("name", AGENT_MARKS)
def test_a_variable_that_marks_a_running_agent_is_dropped(name: str) -> None:
    assert clear_environment({name: "1", "PATH": "/bin"}) == {"PATH": "/bin"}


def test_every_kept_variable_is_passed_on() -> None:
    kept = {name: "x" for tool in ENVIRONMENTS for name in tool.kept_variables}
    assert kept and clear_environment(kept) == kept


def test_variables_of_other_programs_and_of_maestro_are_dropped() -> None:
    assert clear_environment({"OPENCODE_X": "1", "AIDER_MODEL": "1", "MAESTRO_HOME": "/d"}) == {}
