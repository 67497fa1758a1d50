"""`maestro hook` prints the answer of a hook, and prints no output after an error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from maestro.domain.callers import Caller
from maestro.operations import sessions
from maestro.operations.app import SocketPeer
from maestro.server import hooks as hook_surface
from maestro.server.app import Server
from maestro.surfaces.hooks.command import PATIENT_OPTION, HookCommand


class Client:
    """The client of a hook, with the payload of the hook and the received output."""

    def __init__(self, payload: Any) -> None:
        self._payload = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        self.output = b""

    async def write_out(self, data: str | bytes) -> None:
        self.output += data.encode() if isinstance(data, str) else data

    async def read_stdin(self) -> bytes:
        return self._payload

    async def confirm_output(self) -> bool:
        return True

    async def announce_wait(self, milliseconds: int) -> None: ...


class CommandHooks:
    """The command `maestro hook`, called with the token of the session `w`."""

    def __init__(self, server: Server, token: str) -> None:
        self._command = HookCommand(server, hook_surface.build_hook_answers(server))
        self._token = token

    async def fire(self, payload: Any, *arguments: str, peer: SocketPeer | None = None, token: str | None = None):
        client = Client(payload)
        has_answer = await self._command.serve_hook(
            client, list(arguments), peer=peer, directory="/", token=self._token if token is None else token
        )
        return has_answer, client.output


@pytest.fixture
async def hooks(server: Server, dana: Caller, vc: str) -> CommandHooks:
    registered = await server.call(sessions.REGISTER, sessions.RegisterSession(project=vc, name="w"), caller=dana)
    return CommandHooks(server, registered.token)


async def test_the_answer_of_a_hook_is_printed_as_a_line(hooks: CommandHooks) -> None:
    has_answer, output = await hooks.fire({"source": "startup"}, "claude", "SessionStart")
    assert has_answer and output.endswith(b"\n") and b"You are w" in output


@pytest.mark.parametrize("arguments", [(), ("claude",), ("parrot", "Stop"), ("claude", "Stop")])
async def test_a_failed_hook_prints_no_output(hooks: CommandHooks, arguments: tuple[str, ...]) -> None:
    assert await hooks.fire(b"{", *arguments) == (True, b"")


async def test_a_patient_client_is_told_that_the_hook_has_no_answer(hooks: CommandHooks) -> None:
    assert await hooks.fire(b"{", "claude", "Stop", PATIENT_OPTION) == (False, b"")
