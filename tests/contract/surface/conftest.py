"""One body, three ways in: the service itself, REST, and the command. Each gives the same answers and errors."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import httpx
import msgspec
import pytest

from maestro import errors
from maestro.operations import mail, projects, sessions
from maestro.operations.base import Operation
from maestro.server.app import Server
from maestro.testing.live import LiveServer


class Way(Protocol):
    """A way to call an operation with a token."""

    async def call(self, operation: Operation, token: str, fields: dict[str, Any], key: str) -> Any: ...


class ServiceWay:
    """Straight to the dispatcher."""

    shows_as = "sent"  # what mail is after it was shown, without another word

    def __init__(self, server: Server) -> None:
        self.server = server
        self.person = server.secrets._person

    async def call(self, operation: Operation, token: str, fields: dict[str, Any], key: str) -> Any:
        caller = await self.server.identify(token=token, peer=None)
        try:
            request = msgspec.convert(fields, operation.request)
        except msgspec.ValidationError as error:
            raise errors.Invalid(str(error)) from None
        return msgspec.to_builtins(await self.server.call(operation, request, caller=caller, key=key))


class RestWay:
    """Over HTTP."""

    shows_as = "delivered"

    def __init__(self, live: LiveServer, client: httpx.AsyncClient) -> None:
        self.client = client
        self.person = live.token
        self.url = live.url

    async def call(self, operation: Operation, token: str, fields: dict[str, Any], key: str) -> Any:
        fields = {name: plain(value) for name, value in fields.items()}
        path = operation.http.path
        for name in operation.http.parameters:
            path = path.replace(f"{{{name}}}", quote(str(fields.pop(name)), safe=""))
        headers = {"Authorization": f"Bearer {token}"} | ({"Idempotency-Key": key} if key else {})
        if operation.http.verb in ("GET", "DELETE"):
            answer = await self.client.request(operation.http.verb, self.url + path, params=fields, headers=headers)
        else:
            answer = await self.client.request(operation.http.verb, self.url + path, json=fields, headers=headers)
        body = answer.json()
        if answer.status_code != 200:
            raise rebuilt(body)
        return body


class CommandWay:
    """By the installed command."""

    shows_as = "read"

    def __init__(self, live: LiveServer, folder: Path) -> None:
        self.live = live
        self.person = live.token
        self.folder = folder

    async def call(self, operation: Operation, token: str, fields: dict[str, Any], key: str) -> Any:
        if operation is projects.INIT:
            words, cwd = ["init", "--name", fields["name"]], fields["path"]
        else:
            words, cwd = self.words(operation, fields), str(self.folder)
        words += ["--json", *(["--idempotency-key", key] if key else [])]
        done = await asyncio.to_thread(self.live.command, *words, cwd=cwd, env={"MAESTRO_TOKEN": token})
        if done.returncode != 0 and not done.stdout:
            raise rebuilt(json.loads(done.stderr.splitlines()[-1]), exit_code=done.returncode)
        if operation.name == "task.docs.show":
            return json.loads(done.stdout)
        return json.loads(done.stdout)

    def words(self, operation: Operation, fields: dict[str, Any]) -> list[str]:
        """The words that say a request on the command line."""
        assert operation.command is not None
        words = operation.command.words.split()
        for name in operation.command.positional:
            if name in fields:
                value = fields[name]
                words.append(",".join(value) if isinstance(value, list) else str(plain(value)))
        for info in msgspec.structs.fields(operation.request):
            if info.name in fields and info.name not in operation.command.positional:
                words += self.flag(info, fields[info.name])
        return words

    def flag(self, info: msgspec.structs.FieldInfo, value: Any) -> list[str]:
        extra = _extra(info.type)
        name = "--" + extra.get("flag", info.name.replace("_", "-"))
        if isinstance(value, bool):
            return [name] if value else []
        if isinstance(value, bytes):
            file = self.folder / "content.bin"
            file.write_bytes(value)
            return [name, str(file)]
        if isinstance(value, list):
            return [word for item in value for word in (name, self.item(item))]
        return [name, str(plain(value))]

    def item(self, value: Any) -> str:
        """One of a repeated flag; a file is given by its path."""
        if not isinstance(value, dict):
            return str(value)
        file = self.folder / value["file_name"]
        file.write_bytes(value["content"])
        return str(file)


def _extra(kind: Any) -> dict[str, Any]:
    found = msgspec.inspect.type_info(kind)
    if isinstance(found, msgspec.inspect.UnionType):
        for part in found.types:
            if isinstance(part, msgspec.inspect.Metadata) and part.extra:
                return part.extra
    return (found.extra or {}) if isinstance(found, msgspec.inspect.Metadata) else {}


def plain(value: Any) -> Any:
    """As it goes over a wire."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


EXITS = {
    "Invalid": 2,
    "TimedOut": 3,
    "NotPermitted": 4,
    "NotAuthenticated": 4,
    "Conflict": 5,
    "NotFound": 6,
    "NotConfirmed": 7,
}


def rebuilt(body: dict[str, Any], exit_code: int | None = None) -> errors.MaestroError:
    """An error as it came over the wire; a command's exit code must fit it."""
    kind = errors.every_error()[body["code"]]
    assert set(body) == {"code", "message", "hint", "retryable", "data"}
    if exit_code is not None:
        wanted = next(EXITS[above.__name__] for above in kind.__mro__ if above.__name__ in EXITS)
        assert exit_code == wanted, f"exit {exit_code} for {body['code']}"
    return kind(body["message"], hint=body["hint"], data=body["data"])


class Surface:
    """A project of its own on one way in, with callers by name."""

    def __init__(self, way: Any, folder: Path, name: str) -> None:
        self.way = way
        self.folder = folder
        self.project = name
        self.tokens: dict[str, str] = {"dana": way.person}

    async def call(self, operation: Operation, *, by: str = "dana", key: str = "", **fields: Any) -> Any:
        if "project" in operation.request.__struct_fields__:
            fields.setdefault("project", self.project)
        return await self.way.call(operation, self.tokens[by], fields, key)

    async def join(self, name: str, mode: str = "execute", **fields: Any) -> dict[str, Any]:
        """Register a session; it can be named as `by` from then on."""
        session: dict[str, Any] = await self.call(sessions.REGISTER, name=name, mode=mode, **fields)
        self.tokens[name] = session["token"]
        return session

    async def come_out(self, operation: Operation, *, by: str = "dana", **fields: Any) -> Any:
        """Call something that shows mail, and let what it shows come out: the command says so by itself, everyone
        else with the cursor of their next call."""
        shown = await self.call(operation, by=by, **fields)
        if shown["receipt"] and self.way.shows_as != "read":
            await self.call(mail.INBOX, by=by, cursor=shown["receipt"], peek=True)
        return shown

    async def another_project(self) -> str:
        """The name of a second project."""
        name = f"{self.project}-other"
        path = self.folder / "other"
        path.mkdir()
        await self.call(projects.INIT, path=str(path), name=name)
        return name


@pytest.fixture(scope="session")
def shared_live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with LiveServer(tmp_path_factory.mktemp("contract") / "data") as live:
        yield live


_counter = iter(range(10_000))


@pytest.fixture(params=["service", "rest", "command"])
async def surface(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Surface]:
    name = f"vc{next(_counter)}"
    folder = tmp_path / name
    folder.mkdir()
    if request.param == "service":
        (tmp_path / "data").mkdir()
        server = Server(tmp_path / "data")
        made = Surface(ServiceWay(server), folder, name)
        await made.call(projects.INIT, path=str(folder), name=name)
        yield made
        await server.close()
        return
    live: LiveServer = request.getfixturevalue("shared_live")
    async with httpx.AsyncClient(timeout=60) as client:
        way: Any = RestWay(live, client) if request.param == "rest" else CommandWay(live, folder)
        made = Surface(way, folder, name)
        await made.call(projects.INIT, path=str(folder), name=name)
        yield made
