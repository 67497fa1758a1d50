"""Codex's permission requests and questions become asks with a title, a text and actions."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.tools.codex import asks
from maestro.tools.conversation_events import UNANSWERED


def test_an_elicitation_becomes_an_ask_with_the_action_of_its_server() -> None:
    found = asks.permission_ask("1", asks.ELICITATION, {"serverName": "forms", "message": "Send the form?"})
    assert (found.title, found.actions) == ("forms: Send the form?", ("tool:forms",))
    assert asks.permission_ask("1", asks.ELICITATION, {"serverName": "forms"}).title == "forms"


def test_a_request_for_more_permissions_has_its_own_action() -> None:
    found = asks.permission_ask("1", asks.MORE_PERMISSIONS, {"permissions": {"network": True}})
    assert found.actions == ("tool:permissions",) and '{"network": true}' in found.title


def test_the_text_of_an_ask_is_its_title_followed_by_the_reason() -> None:
    found = asks.permission_ask("1", asks.COMMAND, {"command": "git push", "reason": "To publish."})
    assert (found.title, found.text) == ("shell: git push", "shell: git push\n\nTo publish.")
    assert asks.permission_ask("1", asks.COMMAND, {"command": "git push"}).text == "shell: git push"


@pytest.mark.parametrize(
    ("params", "actions"),
    [
        ({"command": "ls"}, ("shell:ls",)),
        ({"command": "ls", "kind": "command"}, ("shell:ls",)),
        ({"command": "ls", "kind": "writeStdin"}, ("tool:write_stdin",)),
        ({"command": ""}, ("tool:write_stdin",)),
        ({"command": "ls", "networkApprovalContext": {"host": "x", "protocol": "https"}}, ("tool:network",)),
        ({"command": "ls", "additionalPermissions": {"a": 1}}, ("shell:ls", "tool:permissions")),
    ],
)
def test_the_actions_of_a_command_request_contain_every_requested_right(
    params: dict[str, Any], actions: tuple[str, ...]
) -> None:
    assert asks.permission_ask("1", asks.COMMAND, params).actions == actions


@pytest.mark.parametrize(
    ("files", "root", "actions"),
    [
        (("/a", "/b"), "", ("edit:/a", "edit:/b")),
        ((), "", ("tool:fileChange",)),
        (("/a",), "/work", ("edit:/a", "edit:/work/*")),
    ],
)
def test_the_actions_of_a_file_change_contain_each_file_and_the_granted_folder(
    files: tuple[str, ...], root: str, actions: tuple[str, ...]
) -> None:
    found = asks.permission_ask("1", asks.FILE_CHANGE, {"grantRoot": root}, files)
    assert found.actions == actions
    assert ("all later changes in /work" in found.title) is bool(root)


def test_the_files_of_a_change_include_the_new_paths_of_moved_files_once() -> None:
    item = {
        "changes": [
            {"path": "/a", "kind": {"move_path": "/b"}},
            {"path": "/b", "kind": "update"},
            {"path": None, "kind": {"move_path": None}},
        ]
    }
    assert asks.files_of_change(item) == ("/a", "/b")
    assert asks.files_of_change({}) == asks.files_of_change({"changes": None}) == ()


def test_a_question_without_content_becomes_an_ask() -> None:
    assert asks.question_ask("1", {}).ask == "1"
    found = asks.question_ask("1", {"questions": [{"id": "q", "question": "Which?", "options": [{"label": "A"}]}]})
    assert (found.title, found.choices) == ("Which?", ("A",))


def test_answers_are_encoded_by_the_ids_of_their_questions() -> None:
    params = {"questions": [{"id": "q1", "question": "Which?"}]}
    assert asks.encode_answers(params, "A") == {"answers": {"q1": {"answers": ["A"]}}}
    assert asks.encode_answers(params, UNANSWERED) == asks.encode_answers({}, "A") == {"answers": {}}


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("sh -c 'ls -l'", "ls -l"),
        ("/bin/zsh -lc ls", "ls"),
        ("sh -x ls", "sh -x ls"),
        ("python -c ls", "python -c ls"),
    ],
)
def test_only_the_script_of_a_plain_shell_call_is_unwrapped(command: str, script: str) -> None:
    assert asks.plain_command(command) == script
