"""A server on another machine, with the interface that the surfaces expect of a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from maestro.client.remote.http import HttpApi
from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.events import Event
from maestro.domain.identity import identify_project
from maestro.domain.projects import Workspace
from maestro.domain.runs import RunStatus
from maestro.git import git_program
from maestro.operations import projects, runs, server, sessions
from maestro.operations.app import SocketPeer
from maestro.operations.base import Effect, Operation

_SERVER_ONLY = frozenset({projects.INIT.name, server.BACKUP.name})
_GRACE_SECONDS = 10.0
_PAUSE_SECONDS = 0.5
_POLL_SECONDS = 1.0


class RemoteApp:
    """A remote server behind the interface `maestro.operations.app.App`."""

    def __init__(self, api: HttpApi) -> None:
        self._api = api

    async def identify(self, *, token: str, peer: SocketPeer | None, again: bool = False) -> Caller:
        """Return the caller that the server recognises by the token."""
        identity: sessions.CallerIdentity = await self._send_request(sessions.WHOAMI, sessions.WhoAmI())
        session = identity.session
        return Caller(
            identity.role,
            session.id if session else identity.name,
            session_id=session.id if session else None,
            project_id=session.project_id if session else None,
            human=identity.human,
        )

    async def call(self, operation: Operation, request: msgspec.Struct, *, caller: Caller, key: str = "") -> Any:
        if operation.name in _SERVER_ONLY:
            raise errors.Invalid(
                f"{operation.name} works on the server's own disk.", hint="Run the command on the server's machine."
            )
        if isinstance(request, projects.LocateProject):
            return await self._locate_project(request.path)
        return await self._send_request(operation, request, key=key)

    async def stream(self, operation: Operation, request: msgspec.Struct, *, caller: Caller) -> AsyncIterator[Any]:
        if not isinstance(request, server.ReadEvents):
            async for view in self._follow_run(operation, request):
                yield view
            return
        if not request.follow:
            async for item in self._read_pages(request):
                yield item
            return
        lines = self._api.stream_events(operation, request)
        while (line := await asyncio.to_thread(next, lines, None)) is not None:
            resync = b'"kind":"resync"' in line
            yield msgspec.json.decode(line, type=server.Resync if resync else Event)

    async def _follow_run(self, operation: Operation, request: Any) -> AsyncIterator[runs.RunView]:
        """Yield the state of a run after each change. The client polls the remote server for changes."""
        view: runs.RunView = await self._send_request(operation, request)
        yield view
        is_once = getattr(request, "detach", False) or getattr(request, "follow", True) is False
        while not is_once and view.status is RunStatus.RUNNING:
            await asyncio.sleep(_POLL_SECONDS)
            new_view = await self._send_request(runs.SHOW, runs.ShowRun(id=view.id))
            if new_view != view:
                yield new_view
            view = new_view

    async def _read_pages(self, request: server.ReadEvents) -> AsyncIterator[Any]:
        while True:
            page: server.EventList = await self._send_request(server.EVENTS, request)
            if page.resync is not None:
                yield page.resync
            for event in page.events:
                yield event
            if page.cursor is None:
                return
            request = msgspec.structs.replace(request, since=int(page.cursor))

    async def _send_request(self, operation: Operation, request: msgspec.Struct, *, key: str = "") -> Any:
        if "timeout" not in request.__struct_fields__:
            return await asyncio.to_thread(self._api.call_operation, operation, request, key=key)
        return await self._send_waiting_request(operation, request, key)

    async def _send_waiting_request(self, operation: Operation, request: Any, key: str) -> Any:
        """Send a request with a timeout. If the server goes away, repeat a wait for the time that is left.

        Only actions are repeated: an action with a timeout waits and changes nothing.
        """
        loop = asyncio.get_running_loop()
        ends = loop.time() + request.timeout / 1000
        while True:
            seconds = request.timeout / 1000 + _GRACE_SECONDS
            try:
                return await asyncio.to_thread(self._api.call_operation, operation, request, key=key, seconds=seconds)
            except errors.NoServer:
                left = int((ends - loop.time()) * 1000)
                if operation.effect is not Effect.ACTION or left <= 0:
                    raise
            await asyncio.sleep(_PAUSE_SECONDS)
            request = msgspec.structs.replace(request, timeout=left)

    async def _locate_project(self, path: str) -> projects.ProjectLocation:
        """Return the project of a local checkout, which git's remote names.

        The checkout is no workspace of the remote server: the returned workspace has no id.
        """
        checkout = await git_program.checkout_at(path)
        if checkout is None:
            raise errors.NotFound(f"{path} is not in a git checkout.", hint="Name the project: --project NAME.")
        key = identify_project(checkout).key
        project: projects.ProjectDetail = await self._send_request(projects.SHOW, projects.OneProject(project=key))
        workspace = Workspace("", project.id, "", "", path, datetime.now(UTC))
        return projects.ProjectLocation(project=project, workspace=workspace)
