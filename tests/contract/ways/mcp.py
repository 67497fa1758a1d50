"""The way through MCP tools, with the client of the SDK.

A request goes over MCP if a tool offers the operation. LEFT names the operations that no tool offers and why. Their
requests go over REST.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from maestro.core import errors
from maestro.operations.base import Operation
from maestro.surfaces.mcp.tools import schemas, tool_list
from maestro.surfaces.mcp.tools.calls import STRUCTURED
from maestro.testing.live import LiveServer
from maestro.testing.mcp import connected_client
from ways.base import is_error, plain, rebuilt
from ways.rest import RestWay

_PERSONS = "a person's"
_SETTING_UP = "done once, when things are set up"
_PROGRAMS = "for programs"
LEFT = {
    "project.init": _SETTING_UP,
    "project.locate": _PROGRAMS,
    "project.list": "rare: an agent works in one",
    "project.show": "rare: an agent works in one",
    "project.edit": _SETTING_UP,
    "project.link": _SETTING_UP,
    "project.unlink": _SETTING_UP,
    "member.create": _SETTING_UP,
    "member.edit": _SETTING_UP,
    "member.archive": _SETTING_UP,
    "team.create": _SETTING_UP,
    "team.add": _SETTING_UP,
    "team.remove": _SETTING_UP,
    "session.register": "whoever is connected is registered",
    "session.heartbeat": "every call is a sign of life",
    "session.end": "a session ends with its agent",
    "caller.whoami": "the tool whoami says more (primer)",
    "manifest.show": _PERSONS,
    "prompt.show": _PERSONS,
    "template.list": _SETTING_UP,
    "template.show": _SETTING_UP,
    "runner.report": _PROGRAMS,
    "tool.list": _SETTING_UP,
    "session.attach": "a terminal",
    "timeline.show": _PERSONS,
    "timeline.export": _PERSONS,
    "mail.post": "send does it",
    "mail.project_inbox": "inbox shows it too",
    "mail.confirm": _PROGRAMS,
    "ask.list": _PERSONS,
    "ask.show": "wait shows it",
    "ask.answer": _PERSONS,
    "notify.test": _PERSONS,
    "notify.list": _PERSONS,
    "session.rename": _PERSONS,
    "hook.list": _PERSONS,
    "session.grant": _PERSONS,
    "file.check": _PROGRAMS,
    "tracker.status": _PERSONS,
    "tracker.sync": _PERSONS,
    "server.status": _PERSONS,
    "server.stop": _PERSONS,
    "server.recovery": _PERSONS,
    "server.backup": _PERSONS,
    "events.list": _PROGRAMS,
    "config.get": _PERSONS,
    "config.set": _PERSONS,
}
OFFERED = {use.operation.name: (tool, use) for tool in tool_list.ALL_TOOLS for use in tool.uses}
_TUNING = frozenset({"debounce"})  # over MCP the caller cannot set these fields


class Connection:
    """A client that a task of its own holds open: the SDK requires the task that opened the client to close it."""

    def __init__(self, live: LiveServer, transport: str, mode: str, token: str) -> None:
        self.refused: list[Any] = []  # bodies of HTTP responses that were no answer of the protocol
        self._ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._over = asyncio.Event()
        self._task = asyncio.create_task(self._hold(live, transport, mode, token))

    async def _hold(self, live: LiveServer, transport: str, mode: str, token: str) -> None:
        try:
            async with connected_client(live, transport, mode, token, refused=self.refused.append) as connected:
                await connected.list_tools()  # without the list, the client searches a schema for the first data
                self._ready.set_result(connected)
                await self._over.wait()
        except BaseException as problem:
            if self._ready.done():
                raise
            self._ready.set_exception(problem)

    async def client(self) -> Any:
        return await asyncio.shield(self._ready)

    async def close(self) -> None:
        self._over.set()
        await self._task


class McpWay:
    """Calls operations with MCP tools, and with REST if no tool offers the operation."""

    is_out_at_once = False  # over stdio the status changes shortly after the call

    def __init__(self, live: LiveServer, http: httpx.AsyncClient, transport: str, mode: str) -> None:
        self.shows_as = "read" if transport == "stdio" else "delivered"
        self.offers_again = False  # the next call confirms the mail of the call before
        self.person = live.token
        self.calls = 0
        self._live = live
        self._http = http
        self._rest = RestWay(live, http)
        self._kind = (transport, mode)
        self._connections: dict[str, Connection] = {}
        self._projects: dict[str, str | None] = {}  # the project of each token's session; the person has none

    async def call(self, operation: Operation, token: str, fields: dict[str, Any], key: str) -> Any:
        said = self._said(operation, fields, await self._project(token)) if not key else None
        if said is None:
            return await self._rest.call(operation, token, fields, key)
        self.calls += 1
        tool, arguments = said
        connection = self._connection(token)
        try:
            result = await (await connection.client()).call_tool(tool, arguments, meta={STRUCTURED: True})
        except Exception as problem:
            if connection.refused:
                raise rebuilt(connection.refused.pop()) from problem
            if str(problem) == f"Unknown tool: {tool}":
                raise errors.NotPermitted from problem  # a caller does not see a tool that the caller may not use
            raise
        assert result.content[0].text
        body = result.structured_content
        if is_error(body):
            assert result.is_error or body["code"] == errors.TimedOut.code
            assert result.content[0].text.startswith(body["message"])
            raise rebuilt(body)
        assert not result.is_error
        return body

    def _said(self, operation: Operation, fields: dict[str, Any], project: str | None) -> tuple[str, Any] | None:
        """Return tool and arguments of a request, or None if no tool takes the request."""
        if operation.name not in OFFERED:
            assert operation.name in LEFT
            return None
        tool, use = OFFERED[operation.name]
        named = {use.field_of(argument): argument for argument in use.arguments}
        if project is None:
            named["project"] = "project"
        elif fields.get("project") == project:
            fields = {name: value for name, value in fields.items() if name != "project"}
        found: dict[str, Any] = {"action": use.action} if use.action else {}
        for name, value in fields.items():
            if name in _TUNING:
                continue
            written = _written(schemas.request_fields(operation.request)[name], value)
            if name not in named or written is None:
                return None
            found[named[name]] = written
        return tool.name, found

    async def _project(self, token: str) -> str | None:
        if token not in self._projects:
            headers = {"Authorization": f"Bearer {token}"}
            who = (await self._http.get(f"{self._live.url}/api/whoami", headers=headers)).json()
            self._projects[token] = who.get("project") if who.get("role") != "person" else None
        return self._projects[token]

    def _connection(self, token: str) -> Connection:
        if token not in self._connections:
            self._connections[token] = Connection(self._live, *self._kind, token)
        return self._connections[token]

    async def close(self) -> None:
        for connection in self._connections.values():
            await connection.close()


def _written(field: schemas.RequestField, value: Any) -> Any:
    """Return the value as an MCP caller writes it, or None if text cannot express the value."""
    if field.is_duration:
        return value / 1000
    if isinstance(value, bytes):
        return None
    if field.parts:
        return _with_text(value)
    return plain(value)


def _with_text(files: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """Return the files with their content as text, or None if a file is not text."""
    try:
        return [one | {"content": one["content"].decode()} for one in files]
    except UnicodeDecodeError:
        return None
