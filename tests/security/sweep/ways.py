"""Send a request of the table over REST or as an MCP tool, and return the outcome with the marked secrets."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
from tests.security.sweep.world import World, find_markers

from maestro.core import errors
from maestro.operations.base import Operation
from maestro.operations.registry import REGISTRY
from maestro.surfaces.mcp.tools import schemas, tool_list
from maestro.surfaces.mcp.tools.calls import STRUCTURED
from maestro.testing.mcp_wire import McpWire, message_of, tool_call_message

_REF = re.compile(r"\{([a-z]+\.[a-z-]+)\}")
_OUTCOMES: dict[type[errors.MaestroError], str] = {
    errors.NotAuthenticated: "unknown",
    errors.NotPermitted: "refused",
    errors.NotFound: "missing",
    errors.Conflict: "conflict",
    errors.Invalid: "invalid",
    errors.TimedOut: "late",
}
PROJECT = "project"
OFFERED = {use.operation.name: (tool, use) for tool in tool_list.ALL_TOOLS for use in tool.uses}


class Outcome(NamedTuple):
    """The outcome of a request: a word of the table, and the marked secrets in the complete answer."""

    word: str
    markers: frozenset[str]
    text: str


def fill(world: World, value: Any) -> Any:
    """Return the value with the ids of the world in place of their names."""
    if isinstance(value, dict):
        return {name: fill(world, one) for name, one in value.items()}
    if isinstance(value, list):
        return [fill(world, one) for one in value]
    return _REF.sub(lambda match: world.refs[match[1]], value) if isinstance(value, str) else value


def ask_rest(world: World, caller: str, name: str, fields: dict[str, Any]) -> Outcome:
    """Call an operation over HTTP, and return the outcome."""
    route = REGISTRY[name].http
    given, path = fill(world, fields), route.path
    for parameter in route.path_parameters:
        path = path.replace(f"{{{parameter}}}", quote(str(given.pop(parameter)), safe=""))
    content: dict[str, Any] = {"params": _query(given)} if route.verb in ("GET", "DELETE") else {"json": given}
    token = world.tokens[caller]
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    answer = world.http.request(route.verb, path, headers=headers, **content)
    return _outcome(answer.json(), answer.text, is_error=answer.status_code != 200)


def _query(given: dict[str, Any]) -> dict[str, Any]:
    return {name: ",".join(value) if isinstance(value, list) else value for name, value in given.items()}


def tool_call(name: str, fields: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return the request of an operation as a tool call, or None if no tool takes the request."""
    if name not in OFFERED:
        return None
    tool, use = OFFERED[name]
    arguments = {use.field_of(argument): argument for argument in use.arguments}
    said: dict[str, Any] = {"action": use.action} if use.action else {}
    for field, value in fields.items():
        if field not in arguments and field != PROJECT:
            return None
        said[arguments.get(field, field)] = _written(REGISTRY[name], field, value)
    return tool.name, said


def names_project(name: str) -> bool:
    """Return whether the tool that offers an operation lets a session name a project."""
    use = OFFERED[name][1]
    return PROJECT in {use.field_of(argument) for argument in use.arguments}


def _written(operation: Operation, field: str, value: Any) -> Any:
    return value / 1000 if schemas.request_fields(operation.request)[field].is_duration else value


class Mcp:
    """MCP sessions: each caller has a session, which opens when it is first needed."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._open: dict[str, tuple[McpWire, dict[str, str]]] = {}

    def ask(self, caller: str, tool: str, arguments: dict[str, Any]) -> Outcome:
        """Call a tool, and return the outcome. A tool that the caller does not have is refused."""
        return self._outcome(caller, tool_call_message(tool, fill(self._world, arguments), _meta={STRUCTURED: True}))

    def read(self, caller: str, uri: str) -> Outcome:
        params = {"uri": fill(self._world, uri)}
        return self._outcome(caller, {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params})

    def _outcome(self, caller: str, request: dict[str, Any]) -> Outcome:
        try:
            wire, headers = self._session(caller)
        except Refused as refused:
            return _outcome(refused.body, json.dumps(refused.body), is_error=True)
        answer = wire.post_message(request, headers=headers)
        if answer.status_code != 200:
            return _outcome(answer.json(), answer.text, is_error=True)
        message = message_of(answer)
        if "error" in message:
            return _protocol_error(message["error"], answer.text)
        result = message["result"]
        body = result.get("structuredContent") or {}
        return _outcome(body, answer.text, is_error="code" in body and "retryable" in body)

    def _session(self, caller: str) -> tuple[McpWire, dict[str, str]]:
        if caller not in self._open:
            wire = McpWire(self._world.live, self._world.tokens[caller] or "none")
            params = {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "b", "version": "1"},
            }
            hello = wire.post_message({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
            if hello.status_code == httpx.codes.UNAUTHORIZED:
                wire.http.close()
                raise Refused(hello.json())
            self._open[caller] = (wire, wire.initialize_session())
        return self._open[caller]

    def close(self) -> None:
        for wire, _ in self._open.values():
            wire.http.close()


class Refused(Exception):
    """The error that the server does not accept a client."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__(str(body))
        self.body = body


def _protocol_error(error: dict[str, Any], text: str) -> Outcome:
    said = str(error["message"])
    word = "refused" if said.startswith("Unknown tool") else "missing" if "no " in said else said
    return Outcome(word, frozenset(find_markers(text)), text)


def _outcome(body: Any, text: str, *, is_error: bool) -> Outcome:
    markers = frozenset(find_markers(text))
    if not is_error:
        return Outcome("ok", markers, text)
    kind = errors.errors_by_code()[body["code"]]
    word = next((_OUTCOMES[one] for one in kind.__mro__ if one in _OUTCOMES), body["code"])
    return Outcome(word, markers, text)
