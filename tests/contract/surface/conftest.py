"""Fixtures that run each test on every surface: the service, REST, the command, and MCP over both transports.

Each surface gives the same answers and errors.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from ways.base import Way
from ways.command import CommandWay
from ways.mcp import McpWay
from ways.rest import RestWay
from ways.service import ServiceWay

from maestro.operations import mail, projects, sessions
from maestro.operations.base import Operation
from maestro.server.app import Server
from maestro.testing.live import LiveServer
from maestro.testing.mcp import LEGACY, MODERN

WAYS = ["service", "rest", "command", "mcp-http", "mcp-stdio"]
MODES = {"http": LEGACY, "stdio": MODERN}  # test_mcp.py tests all four pairs of transport and protocol


class Surface:
    """A project on a surface, with the tokens of the callers by name."""

    def __init__(self, way: Way, folder: Path, name: str) -> None:
        self.way = way
        self.folder = folder
        self.project = name
        self.tokens: dict[str, str] = {"dana": way.person}

    async def call(self, operation: Operation, *, by: str = "dana", key: str = "", **fields: Any) -> Any:
        if "project" in operation.request.__struct_fields__:
            fields.setdefault("project", self.project)
        return await self.way.call(operation, self.tokens[by], fields, key)

    async def join(self, name: str, mode: str = "execute", **fields: Any) -> dict[str, Any]:
        """Register a session. Afterwards the session's name can be given as `by`."""
        session: dict[str, Any] = await self.call(sessions.REGISTER, name=name, mode=mode, **fields)
        self.tokens[name] = session["token"]
        return session

    async def come_out(self, operation: Operation, *, by: str = "dana", **fields: Any) -> Any:
        """Call an operation that shows mail, and confirm the mail.

        The command confirms by itself. On other surfaces the next call confirms with the cursor.
        """
        shown = await self.call(operation, by=by, **fields)
        if shown["receipt"] and not self.way.is_out_at_once:
            await self.call(mail.INBOX, by=by, cursor=shown["receipt"], peek=True)
        return shown

    async def another_project(self) -> str:
        """Create a second project and return its name."""
        name = f"{self.project}-other"
        path = self.folder / "other"
        path.mkdir()
        await self.call(projects.INIT, path=str(path), name=name)
        return name


@pytest.fixture(scope="session")
def shared_live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with LiveServer(tmp_path_factory.mktemp("contract") / "data") as live:
        yield live


_counter = iter(range(10_000))


@pytest.fixture(params=WAYS)
async def surface(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Surface]:
    for left in request.node.iter_markers("not_over"):
        if request.param.startswith(left.args):
            pytest.skip(left.kwargs["why"])
    name = f"vc{next(_counter)}"
    folder = tmp_path / name
    folder.mkdir()
    async with opened(request, tmp_path, folder) as way:
        made = Surface(way, folder, name)
        await made.call(projects.INIT, path=str(folder), name=name)
        yield made


@asynccontextmanager
async def opened(request: pytest.FixtureRequest, tmp_path: Path, folder: Path) -> AsyncIterator[Way]:
    if request.param == "service":
        (tmp_path / "data").mkdir()
        server = Server(tmp_path / "data")
        yield ServiceWay(server)
        await server.close()
        return
    live: LiveServer = request.getfixturevalue("shared_live")
    async with httpx.AsyncClient(timeout=60) as http:
        if request.param == "rest":
            yield RestWay(live, http)
        elif request.param == "command":
            yield CommandWay(live, folder)
        else:
            transport = request.param.removeprefix("mcp-")
            over_mcp = McpWay(live, http, transport, MODES[transport])
            yield over_mcp
            await over_mcp.close()
            assert over_mcp.calls, "no call of the test went over MCP: mark the test not_over"
