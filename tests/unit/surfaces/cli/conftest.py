"""Fixtures: a command line over a fake server, which records its calls and gives the answers that a test sets."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from maestro.domain.callers import Caller, person_caller
from maestro.domain.projects import Project, Workspace
from maestro.operations import projects as project_ops
from maestro.operations.app import SocketPeer
from maestro.operations.base import Operation
from maestro.surfaces.cli.commands import CommandLine
from maestro.surfaces.cli.invocation import Invocation

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
PEER = SocketPeer(uid=1000, pid=4321)


@dataclass
class Call:
    operation: str
    request: Any
    caller: Caller
    key: str = ""


@dataclass
class FakeApp:
    """A server that answers each operation with a value, an error, or the result of a function of the request."""

    answers: dict[str, Any] = field(default_factory=dict)
    caller: Caller = field(default_factory=lambda: person_caller("dana"))
    calls: list[Call] = field(default_factory=list)
    asked: list[tuple[str, SocketPeer | None]] = field(default_factory=list)

    async def identify(self, *, token: str, peer: SocketPeer | None, again: bool = False) -> Caller:
        self.asked.append((token, peer))
        return self.caller

    async def call(self, operation: Operation, request: msgspec.Struct, *, caller: Caller, key: str = "") -> Any:
        self.calls.append(Call(operation.name, request, caller, key))
        answer = self.answers[operation.name]
        if isinstance(answer, Exception):
            raise answer
        return await answer(request) if callable(answer) else answer

    async def stream(self, operation: Operation, request: msgspec.Struct, *, caller: Caller) -> AsyncIterator[Any]:
        self.calls.append(Call(operation.name, request, caller))
        for item in self.answers[operation.name]:
            if isinstance(item, Exception):
                raise item
            yield item

    @property
    def last(self) -> Call:
        return self.calls[-1]


@dataclass
class FakeChannel:
    """The channel of a client in memory."""

    stdout_tty: bool = False
    stderr_tty: bool = False
    columns: int = 0
    color: bool = False
    stdin_tty: bool = False
    accepts_hand_over: bool = True
    input: bytes = b""
    files: dict[str, bytes] = field(default_factory=dict)
    written: bytes = b""
    said: str = ""
    flushes: int = 0
    waits: int | None = None
    held: str = ""
    real_paths: dict[str, str] = field(default_factory=dict)

    async def write_out(self, data: str | bytes) -> None:
        self.written += data.encode() if isinstance(data, str) else data

    async def write_err(self, text: str) -> None:
        self.said += text

    async def flush(self) -> None:
        self.flushes += 1

    async def read_stdin(self) -> bytes:
        return self.input

    async def read_file(self, path: str) -> bytes:
        return self.files[path]

    async def open_file(self, path: str) -> str:
        self.held = path
        return self.real_paths.get(path, path if path.startswith("/") else f"/src/dave/vc/{path}")

    async def read_opened_file(self) -> bytes:
        return self.files[self.held]

    async def announce_wait(self, milliseconds: int) -> None:
        self.waits = milliseconds

    async def confirm_output(self) -> bool:
        return True


@dataclass
class Ended:
    """The end of a command: its exit code, its output and its errors."""

    code: int | None
    out: str
    err: str
    raw: bytes
    channel: FakeChannel

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)

    @property
    def error(self) -> Any:
        return msgspec.json.decode(self.err)


class Cli:
    """The command line, called with the words of a shell."""

    def __init__(self, app: FakeApp) -> None:
        self.app = app
        self.commands = CommandLine(app, version="1.2.3")

    async def run(
        self,
        line: str | list[str],
        *,
        env: dict[str, str] | None = None,
        directory: str = "/src/dave/vc",
        **channel: Any,
    ) -> Ended:
        """Run `maestro …`. The keyword arguments describe the client."""
        client = FakeChannel(**channel)
        arguments = shlex.split(line) if isinstance(line, str) else line
        invocation = Invocation(
            arguments=[argument.encode() for argument in arguments],
            directory=directory,
            environment=env or {},
            stdout_tty=client.stdout_tty,
        )
        code = await self.commands.run_command(invocation, client, peer=PEER)
        return Ended(code, client.written.decode(errors="replace"), client.said, client.written, client)


@pytest.fixture
def project() -> Project:
    return Project("prj_00000000000000000000000001", "github.com/acme/vc", "vc", ["plan", "build"], AT)


@pytest.fixture
def place(project: Project) -> project_ops.ProjectLocation:
    workspace = Workspace("wsp_00000000000000000000000001", project.id, "dave", "dave/vc", "/src/dave/vc", AT)
    return project_ops.ProjectLocation(project=project, workspace=workspace)


@pytest.fixture
def app(place: project_ops.ProjectLocation) -> FakeApp:
    return FakeApp({"project.locate": place})


@pytest.fixture
def cli(app: FakeApp) -> Cli:
    return Cli(app)


@pytest.fixture
def make_channel() -> Callable[..., FakeChannel]:
    return FakeChannel
