"""The longest wait of a client comes from its header, from its tool, or from the default."""

from __future__ import annotations

import pytest

from maestro.surfaces.mcp.tools.wait_limits import WAIT_SECONDS_DEFAULT, tool_of, wait_seconds
from maestro.tools.registry import TOOLS


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("7", 7), ("0", 1), ("999999", 24 * 3600), ("1" * 10, 50), ("-3", 50), ("x", 50), ("²", 50)],
)
def test_the_given_wait_seconds_are_limited_and_invalid_values_give_the_default(given: str, seconds: int) -> None:
    assert WAIT_SECONDS_DEFAULT == 50
    assert wait_seconds("someone else", given) == seconds


def test_a_client_without_given_wait_seconds_has_the_limit_of_its_tool() -> None:
    limits_of_tools = {name: tool.mcp_wait_seconds for name, tool in TOOLS.items() if tool.mcp_wait_seconds}
    assert limits_of_tools
    for name, seconds in limits_of_tools.items():
        assert tool_of(f"{name.upper()}-mcp-client") == name
        assert wait_seconds(f"{name}-code", "") == seconds
    assert tool_of("someone else") == ""
