"""Serve `maestro hook TOOL EVENT`: the payload on standard input, the answer on standard output, always exit code 0.

A program could take another exit code, or a text on standard error, for a decision. Only the client of a patient hook
learns that no answer exists yet, and asks again.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Protocol

from maestro.core import errors, limits
from maestro.domain.callers import Caller, Role
from maestro.operations.app import App, Peer
from maestro.surfaces.arrivals import Arrival, arrived
from maestro.surfaces.hooks.answers import Answered, Hooks
from maestro.surfaces.refusals import REFUSALS
from maestro.tools.hooks.base import Happening

PATIENT = "--patient"  # the client asks again until the hook has an answer
_UNPROJECTED_MAX = 1_000


class Client(Protocol):
    """The client of a command, as the hook surface needs it. The command surface implements the protocol."""

    async def out(self, data: str | bytes) -> None: ...

    async def stdin(self) -> bytes: ...

    async def confirm(self) -> bool: ...

    async def waiting(self, milliseconds: int) -> None: ...


class HookCommand:
    """The server of the command `maestro hook`."""

    def __init__(self, app: App, hooks: Hooks) -> None:
        self._app = app
        self._hooks = hooks
        self._without_project: dict[tuple[str, str], float] = {}
        self._arrival_lock = asyncio.Lock()

    async def serve(
        self, client: Client, arguments: list[str], *, peer: Peer | None, directory: str, token: str
    ) -> bool:
        """Serve one hook. Return whether the hook has an answer.

        Errors are recorded for `maestro doctor`, and the agent does not see them.
        """
        tool, event = (*arguments, "", "")[:2]

        async def identify(happening: Happening) -> Caller:
            return await self._identify_caller(happening, peer, happening.directory or directory, token)

        async def announce_hold() -> None:
            await client.waiting(limits.hook_hold_seconds_max * 1000)

        try:
            answered = await self._hooks.answer(tool, event, await client.stdin(), identify, holds=announce_hold)
        except errors.MaestroError as error:
            REFUSALS.note(error)
            self._hooks.failed(tool, event, error.message)
            return PATIENT not in arguments
        if answered.body:
            await self._send_answer(client, answered)
        return True

    async def _send_answer(self, client: Client, answered: Answered) -> None:
        is_out = False
        try:
            await client.out(answered.body + b"\n")
            is_out = not answered.reply.receipt or await client.confirm()
        finally:
            with contextlib.suppress(errors.MaestroError):  # unconfirmed mail is only offered again
                await asyncio.shield(self._hooks.handed(answered, is_out=is_out))

    async def _identify_caller(self, happening: Happening, peer: Peer | None, directory: str, token: str) -> Caller:
        """Return the session of the hook; register an unknown agent as a session."""
        caller = await self._app.identify(token=token, peer=peer)
        if token or caller.role is not Role.PERSON:
            return caller
        if happening.is_aside:
            raise errors.NotFound("The hook comes from a helper of an agent that is not registered.")
        tool_and_directory = (happening.tool, directory)
        if self._without_project.get(tool_and_directory, 0.0) > time.monotonic():
            raise errors.NotFound(f"{directory} belongs to no project.", hint="Register the project: maestro init")
        async with self._arrival_lock:
            caller = await self._app.identify(token="", peer=peer)
            if caller.role is not Role.PERSON:
                return caller
            try:
                arrival = Arrival(peer, directory, name=happening.tool, tool=happening.tool, through_shell=True)
                return await arrived(self._app, caller, arrival)
            except errors.NotFound:
                self._remember_without_project(tool_and_directory)
                raise

    def _remember_without_project(self, tool_and_directory: tuple[str, str]) -> None:
        """Remember a directory without a project: the search is slow, and most directories belong to no project."""
        if len(self._without_project) >= _UNPROJECTED_MAX:
            self._without_project.clear()
        self._without_project[tool_and_directory] = time.monotonic() + limits.hook_nowhere_seconds
