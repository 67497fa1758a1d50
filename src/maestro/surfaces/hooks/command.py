"""`maestro hook TOOL EVENT`: the payload on standard input, the answer on standard output, always exit code 0.

Any other code, and any word on standard error, could be taken for a verdict by some program. Only the client of one
that waits for a verdict is told that there is none yet.
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

PATIENT = "--patient"  # asks again until it is answered
_NOWHERE_MAX = 1_000


class Client(Protocol):
    """What is needed of a command's client; the command surface has it."""

    async def out(self, data: str | bytes) -> None: ...

    async def stdin(self) -> bytes: ...

    async def confirm(self) -> bool: ...

    async def waiting(self, milliseconds: int) -> None: ...


class HookCommand:
    """Serves the command."""

    def __init__(self, app: App, hooks: Hooks) -> None:
        self._app = app
        self._hooks = hooks
        self._nowhere: dict[tuple[str, str], float] = {}
        self._arriving = asyncio.Lock()

    async def serve(self, client: Client, words: list[str], *, peer: Peer | None, directory: str, token: str) -> bool:
        """One hook; whether it was answered. Whatever is wrong is noted for `maestro doctor`, and kept from the
        agent."""
        tool, event = (*words, "", "")[:2]

        async def who(happening: Happening) -> Caller:
            return await self._who(happening, peer, happening.directory or directory, token)

        async def holds() -> None:
            await client.waiting(limits.hook_hold_seconds_max * 1000)

        try:
            answered = await self._hooks.answer(tool, event, await client.stdin(), who, holds=holds)
        except errors.MaestroError as error:
            REFUSALS.note(error)
            self._hooks.failed(tool, event, error.message)
            return PATIENT not in words
        if answered.body:
            await self._hand_out(client, answered)
        return True

    async def _hand_out(self, client: Client, answered: Answered) -> None:
        is_out = False
        try:
            await client.out(answered.body + b"\n")
            is_out = not answered.reply.receipt or await client.confirm()
        finally:
            with contextlib.suppress(errors.MaestroError):  # not to know that it is out harms nobody
                await asyncio.shield(self._hooks.handed(answered, is_out=is_out))

    async def _who(self, happening: Happening, peer: Peer | None, directory: str, token: str) -> Caller:
        """The session whose hook this is; an agent that nobody knows becomes one."""
        caller = await self._app.identify(token=token, peer=peer)
        if token or caller.role is not Role.PERSON:
            return caller
        if happening.is_aside:
            raise errors.NotFound("A helper of an agent that is not known yet.")
        place = (happening.tool, directory)
        if self._nowhere.get(place, 0.0) > time.monotonic():
            raise errors.NotFound(f"{directory} belongs to no project.", hint="maestro init")
        async with self._arriving:
            caller = await self._app.identify(token="", peer=peer)
            if caller.role is not Role.PERSON:
                return caller
            try:
                arrival = Arrival(peer, directory, name=happening.tool, tool=happening.tool, through_shell=True)
                return await arrived(self._app, caller, arrival)
            except errors.NotFound:
                self._remember(place)
                raise

    def _remember(self, place: tuple[str, str]) -> None:
        """Looking for a project is dear, and most directories of a machine belong to none."""
        if len(self._nowhere) >= _NOWHERE_MAX:
            self._nowhere.clear()
        self._nowhere[place] = time.monotonic() + limits.hook_nowhere_seconds
