"""Invalid files of a repository cause a warning, never an internal error, and do not delay other requests."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import subprocess
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.operations import projects as project_ops
from maestro.operations import spawning as spawn_ops
from maestro.server.app import Server
from maestro.testing import rounds
from maestro.testing.live import LiveServer

WAITS_SECONDS_MAX = 0.1
CONFIG = ".maestro/config.toml"
TEMPLATE, SKILL = ".maestro/templates/mine.md", ".maestro/skills/sql/SKILL.md"
FILES = {
    CONFIG: 'remote = "origin"\ninbound = "open"\n[projects.beads]\nremote = "https://github.com/acme/beads"\n'
    '[tracker]\nkind = "builtin"\n[worktree]\nsetup = "true"\ncopy = [".env"]\n',
    ".maestro/local.toml": '[projects.other]\npath = "../other"\n',
    TEMPLATE: "---\nname: mine\nmode: execute\nstrategy: mine\nsummary: One task.\nphases: init, work\n---\nAll.\n\n"
    "## init\nRead {{task.show}}.\n\n## work\n```\n## no heading\n```\nDo it.\n",
    SKILL: "---\nname: sql\ndescription: How queries are written here.\n---\nUse bind parameters.\n",
    ".git/config": None,  # the file that git wrote
}
HOSTILE = {
    "parts": "a." * 20_000 + "a=1",
    "nesting": "a = " + "[" * 30_000,
    "digits": "a = " + "1" * 5_000,
    "not UTF-8": b"remote = '\xff\xfe'",
    "null bytes": '[projects.beads]\nremote = "a\\u0000b"\n',
    "a path of null bytes": '[projects.beads]\npath = "\\u0000"\n',
}


class Lag:
    """The longest delay of the event loop, in elapsed time and in processor time."""

    def __init__(self) -> None:
        self.seconds = self.cpu_seconds = 0.0

    async def watch(self) -> None:
        while True:
            began, cpu = time.monotonic(), time.thread_time()
            await asyncio.sleep(0.002)
            self.seconds = max(self.seconds, time.monotonic() - began - 0.002)
            self.cpu_seconds = max(self.cpu_seconds, time.thread_time() - cpu)


@contextlib.asynccontextmanager
async def watched() -> Any:
    lag = Lag()
    watch = asyncio.create_task(lag.watch())
    await asyncio.sleep(0)
    yield lag
    watch.cancel()


class Checkout:
    """A repository with every kind of file that Maestro reads from a checkout."""

    def __init__(self, path: Path, server: Server, caller: Caller) -> None:
        self.path, self._server, self._caller = path, server, caller
        self.good = {
            name: (path / name).read_bytes() if text is None else text.encode() for name, text in FILES.items()
        }
        self.problems: list[str] = []
        (path / "README").write_text("hello\n")
        subprocess.run(["git", "-C", str(path), "add", "-A"], check=True)
        subprocess.run(["git", "-C", str(path), "commit", "-qm", "first"], check=True)
        for name in FILES:
            self.put(name, self.good[name])

    def put(self, name: str, data: bytes) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.is_dir():
            file.rmdir()
        file.unlink(missing_ok=True)
        file.write_bytes(data)

    async def use(self) -> list[str]:
        """Call each operation that reads files of the checkout; return the messages of the refusals."""
        refused: list[str] = []
        here = str(self.path)
        calls: list[Callable[[], Awaitable[Any]]] = [
            lambda: self._call(project_ops.LOCATE, project_ops.LocateProject(path=here)),
            lambda: self._call(spawn_ops.TEMPLATES, spawn_ops.ListTemplates(path=here)),
            lambda: self._spawn(template="mine", strategy=""),
            lambda: self._spawn(skill=["sql"], worktree=True),
        ]
        for call in calls:
            try:
                await call()
            except errors.MaestroError as error:
                assert type(error) is not errors.MaestroError or "internal" not in error.message, error
                assert "\n" not in error.message.strip() or len(error.message) < 2000, error.message
                refused.append(error.message)
        return refused

    async def _spawn(self, **fields: Any) -> None:
        project = (await self._call(project_ops.LOCATE, project_ops.LocateProject(path=str(self.path)))).project.id
        request = spawn_ops.SpawnSession(
            project=project, path=str(self.path), arguments=["true"], dry_run=True, **fields
        )
        await self._call(spawn_ops.SPAWN, request)

    async def _call(self, operation: Any, request: Any) -> Any:
        return await self._server.call(operation, request, caller=self._caller)


@pytest.fixture
def checkout(make_repo: Callable[..., Path], server: Server, dana: Caller) -> Checkout:
    return Checkout(make_repo("vc"), server, dana)


async def test_valid_files_of_a_checkout_are_accepted(checkout: Checkout) -> None:
    assert await checkout.use() == []


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
@pytest.mark.parametrize("name", [CONFIG, ".maestro/local.toml"])
async def test_a_hostile_settings_file_causes_one_line_of_warning(
    checkout: Checkout, name: str, text: str | bytes
) -> None:
    await checkout.use()
    checkout.put(name, text if isinstance(text, bytes) else text.encode())
    async with watched() as lag:
        place = await checkout._call(project_ops.LOCATE, project_ops.LocateProject(path=str(checkout.path)))
        await checkout.use()
    (note,) = [one for one in place.notes if name in one]
    assert "\n" not in note
    assert lag.cpu_seconds < WAITS_SECONDS_MAX


@pytest.mark.parametrize("name", [name for name in FILES if name != ".git/config"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "link to a device", "large"])
async def test_a_large_or_special_file_does_not_delay_the_server(checkout: Checkout, name: str, kind: str) -> None:
    file = checkout.path / name
    file.unlink()
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "link to a device":
        file.symlink_to("/dev/zero")
    else:
        with file.open("wb") as large:
            large.truncate(10 << 30)
    async with asyncio.timeout(20), watched() as lag:
        await checkout.use()
    assert lag.cpu_seconds < WAITS_SECONDS_MAX


async def test_a_template_without_a_heading_is_refused(checkout: Checkout) -> None:
    checkout.put(TEMPLATE, checkout.good[TEMPLATE].replace(b"## ", b""))
    assert any("has no heading" in one for one in await checkout.use())


def test_a_command_in_a_hostile_checkout_works_and_warns(live: LiveServer, make_repo: Callable[..., Path]) -> None:
    """Use a real server, which answers another caller at the same time."""
    repo = make_repo("vc")
    (repo / ".maestro").mkdir()
    assert live.run_command("init", cwd=repo).returncode == 0
    for text in ("a." * 20_000 + "a=1", "a = " + "[" * 30_000, "a = " + "1" * 5_000):
        (repo / CONFIG).write_text(text)
        took: list[float] = []
        other = threading.Thread(target=_time_status, args=(live, took))
        other.start()
        done = live.run_command("task", "list", cwd=repo)
        other.join()
        assert done.returncode == 0, done.stderr
        lines = [line for line in done.stderr.decode().splitlines() if "config.toml" in line]
        assert len(lines) == 1 and "internal" not in done.stderr.decode(), done.stderr
        assert took[0] < 10


def _time_status(live: LiveServer, took: list[float]) -> None:
    began = time.monotonic()
    live.run_command("status")
    took.append(time.monotonic() - began)


# Mutations.

FRAGMENTS = [
    b"a." * 5_000, b"[" * 10_000, b"{a=" * 5_000, b"1" * 5_000, b'"', b"'''", b'"""', b"\0", b"\xff\xfe", b"---\n", b"\\u0000",
    b"\\ud800", b"\r", b"]]", b"[[projects]]\n", b"[projects]\nx = 1\n", b"{{" * 3_000, b"```\n", b"## x\n", b"a" * 40_000,
    b"\n" * 20_000, b"include.path = /dev/zero\n", b'[url "x"]\n\tinsteadOf = git\n', b"\xef\xbb\xbf", b"0x", b"9999-99-99",
]  # fmt: skip


def mutated(data: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.randrange(1, 4)):
        at, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
        match chance.randrange(5):
            case 0:
                data = data[:at] + chance.choice(FRAGMENTS) + data[at:]
            case 1:
                data = data[:at] + data[end:]
            case 2:
                data = data[:at] + data[at:end] * chance.randrange(2, 50) + data[end:]
            case 3:
                data = data[:at] + chance.randbytes(chance.randrange(1, 20)) + data[at:]
            case _:
                data = data[:at] + chance.choice(FRAGMENTS) + data[end:]
        data = data[:200_000]
    return data


@pytest.mark.slow
@pytest.mark.rounds
@pytest.mark.timeout(300)
async def test_mutated_files_of_a_checkout_cause_no_internal_error_and_no_delay(checkout: Checkout) -> None:
    many, seed = rounds.round_count(300, full=5_000), rounds.round_seed()
    chance = random.Random(seed)
    refused, internal = 0, []
    async with watched() as lag:
        for number in range(many):
            name = chance.choice(list(FILES))
            data = await asyncio.to_thread(mutated, checkout.good[name], chance)
            await asyncio.to_thread(checkout.put, name, data)
            try:
                refused += bool(await checkout.use())
            except Exception as problem:  # noqa: BLE001 (counted)
                internal.append(f"{number} {name}: {type(problem).__name__}: {problem}")
            checkout.put(name, checkout.good[name])
    rounds.report_rounds(
        "mutated checkouts",
        many,
        seed=seed,
        refused=refused,
        internal_errors=len(internal),
        ms_of_the_loop_at_most=round(lag.cpu_seconds * 1000),
        ms_waited_at_most=round(lag.seconds * 1000),
    )
    assert internal == []
    assert lag.cpu_seconds < WAITS_SECONDS_MAX
