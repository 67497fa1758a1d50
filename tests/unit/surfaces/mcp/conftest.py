"""Fixtures: the MCP endpoint in this process, and a client with an MCP session."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from maestro.domain.callers import Caller
from maestro.operations import sessions
from maestro.server import mcp
from maestro.server.app import Server
from maestro.surfaces.mcp.http.endpoint import McpEndpoint
from maestro.testing.mcp_asgi import AsgiClient


@pytest.fixture
async def endpoint(server: Server) -> AsyncIterator[McpEndpoint]:
    """Yield the MCP endpoint of the server."""
    made = mcp.build_endpoint(server)
    yield made
    await made.stop()


@pytest.fixture
async def client(server: Server, endpoint: McpEndpoint, dana: Caller, vc: str) -> AsgiClient:
    """Return a client with an initialized MCP session for the Maestro session `w`."""
    registered = await server.call(sessions.REGISTER, sessions.RegisterSession(project=vc, name="w"), caller=dana)
    made = AsgiClient(endpoint, registered.token)
    await made.initialize_session()
    return made
