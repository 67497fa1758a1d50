"""Each tool of the list uses declared operations and existing fields of these operations."""

from __future__ import annotations

import pytest

from maestro.domain.callers import Caller, Role
from maestro.operations.base import Effect
from maestro.operations.registry import REGISTRY
from maestro.surfaces.mcp.tools import schemas, tool_list


@pytest.mark.parametrize("tool", tool_list.ALL_TOOLS, ids=lambda tool: tool.name)
def test_a_tool_uses_declared_operations_and_existing_fields(tool: tool_list.McpTool) -> None:
    assert len({(use.action, use.chosen_by) for use in tool.uses}) == len(tool.uses), (
        "Two uses of the tool have the same action and choice."
    )
    assert all(use.action for use in tool.uses) or not any(use.action for use in tool.uses)
    shown = {argument for use in tool.uses for argument in use.arguments}
    assert set(tool.argument_texts) <= shown and tool.enum_arguments <= shown
    for use in tool.uses:
        fields = schemas.request_fields(use.operation.request)
        assert REGISTRY[use.operation.name] is use.operation
        assert {use.field_of(argument) for argument in use.arguments} | set(use.fixed_values) <= set(fields)
        needed = {name for name, field in fields.items() if field.is_required}
        assert needed <= {use.field_of(argument) for argument in use.arguments}, (
            "A required field has no argument, so no call can be valid."
        )
        if use.is_wait:
            assert use.operation.effect is Effect.ACTION and not use.is_answered_at_once


def test_a_worker_with_a_right_to_an_operation_gets_the_tool_of_the_operation() -> None:
    assert tool_list.SPAWN.uses_for(Caller(Role.WORKER, "w")) == ()
    allowed = Caller(Role.WORKER, "w", allow=frozenset({"session.spawn"}))
    assert [use.operation.name for use in tool_list.SPAWN.uses_for(allowed)] == ["session.spawn"]


def test_the_effect_of_an_operation_decides_whether_a_use_is_answered_at_once() -> None:
    for tool in tool_list.ALL_TOOLS:
        for use in tool.uses:
            if use.quick_override is None:
                quick = use.operation.effect in (Effect.READ, Effect.SCAN, Effect.WRITE)
                assert use.is_answered_at_once is quick, (tool.name, use.operation.name)
    (inbox,) = tool_list.INBOX.uses
    assert inbox.is_answered_at_once  # the declaration of the tool overrides the effect
