"""How long each client waits for the answer of a tool."""

from __future__ import annotations

from maestro.tools.registry import TOOLS

WAIT_SECONDS_DEFAULT = 50  # for a client whose limit is not known
# How long clients wait for a tool's answer, minus a margin. Clients that Maestro starts get another limit, and send
# the limit with each request (MAESTRO_MCP_WAIT_SECONDS, or the header of the same name).
_TOOL_WAIT_SECONDS = {name: tool.mcp_wait_seconds for name, tool in TOOLS.items() if tool.mcp_wait_seconds}
_WAIT_SECONDS_MAX = 24 * 3600


def tool_of(client: str) -> str:
    """Return the tool that a client's name contains, or an empty string."""
    lower_name = client.lower()
    return next((tool for tool in _TOOL_WAIT_SECONDS if tool in lower_name), "")


def wait_seconds(client: str, given: str) -> float:
    """Return how long a client waits for an answer: the given seconds, or the default of its tool."""
    if given.isascii() and given.isdigit() and len(given) < 10:
        return float(min(max(int(given), 1), _WAIT_SECONDS_MAX))
    return _TOOL_WAIT_SECONDS.get(tool_of(client), WAIT_SECONDS_DEFAULT)
