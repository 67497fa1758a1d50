"""The HTTP listener: a fixed port on loopback, or the next free port."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import cast

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from maestro import __version__
from maestro.core import errors
from maestro.operations.registry import REGISTRY
from maestro.server.app import Server
from maestro.server.connection_limits import UnidentifiedConnections, unidentified_max
from maestro.server.http_protocol import BoundedProtocol
from maestro.server.sparse_log import SparseLog
from maestro.surfaces.hooks.http import PREFIX as HOOKS
from maestro.surfaces.hooks.http import HookEndpoint
from maestro.surfaces.mcp.http.endpoint import McpEndpoint
from maestro.surfaces.rest.app import RestApplication
from maestro.surfaces.rest.guard import HeaderGuard

_PORTS_TRIED_MAX = 100
_GRACE_SECONDS = 1  # for unfinished requests: writes take milliseconds; waits and streams would never end


def open_listener(host: str, port: int) -> socket.socket:
    """Return a listening socket at the port, or at the next free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in range(port, port + _PORTS_TRIED_MAX) if port else (0,):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, candidate))
            listener.listen(1024)
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE:
                raise errors.Invalid(f"Cannot listen on {host}:{candidate}: {error.strerror}.") from error
            continue
        listener.setblocking(False)
        return listener
    raise errors.Conflict(f"No port between {port} and {port + _PORTS_TRIED_MAX - 1} is free on {host}.")


def url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class HttpApplication:
    """The ASGI application: /api, /hooks and /mcp go to their surfaces, all other paths to the pages."""

    def __init__(self, server: Server, mcp: McpEndpoint, hooks: HookEndpoint) -> None:
        self._rest = RestApplication(server, REGISTRY, hosts=_allowed_hosts(server), version=__version__)
        self._mcp = mcp
        self._hooks = hooks
        self._guard = build_header_guard(server)
        self._pages = Starlette(routes=[Route("/", _front_page)])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith("/api/"):
            await self._rest(scope, receive, send)
        elif scope["type"] == "http" and scope["path"].startswith(HOOKS):
            await self._hooks(scope, receive, send)
        elif scope["type"] == "http" and scope["path"] in ("/mcp", "/mcp/"):
            await self._mcp(scope, receive, send)
        else:
            await self._serve_page(scope, receive, send)

    async def _serve_page(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._guard.check_headers(scope["headers"])
        except errors.NotPermitted as error:
            await PlainTextResponse(f"{error.message}\n", status_code=403)(scope, receive, send)
        else:
            await self._pages(scope, receive, send)


def build_header_guard(server: Server) -> HeaderGuard:
    """Return the check of request headers, which every surface over HTTP uses."""
    return HeaderGuard(_allowed_hosts(server))


def _allowed_hosts(server: Server) -> list[str]:
    """Return the host names under which clients may call this server, besides the names of loopback."""
    return [server.settings.host, *server.settings.allowed_hosts.split(",")]


async def _front_page(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"Maestro {__version__}. /api/openapi.json describes the API.\n")


class _StoppableUvicorn(uvicorn.Server):
    """uvicorn without its ten wake-ups a second. The server waits for the stop event instead."""

    def __init__(self, config: uvicorn.Config, stopping: asyncio.Event) -> None:
        super().__init__(config)
        self._stopping = stopping

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return nullcontext()  # maestro.server.lifecycle handles the signals

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self._stopping.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the connections that are open after the grace period. Their requests end without a cancellation."""
        close_timer = asyncio.get_running_loop().call_later(_GRACE_SECONDS, self._close_connections)
        await super().shutdown(sockets)
        close_timer.cancel()

    def _close_connections(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()


async def serve_http(app: HttpApplication, listener: socket.socket, stopping: asyncio.Event) -> None:
    """Answer HTTP requests until the stop event is set."""
    config = uvicorn.Config(
        app,
        http=cast(
            type[asyncio.Protocol],
            partial(BoundedProtocol, unidentified=UnidentifiedConnections(connections_max=unidentified_max())),
        ),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS + 1,
    )
    server = _StoppableUvicorn(config, stopping)
    uvicorn_log, sparse_filter = logging.getLogger("uvicorn.error"), SparseLog()
    uvicorn_log.addFilter(sparse_filter)
    try:
        await server.serve([listener])
    finally:
        uvicorn_log.removeFilter(sparse_filter)
