"""An answered write is on the disk. A kill keeps unflushed data, so the tests check the system calls."""

from __future__ import annotations

import base64
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from maestro.domain.callers import Caller
from maestro.operations import tasks as ops
from maestro.server.app import Server
from maestro.store.layout import BLOBS, DATABASE
from maestro.testing.live import LiveServer

CALLS = "fdatasync,fsync,pwrite64,write,writev,sendto,sendmsg,rename,renameat,renameat2"
CALLERS = 64
TURNS = 4


@dataclass(frozen=True)
class Call:
    """One system call: its text, and the lines of the trace at which the call began and ended."""

    name: str
    text: str
    began: int
    ended: int


_LINE = re.compile(r"(?P<pid>\d+) +(?P<name>\w+)\((?P<rest>.*)$", re.DOTALL)
_RESUMED = re.compile(r"(?P<pid>\d+) +<\.\.\. (?P<name>\w+) resumed>(?P<rest>.*)$", re.DOTALL)
_GOOD = re.compile(r"\) += \d+$")


def parse(log: str) -> list[Call]:
    """Return the calls that succeeded, in the order in which they ended."""
    begun: dict[str, tuple[str, str, int]] = {}
    calls = []
    for place, line in enumerate(log.splitlines()):
        if found := _RESUMED.match(line):
            name, text, began = begun.pop(found["pid"], (found["name"], "", place))
            text += found["rest"]
        elif found := _LINE.match(line):
            name, text, began = found["name"], found["rest"], place
            if text.endswith("<unfinished ...>"):
                begun[found["pid"]] = (name, text.removesuffix("<unfinished ...>"), began)
                continue
        else:
            continue
        if _GOOD.search(text):
            calls.append(Call(name, text, began, place))
    return calls


class Trace:
    """The system calls of a server while a test watched it."""

    def __init__(self, calls: list[Call]) -> None:
        self.calls = calls

    def syncs(self, file: str) -> list[Call]:
        """Return the flushes of a file or of a folder."""
        return [c for c in self.calls if c.name in ("fdatasync", "fsync") and f"{file}>" in c.text]

    def stored(self, mark: str) -> Call:
        """Return the call that wrote a mark to the database's write-ahead log."""
        return next(c for c in self.calls if c.name == "pwrite64" and f"{DATABASE}-wal>" in c.text and mark in c.text)

    def answered(self, mark: str) -> Call:
        """Return the call that sent the answer with a mark."""
        sending = ("write", "writev", "sendto", "sendmsg")
        return next(c for c in self.calls if c.name in sending and "<socket:" in c.text and mark in c.text)

    def assert_flushed_before_answered(self, mark: str) -> None:
        stored, answered = self.stored(mark), self.answered(mark)
        between = [s for s in self.syncs(f"{DATABASE}-wal") if stored.ended < s.began and s.ended < answered.began]
        assert between, f"{mark} was answered without a flush after it was written"


def settle(log: Path) -> None:
    """Wait until the trace stops growing: strace may write a call after the caller has received the answer."""
    size = -1
    while size != (now := log.stat().st_size):
        size = now
        time.sleep(0.2)


@pytest.fixture
def watch(tmp_path: Path) -> Any:
    """Trace the system calls of a running server while a block runs."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    tried = subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"strace may not watch here: {tried.stderr.strip()}")

    @contextmanager
    def watching(server: LiveServer) -> Iterator[Trace]:
        assert server.process is not None
        log = tmp_path / "trace"
        options = ["-f", "-y", "-s", "5000", "-e", f"trace={CALLS}", "-o", str(log), "-p", str(server.process.pid)]
        strace = subprocess.Popen(["strace", *options], stderr=subprocess.PIPE, text=True)
        assert strace.stderr is not None
        with strace.stderr:
            said = strace.stderr.readline()
            if "attached" not in said:
                pytest.skip(f"strace may not watch another process here: {said.strip()}")
            trace = Trace([])
            try:
                yield trace
            finally:
                settle(log)
                strace.terminate()
                strace.communicate(timeout=30)
        trace.calls = parse(log.read_text(errors="replace"))

    return watching


def test_each_write_is_flushed_before_it_is_answered(live: LiveServer, connect: Any, init: Any, watch: Any) -> None:
    api = connect(live)
    project = init(api, "vc")
    marks = [f"mark-{number}-" for number in range(20)]
    with watch(live) as trace:
        for mark in marks:
            api.call("POST", "/api/tasks", project=project, title=mark)
    for mark in marks:
        trace.assert_flushed_before_answered(mark)
    assert len(trace.syncs(f"{DATABASE}-wal")) >= len(marks)


def test_many_callers_share_flushes_and_each_write_is_flushed_before_its_answer(
    live: LiveServer, connect: Any, init: Any, watch: Any
) -> None:
    project = init(connect(live), "vc")
    everyone_is_here = threading.Barrier(CALLERS)
    problems: list[Exception] = []

    def call(number: int) -> None:
        try:
            api = connect(live)
            api.call("GET", "/api/status")
            for turn in range(TURNS):
                everyone_is_here.wait(60)
                api.call("POST", "/api/tasks", project=project, title=f"mark-{turn}-{number}-")
        except Exception as error:  # noqa: BLE001 (raised again below)
            problems.append(error)
            everyone_is_here.abort()

    callers = [threading.Thread(target=call, args=(number,)) for number in range(CALLERS)]
    with watch(live) as trace:
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    if problems:
        raise problems[0]
    for turn in range(TURNS):
        for number in range(CALLERS):
            trace.assert_flushed_before_answered(f"mark-{turn}-{number}-")
    syncs = len(trace.syncs(f"{DATABASE}-wal"))
    assert TURNS <= syncs < CALLERS * TURNS / 3, f"{syncs} flushes for {CALLERS * TURNS} writes"


def test_a_large_document_is_on_the_disk_before_the_row_that_names_it(
    live: LiveServer, connect: Any, init: Any, watch: Any
) -> None:
    api = connect(live)
    project = init(api, "vc")
    task = api.call("POST", "/api/tasks", project=project, title="t")["id"]
    content = os.urandom(100_000)
    with watch(live) as trace:
        encoded = base64.b64encode(content).decode()
        document = api.call("POST", f"/api/tasks/{task}/documents", title="mark-document", content=encoded)
    stored, name = trace.stored("mark-document"), document["sha256"]
    (renamed,) = [c for c in trace.calls if c.name.startswith("rename") and name in c.text]
    flushed = [s for s in trace.syncs("") if f".{name}." in s.text and s.ended < renamed.began]
    assert flushed, "the file was not flushed before it was renamed"
    for folder in (f"/{BLOBS}/{name[:2]}", f"/{BLOBS}"):
        assert [s for s in trace.syncs(folder) if renamed.ended < s.began and s.ended < stored.began]
    trace.assert_flushed_before_answered("mark-document")


def test_the_parser_joins_the_parts_of_interrupted_calls() -> None:
    log = """\
7 pwrite64(4</x/maestro.db-wal>, "mark-1-"..., 9, 0 <unfinished ...>
8 write(5<socket:[1]>, "other", 5)   = 5
7 <... pwrite64 resumed>) = 9
7 fdatasync(4</x/maestro.db-wal> <unfinished ...>
8 write(5<socket:[1]>, "mark-1-", 7)   = 7
7 <... fdatasync resumed>) = 0
7 fdatasync(4</x/maestro.db-wal>) = -1 EIO (Input/output error)"""
    trace = Trace(parse(log))
    assert [(c.name, c.began, c.ended) for c in trace.calls] == [
        ("write", 1, 1),
        ("pwrite64", 0, 2),
        ("write", 4, 4),
        ("fdatasync", 3, 5),
    ]
    with pytest.raises(AssertionError, match="without a flush"):
        trace.assert_flushed_before_answered("mark-1-")


# The connections that tests open, for one test. The list is global because an audit hook cannot be removed.
_opened: list[sqlite3.Connection] = []
_listening = threading.Event()


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "sqlite3.connect/handle" and _listening.is_set():
        _opened.append(arguments[0])


@pytest.fixture
def opened() -> Iterator[list[sqlite3.Connection]]:
    """Return the connections that are opened while a test runs."""
    if _note not in _hooked:
        sys.addaudithook(_note)
        _hooked.append(_note)
    _listening.set()
    yield _opened
    _listening.clear()
    _opened.clear()


_hooked: list[Any] = []


def ask(connection: sqlite3.Connection, pragma: str) -> Any:
    return connection.execute(f"PRAGMA {pragma}").fetchone()[0]


async def test_the_writing_connection_flushes_and_reading_connections_cannot_write(
    opened: list[sqlite3.Connection], server: Server, dana: Caller, vc: str
) -> None:
    """Check all connections that the server has open, also connections that are unknown to the test."""
    for _ in range(3):
        await server.call(ops.CREATE, ops.CreateTask(project=vc, title="t"), caller=dana)
        await server.call(ops.LIST, ops.ListTasks(project=vc), caller=dana)
    writers, readers = [], []
    for connection in opened:
        try:
            (writers, readers)[ask(connection, "query_only")].append(connection)
        except sqlite3.ProgrammingError:
            continue  # the connection is closed
    assert len(writers) == 1 and readers
    assert ask(writers[0], "synchronous") == 2, "synchronous must be FULL, so that each commit is flushed"
    assert ask(writers[0], "journal_mode") == "wal"
    assert ask(writers[0], "foreign_keys") == 1
    for reader in readers:
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader.execute("DELETE FROM tasks")
