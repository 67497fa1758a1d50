"""A server elsewhere, as the surfaces see a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from maestro.client.remote.http import Api
from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.events import Event
from maestro.domain.identity import identify
from maestro.domain.projects import Workspace
from maestro.domain.runs import RunStatus
from maestro.git import git_program
from maestro.operations import projects, runs, server, sessions
from maestro.operations.app import Peer
from maestro.operations.base import Effect, Operation

_NOT_HERE = frozenset({projects.INIT.name, server.BACKUP.name})
_GRACE_SECONDS = 10.0
_PAUSE_SECONDS = 0.5
_LOOK_SECONDS = 1.0


class RemoteApp:
    """See `maestro.operations.app.App`."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def identify(self, *, token: str, peer: Peer | None, again: bool = False) -> Caller:
        """Who the server takes this token for."""
        found: sessions.Identity = await self._ask(sessions.WHOAMI, sessions.WhoAmI())
        session = found.session
        return Caller(
            found.role,
            session.id if session else found.name,
            session_id=session.id if session else None,
            project_id=session.project_id if session else None,
            human=found.human,
        )

    async def call(self, operation: Operation, request: msgspec.Struct, *, caller: Caller, key: str = "") -> Any:
        if operation.name in _NOT_HERE:
            raise errors.Invalid(f"{operation.name} is about the server's own disk.", hint="Run it on that machine.")
        if isinstance(request, projects.LocateProject):
            return await self._locate(request.path)
        return await self._ask(operation, request, key=key)

    async def stream(self, operation: Operation, request: msgspec.Struct, *, caller: Caller) -> AsyncIterator[Any]:
        if not isinstance(request, server.ReadEvents):
            async for view in self._run(operation, request):
                yield view
            return
        if not request.follow:
            async for item in self._pages(request):
                yield item
            return
        lines = self._api.stream(operation, request)
        while (line := await asyncio.to_thread(next, lines, None)) is not None:
            resync = b'"kind":"resync"' in line
            yield msgspec.json.decode(line, type=server.Resync if resync else Event)

    async def _run(self, operation: Operation, request: Any) -> AsyncIterator[runs.RunView]:
        """A run as it stands; to follow it from afar, one asks now and then."""
        view: runs.RunView = await self._ask(operation, request)
        yield view
        once = getattr(request, "detach", False) or getattr(request, "follow", True) is False
        while not once and view.status is RunStatus.RUNNING:
            await asyncio.sleep(_LOOK_SECONDS)
            now = await self._ask(runs.SHOW, runs.ShowRun(id=view.id))
            if now != view:
                yield now
            view = now

    async def _pages(self, request: server.ReadEvents) -> AsyncIterator[Any]:
        while True:
            page: server.EventList = await self._ask(server.EVENTS, request)
            if page.resync is not None:
                yield page.resync
            for event in page.events:
                yield event
            if page.cursor is None:
                return
            request = msgspec.structs.replace(request, since=int(page.cursor))

    async def _ask(self, operation: Operation, request: msgspec.Struct, *, key: str = "") -> Any:
        if "timeout" not in request.__struct_fields__:
            return await asyncio.to_thread(self._api.call, operation, request, key=key)
        return await self._wait(operation, request, key)

    async def _wait(self, operation: Operation, request: Any, key: str) -> Any:
        """What waits and changes nothing asks again when the server went away, for the time that is left."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + request.timeout / 1000
        while True:
            seconds = request.timeout / 1000 + _GRACE_SECONDS
            try:
                return await asyncio.to_thread(self._api.call, operation, request, key=key, seconds=seconds)
            except errors.NoServer:
                left = int((ends - loop.time()) * 1000)
                if operation.effect is not Effect.ACTION or left <= 0:
                    raise
            await asyncio.sleep(_PAUSE_SECONDS)
            request = msgspec.structs.replace(request, timeout=left)

    async def _locate(self, path: str) -> projects.Place:
        """A checkout here is no workspace of a server elsewhere, but its remote names the project."""
        checkout = await git_program.checkout_at(path)
        if checkout is None:
            raise errors.NotFound(f"{path} is not in a git checkout.", hint="Say --project NAME.")
        key = identify(checkout).key
        found: projects.ProjectDetail = await self._ask(projects.SHOW, projects.OneProject(project=key))
        workspace = Workspace("", found.id, "", "", path, datetime.now(UTC))
        return projects.Place(project=found, workspace=workspace)
