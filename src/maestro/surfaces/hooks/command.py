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
from maestro.operations.app import App, SocketPeer
from maestro.surfaces.hand_started import UnregisteredAgent, default_name, register_agent
from maestro.surfaces.hooks.answers import HookAnswer, HookAnswers
from maestro.surfaces.refusal_log import REFUSAL_LOG
from maestro.tools.hook_dialect import HookEvent

PATIENT_OPTION = "--patient"  # the client asks again until the hook has an answer
_UNPROJECTED_MAX = 1_000


class HookClient(Protocol):
    """The client of a command, as the hook surface needs it. The command surface implements the protocol."""

    async def write_out(self, data: str | bytes) -> None: ...

    async def read_stdin(self) -> bytes: ...

    async def confirm_output(self) -> bool: ...

    async def announce_wait(self, milliseconds: int) -> None: ...


class HookCommand:
    """The server of the command `maestro hook`."""

    def __init__(self, app: App, hooks: HookAnswers) -> None:
        self._app = app
        self._hooks = hooks
        self._without_project: dict[tuple[str, str], float] = {}
        self._registration_lock = asyncio.Lock()

    async def serve_hook(
        self, client: HookClient, arguments: list[str], *, peer: SocketPeer | None, directory: str, token: str
    ) -> bool:
        """Serve one hook. Return whether the hook has an answer.

        Errors are recorded for `maestro doctor`, and the agent does not see them.
        """
        tool, event = (*arguments, "", "")[:2]

        async def identify(hook_event: HookEvent) -> Caller:
            return await self._identify_caller(hook_event, peer, hook_event.directory or directory, token)

        async def announce_hold() -> None:
            await client.announce_wait(limits.hook_hold_seconds_max * 1000)

        try:
            answered = await self._hooks.answer_hook(
                tool, event, await client.read_stdin(), identify, before_hold=announce_hold
            )
        except errors.MaestroError as error:
            REFUSAL_LOG.log_refusal(error)
            self._hooks.record_failure(tool, event, error.message)
            return PATIENT_OPTION not in arguments
        if answered.body:
            await self._send_answer(client, answered)
        return True

    async def _send_answer(self, client: HookClient, answered: HookAnswer) -> None:
        is_out = False
        try:
            await client.write_out(answered.body + b"\n")
            is_out = not answered.reply.receipt or await client.confirm_output()
        finally:
            with contextlib.suppress(errors.MaestroError):  # unconfirmed mail is only offered again
                await asyncio.shield(self._hooks.settle_answer(answered, is_delivered=is_out))

    async def _identify_caller(
        self, hook_event: HookEvent, peer: SocketPeer | None, directory: str, token: str
    ) -> Caller:
        """Return the session of the hook; register an unknown agent as a session."""
        caller = await self._app.identify(token=token, peer=peer)
        if token or caller.role is not Role.PERSON:
            return caller
        if hook_event.is_from_subagent:
            raise errors.NotFound("The hook comes from a helper of an agent that is not registered.")
        tool_and_directory = (hook_event.tool, directory)
        if self._without_project.get(tool_and_directory, 0.0) > time.monotonic():
            raise errors.NotFound(f"{directory} belongs to no project.", hint="Register the project: maestro init")
        async with self._registration_lock:
            caller = await self._app.identify(token="", peer=peer)
            if caller.role is not Role.PERSON:
                return caller
            try:
                name = default_name(hook_event.tool)
                agent = UnregisteredAgent(peer, directory, name=name, tool=hook_event.tool, through_shell=True)
                return await register_agent(self._app, caller, agent)
            except errors.NotFound:
                self._remember_without_project(tool_and_directory)
                raise

    def _remember_without_project(self, tool_and_directory: tuple[str, str]) -> None:
        """Remember a directory without a project: the search is slow, and most directories belong to no project."""
        if len(self._without_project) >= _UNPROJECTED_MAX:
            self._without_project.clear()
        self._without_project[tool_and_directory] = time.monotonic() + limits.hook_unknown_directory_seconds
