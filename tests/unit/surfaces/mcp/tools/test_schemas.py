"""The list of tool schemas contains the tools and arguments of the role, within a limit of tokens."""

from __future__ import annotations

import json

import pytest

from maestro.domain.callers import Caller, Role
from maestro.surfaces.mcp.tools import schemas, tool_list
from maestro.testing.tokens import LIMIT_SHARE_MAX, count_tokens

WORKER, COORDINATOR, PERSON = (Caller(role, role.value) for role in (Role.WORKER, Role.COORDINATOR, Role.PERSON))


@pytest.mark.parametrize(("caller", "bar"), [(WORKER, 2_500), (COORDINATOR, 4_000), (PERSON, 4_000)])
def test_the_list_of_tools_of_each_role_stays_below_its_limit_of_tokens(caller: Caller, bar: int) -> None:
    listed = schemas.list_tools(caller)
    text = json.dumps(listed, separators=(",", ":"))
    assert count_tokens(text) <= bar * LIMIT_SHARE_MAX  # counted with o200k_base: see maestro.testing.tokens
    assert len(text) / 3.2 <= bar  # a second estimate, with 3.2 characters for each token


def names(caller: Caller) -> list[str]:
    return [tool["name"] for tool in schemas.list_tools(caller)]


def actions(caller: Caller, name: str) -> list[str]:
    (tool,) = [tool for tool in schemas.list_tools(caller) if tool["name"] == name]
    found: list[str] = tool["inputSchema"]["properties"]["action"]["enum"]
    return found


def test_each_role_gets_exactly_the_tools_of_its_operations() -> None:
    assert {"spawn", "run", "worktrees"} == set(names(COORDINATOR)) - set(names(WORKER))
    assert names(COORDINATOR) == names(PERSON) == [tool.name for tool in tool_list.ALL_TOOLS]
    assert "reject" in actions(COORDINATOR, "task_update") and "reject" not in actions(WORKER, "task_update")
    assert actions(WORKER, "sessions") == ["list", "show", "explain", "logs"]
    assert schemas.list_tools(Caller(Role.NOBODY, "nobody")) == []


def test_the_rights_of_a_member_remove_and_add_tools() -> None:
    denied = Caller(Role.WORKER, "w", deny=frozenset({"task.complete", "mail.inbox"}))
    assert "inbox" not in names(denied) and "complete" not in actions(denied, "task_update")
    allowed = Caller(Role.WORKER, "w", allow=frozenset({"session.spawn"}))
    assert "spawn" in names(allowed) and "run" not in names(allowed)


def test_a_tool_schema_contains_only_the_parts_that_a_call_needs() -> None:
    listed = {tool["name"]: tool["inputSchema"] for tool in schemas.list_tools(WORKER)}
    assert listed["whoami"] == {"type": "object", "properties": {}}
    assert listed["task_create"]["required"] == ["title"]
    assert listed["task_update"]["required"] == ["action", "id"]
    assert listed["send"]["required"] == ["message"]
    assert listed["report"]["properties"]["kind"]["enum"] == ["progress", "complete", "blocked", "error"]
    assert listed["task_create"]["properties"]["depends_on"]["type"] == "array"
    file = {"type": "object", "properties": {"file_name": {"type": "string"}, "content": {"type": "string"}}}
    for name in ("send", "issues"):
        assert listed[name]["properties"]["attach"] == {"type": "array", "items": file, "description": "Text files."}
    text = json.dumps(listed)
    assert not any(word in text for word in ("$defs", "$ref", 'title":', "maxLength", "pattern", "default")) or (
        '"title": {"type": "string"}' in text
    )
    assert "$ref" not in text and "maxLength" not in text and '"default"' not in text


def test_only_the_tools_of_the_person_have_the_argument_project() -> None:
    for tool in schemas.list_tools(WORKER):
        assert "project" not in tool["inputSchema"]["properties"]
    (mine,) = [tool for tool in schemas.list_tools(PERSON) if tool["name"] == "tasks"]
    assert mine["inputSchema"]["properties"]["project"] == {"type": "string"}
