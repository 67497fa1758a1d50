"""The actions and the title of a Gemini tool call over the protocol follow from its kind, files and id."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.tools.gemini.calls import call_actions, call_title, tool_name

EDIT = {
    "kind": "edit",
    "toolCallId": "replace__7",
    "title": "a.py: x => y",
    "locations": [{"path": "/work/a.py"}, {"path": ""}],
    "content": [{"path": "/work/a.py"}, {"path": "/work/b.py"}, "text"],
}


@pytest.mark.parametrize(
    ("call_id", "name"),
    [
        ("replace__7", "replace"),
        ("web_fetch__web_fetch_1794810838954_0", "web_fetch"),
        ("mcp_maestro_task-1794810838954-1", "mcp_maestro_task"),
        ("replace-123-1", ""),
        ("replace", ""),
        (None, ""),
    ],
)
def test_the_name_of_the_tool_is_the_beginning_of_the_call_id(call_id: str | None, name: str) -> None:
    assert tool_name({"toolCallId": call_id}) == name


def test_an_edit_names_each_file_once() -> None:
    assert call_actions(EDIT) == ("edit:/work/a.py", "edit:/work/b.py")
    assert call_title(EDIT) == "replace: /work/a.py, /work/b.py"


@pytest.mark.parametrize("kind", ["edit", "delete", "move"])
def test_the_action_of_a_change_without_files_is_the_tool(kind: str) -> None:
    call: dict[str, Any] = {"kind": kind, "toolCallId": "replace__7", "title": "docs/x"}
    assert call_actions(call) == ("tool:replace",)
    assert call_title(call) == "replace: docs/x"


def test_the_title_is_the_action_only_for_a_shell_call() -> None:
    assert call_actions({"kind": "execute", "title": "git push"}) == ("shell:git push",)
    assert call_actions({"kind": "execute", "title": "", "toolCallId": "run__1"}) == ("tool:run",)
    assert call_actions({"kind": "read", "title": "git push", "toolCallId": "read_file__1"}) == ("tool:read_file",)


def test_the_files_of_a_reading_call_are_not_edit_actions() -> None:
    call = {**EDIT, "kind": "read", "toolCallId": "read_file__1"}
    assert call_actions(call) == ("tool:read_file",)
    assert call_title(call) == "read_file: a.py: x => y"


def test_the_title_of_a_call_names_the_command_or_the_tool() -> None:
    assert call_title({"kind": "execute", "title": "git push"}) == "shell: git push"
    assert call_title({"title": "Fetch"}) == "a tool: Fetch"
    assert call_title({}) == "a tool"
