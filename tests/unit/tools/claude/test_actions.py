"""The action of a Claude tool call is a shell command, an edit of a file, or the name of the tool."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.tools.claude.actions import tool_action


@pytest.mark.parametrize(
    ("tool", "given", "action"),
    [
        ("Bash", {"command": "git push"}, "shell:git push"),
        ("Bash", {"command": "ls", "file_path": "/a"}, "shell:ls"),
        ("Bash", {}, "shell:"),
        ("Write", {"file_path": "/a", "content": "x"}, "edit:/a"),
        ("NotebookEdit", {"notebook_path": "/n.ipynb"}, "edit:/n.ipynb"),
        ("Edit", {"file_path": "", "path": "/b"}, "edit:/b"),
        ("Read", {"file_path": "/a"}, "tool:Read"),
        ("Grep", {"path": "/src"}, "tool:Grep"),
        ("WebFetch", {"url": "https://example.org"}, "tool:WebFetch"),
        ("mcp__files__write", {"path": "/etc/passwd"}, "edit:/etc/passwd"),
    ],
)
def test_the_action_of_a_claude_call_is_a_command_an_edit_or_a_tool(
    tool: str, given: dict[str, Any], action: str
) -> None:
    assert tool_action(tool, given) == action
