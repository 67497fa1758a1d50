"""Unusable data, a full or read-only disk and a second server are reported clearly, and no data is harmed."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import os
import pwd
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.events import EventKind, NewEvent
from maestro.operations import documents as document_ops
from maestro.operations import tasks as ops
from maestro.server.app import Server
from maestro.services.housekeeping.stray_blobs import StrayBlobJob
from maestro.store.base import Tx
from maestro.store.layout import DATABASE, LOCK
from maestro.testing.clock import FakeClock
from maestro.testing.live import LiveServer
from maestro.testing.supervised import wait_until
from maestro.wire import exit_codes

SECONDS_MAX = 30.0
MiB = 1024 * 1024


def run_server(home: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a server that must refuse to start."""
    return subprocess.run(
        [sys.executable, "-m", "maestro.server", "--home", str(home), "--port", "0"],
        env=LiveServer(home).environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
        **more,
    )


def assert_gave_up(ended: subprocess.CompletedProcess[str], *words: str, code: int = 1) -> None:
    """Assert that the server named the problem in a short message, without a traceback."""
    assert ended.returncode == code, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "maestro: " in ended.stderr
    for word in words:
        assert word in ended.stderr


def contents(folder: Path) -> dict[str, str]:
    """Return the hash of each database file."""
    found = sorted(folder.glob(f"{DATABASE}*"))
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in found if not file.name.endswith("-shm")
    }


@pytest.fixture
def used(live: LiveServer, connect: Any, init: Any) -> tuple[LiveServer, Any, str]:
    """Return a server with a project and some tasks, its API and the project's id."""
    api = connect(live)
    project = init(api, "vc")
    for number in range(5):
        api.call("POST", "/api/tasks", project=project, title=f"t{number}")
    return live, api, project


# Data of other versions and programs, and damaged data.


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_data_of_a_newer_maestro_is_refused_and_stays_unchanged(used: Any, journal: str) -> None:
    live, _, _ = used
    live.stop()
    with contextlib.closing(sqlite3.connect(live.home / DATABASE)) as database:
        database.execute(f"PRAGMA journal_mode = {journal}")
        database.execute("PRAGMA user_version = 999")
    before = contents(live.home)
    assert_gave_up(run_server(live.home), "newer Maestro", "999", "Upgrade")
    assert contents(live.home) == before


def test_data_of_a_killed_newer_maestro_is_refused_and_stays_unchanged(used: Any, tmp_path: Path) -> None:
    """The last writes are still in the write-ahead log. Only the newer version may move them into the database."""
    live, _, _ = used
    with contextlib.closing(sqlite3.connect(live.home / DATABASE)) as database:
        database.execute("PRAGMA user_version = 999")
        live.kill()
        home = tmp_path / "copy"
        home.mkdir(mode=0o700)
        for name in (DATABASE, f"{DATABASE}-wal"):
            shutil.copy(live.home / name, home / name)
    before = contents(home)
    assert f"{DATABASE}-wal" in before
    assert_gave_up(run_server(home), "newer Maestro")
    assert contents(home) == before


def test_the_database_of_another_program_is_refused_and_stays_unchanged(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with contextlib.closing(sqlite3.connect(home / DATABASE)) as database:
        database.executescript("CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('soup');")
    before = contents(home)
    assert_gave_up(run_server(home), "is a database of another program")
    assert contents(home) == before


@pytest.mark.parametrize(
    "content", [b"garbage", b"not a database\n" * 1000, b"\0" * 8192], ids=["short", "text", "zeros"]
)
def test_a_file_that_is_no_database_is_refused_and_stays_unchanged(tmp_path: Path, content: bytes) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / DATABASE).write_bytes(content)
    assert_gave_up(run_server(home), DATABASE)
    assert (home / DATABASE).read_bytes() == content


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_a_truncated_database_is_refused_and_stays_unchanged(used: Any, share: float) -> None:
    live, _, _ = used
    live.stop()
    file = live.home / DATABASE
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * share)])
    before = contents(live.home)
    assert_gave_up(run_server(live.home), DATABASE, "maestro restore")
    assert contents(live.home) == before


@pytest.mark.parametrize("cut", [1, 100, 4096, 20_000])
def test_a_truncated_write_ahead_log_opens_with_the_last_complete_commit(
    used: Any, assert_log_agrees: Any, cut: int
) -> None:
    """After a power loss each commit is there completely or not at all."""
    live, api, project = used
    logged = [event["seq"] for event in api.events()]
    live.kill()
    wal = live.home / f"{DATABASE}-wal"
    os.truncate(wal, wal.stat().st_size - cut)
    live.start()
    # The server may have opened an ask about the loss.
    kept = [event["seq"] for event in api.events() if event["kind"] != "ask.opened"]
    assert kept == logged[: len(kept)] and kept
    assert len(kept) < len(logged)
    assert_log_agrees(api, project)
    api.call("POST", "/api/tasks", project=project, title="goes on")
    log = api.events()
    assert [event["seq"] for event in log] == list(range(1, len(log) + 1))
    assert [event["kind"] for event in log if event["kind"] != "ask.opened"][len(kept) :] == [
        "task.created",
        "task.ready",
    ]
    assert_log_agrees(api, project)


def test_random_bytes_at_the_end_of_the_write_ahead_log_lose_no_event(used: Any, assert_log_agrees: Any) -> None:
    live, api, project = used
    logged = len(api.events())
    live.kill()
    with (live.home / f"{DATABASE}-wal").open("ab") as wal:
        wal.write(os.urandom(10_000))
    live.start()
    assert len(api.events()) == logged
    assert_log_agrees(api, project)


# Folders and files that cannot be written.


def as_nobody(home: Path) -> subprocess.CompletedProcess[str]:
    """Run a server as a user other than root, because root can write everywhere."""
    if os.geteuid() != 0:
        return run_server(home)
    nobody = pwd.getpwnam("nobody")
    # Import everything first: the user nobody may be unable to read the files of this interpreter.
    code = (
        "import os, sys, runpy, uvloop, encodings.idna\n"
        "import maestro.server.__main__ as main\n"
        "from maestro.store import statements\n"
        "statements.load('sqlite')\n"
        "from maestro.store.sqlite import migrate\n"
        f"os.setgroups([]); os.setgid({nobody.pw_gid}); os.setuid({nobody.pw_uid})\n"
        f"sys.argv = ['maestro.server', '--home', {str(home)!r}, '--port', '0']\n"
        "sys.exit(main.main())\n"
    )
    return subprocess.run(
        [sys.executable, "-c", code],
        env=LiveServer(home).environment(HOME="/nonexistent"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )


@pytest.fixture
def open_tmp_path(tmp_path: Path) -> Path:
    """Return a folder that other users can read."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == pwd.getpwuid(os.geteuid()).pw_name and folder != Path("/"):
            with contextlib.suppress(PermissionError):
                folder.chmod(folder.stat().st_mode | 0o055)
    return tmp_path


@pytest.mark.parametrize("mode", [0o555, 0o500, 0o000], ids=["read-only", "another's", "closed"])
def test_a_folder_that_cannot_be_written_is_reported(open_tmp_path: Path, mode: int) -> None:
    home = open_tmp_path / "home"
    home.mkdir()
    home.chmod(mode)
    try:
        assert_gave_up(as_nobody(home), str(home))
    finally:
        home.chmod(0o700)
    assert list(home.iterdir()) == []


def test_a_folder_that_cannot_be_created_is_reported(open_tmp_path: Path) -> None:
    (open_tmp_path / "file").write_text("not a folder")
    assert_gave_up(run_server(open_tmp_path / "file"), "file")
    assert_gave_up(run_server(open_tmp_path / "file" / "below"), "below")
    (open_tmp_path / "closed").mkdir()
    (open_tmp_path / "closed").chmod(0o555)
    assert_gave_up(as_nobody(open_tmp_path / "closed" / "home"), "closed")


def test_a_database_that_cannot_be_written_is_reported(used: Any, open_tmp_path: Path) -> None:
    live, _, _ = used
    live.stop()
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        for file in (live.home, *live.home.rglob("*")):
            os.chown(file, nobody.pw_uid, nobody.pw_gid)
        os.chown(live.home / DATABASE, 0, 0)
    (live.home / DATABASE).chmod(0o444)
    before = contents(live.home)
    assert_gave_up(as_nobody(live.home), DATABASE, "cannot be written")
    assert contents(live.home) == before


# Two servers at once.


def test_a_second_server_is_refused_and_the_first_server_continues(used: Any, assert_log_agrees: Any) -> None:
    live, api, project = used
    assert live.process is not None
    for _ in range(2):
        ended = run_server(live.home)
        assert_gave_up(ended, f"pid {live.process.pid}", str(live.home), "maestro down", code=5)
    assert live.process.poll() is None
    api.call("POST", "/api/tasks", project=project, title="unharmed")
    assert_log_agrees(api, project)
    assert (live.home / LOCK).read_text().strip() == str(live.process.pid)


def test_simultaneous_starts_leave_one_server(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    command = [sys.executable, "-m", "maestro.server", "--home", str(home), "--port", "0"]
    reading, writing = os.pipe()
    started = [
        subprocess.Popen(
            command,
            env=LiveServer(home).environment(MAESTRO_READY_FD=str(writing)),
            pass_fds=(writing,),
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    os.close(writing)
    try:
        with os.fdopen(reading) as pipe:
            said = sorted(pipe.readline() for _ in started)
        assert said == ["busy\n", "busy\n", "busy\n", "ready\n"]
        wait_until(
            lambda: sum(server.poll() is not None for server in started) == 3, what="the end of the refused servers"
        )
        codes = [server.poll() for server in started]
        assert sorted(code for code in codes if code is not None) == [exit_codes.CONFLICT] * 3
    finally:
        for server in started:
            if server.poll() is None:
                server.send_signal(signal.SIGTERM)
            server.communicate(timeout=SECONDS_MAX)


# Unexpected faults.


async def test_a_failed_write_leaves_no_caller_without_an_answer(server: Server, vc: str, dana: Caller) -> None:
    """After any fault in the writer, each caller gets an answer and the next write works."""

    def odd(tx: Tx) -> None:
        tx.log(NewEvent(EventKind.TASK_READY, "subject", vc, {"not JSON": object()}), actor="dana")

    async with asyncio.timeout(SECONDS_MAX):
        calls = [server.call(ops.CREATE, ops.CreateTask(project=vc, title=f"t{n}"), caller=dana) for n in range(3)]
        *good, bad = await asyncio.gather(*calls, server.store.write(odd), return_exceptions=True)
        assert isinstance(bad, Exception)
        made = [answer.title for answer in good if not isinstance(answer, BaseException)]
        assert await titles(server, vc, dana) == made
        await server.call(ops.CREATE, ops.CreateTask(project=vc, title="next"), caller=dana)
    assert await titles(server, vc, dana) == [*made, "next"]


async def test_a_file_that_is_needed_again_is_not_removed(
    server: Server, vc: str, dana: Caller, clock: FakeClock
) -> None:
    """The job that removes stray files runs after the end of the old row and before the new row is stored."""
    task = await server.call(ops.CREATE, ops.CreateTask(project=vc, title="t"), caller=dana)
    content = os.urandom(limits.inline_bytes_max + 1)
    request = document_ops.AddDocument(id=task.id, title="d", content=content)
    server.parts.tasks.documents.store_content(request, server.blobs.store_content)
    for file in server.blobs.all_files():
        os.utime(file, (0, 0))
    prepared = server.parts.tasks.documents.store_content(request, server.blobs.store_content)
    await StrayBlobJob(server.store, server.blobs, clock=clock).run_once()
    document = await server.store.write(
        lambda tx: server.parts.tasks.documents.add_document(tx, dana, request, prepared)
    )
    shown = await server.call(document_ops.SHOW, document_ops.OneDocument(id=document.id), caller=dana)
    assert shown.content == content


# A full disk.


@pytest.fixture
def writer(server: Server) -> sqlite3.Connection:
    """Return the writing connection of the server. A limit on its pages simulates a full disk."""
    found = [value for value in vars(server.store).values() if isinstance(value, sqlite3.Connection)]
    (connection,) = [one for one in found if one.execute("PRAGMA query_only").fetchone() == (0,)]
    return connection


def leave_pages(connection: sqlite3.Connection, count: int) -> None:
    """Limit the growth of the database to this number of pages."""
    (present,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {present + count}")


async def titles(server: Server, project: str, dana: Caller) -> list[str]:
    page = await server.call(ops.LIST, ops.ListTasks(project=project, limit=500), caller=dana)
    return [task.title for task in page.tasks]


async def test_a_request_that_finds_no_free_page_stores_nothing(
    server: Server, vc: str, dana: Caller, writer: sqlite3.Connection
) -> None:
    kept = await server.call(ops.CREATE, ops.CreateTask(project=vc, title="kept"), caller=dana)
    before = await server.store.read(lambda tx: tx.events.last_seq())
    large = ops.CreateTask(project=vc, title="large", description="x" * 200_000, depends_on=[kept.ref])
    leave_pages(writer, 10)
    for _ in range(3):
        with pytest.raises(errors.StorageFull) as caught:
            await server.call(ops.CREATE, large, caller=dana, key="the same")
        assert caught.value.retryable and "space" in caught.value.hint
    assert await titles(server, vc, dana) == ["kept"]
    assert await server.store.read(lambda tx: tx.events.last_seq()) == before
    shown = await server.call(ops.SHOW, ops.OneTask(id=kept.ref, project=vc), caller=dana)
    assert shown.dependants == []
    leave_pages(writer, 10_000)
    made = await server.call(ops.CREATE, large, caller=dana, key="the same")
    assert made.number == kept.number + 1, "a refused task used up a number"
    assert await titles(server, vc, dana) == ["kept", "large"]


async def test_each_request_of_a_batch_on_a_full_disk_gets_a_true_answer(
    server: Server, vc: str, dana: Caller, writer: sqlite3.Connection
) -> None:
    made, refused = [], []
    for turn in range(4):
        leave_pages(writer, 40 * turn)
        requests = [
            ops.CreateTask(project=vc, title=f"{turn}-{number}", description="x" * (150_000 if number == 5 else 10))
            for number in range(20)
        ]
        calls = (server.call(ops.CREATE, request, caller=dana) for request in requests)
        answers = await asyncio.gather(*calls, return_exceptions=True)
        refused += [answer for answer in answers if isinstance(answer, BaseException)]
        made += [answer.title for answer in answers if not isinstance(answer, BaseException)]
    assert made and refused, "some requests must succeed and some must fail"
    assert all(isinstance(answer, errors.StorageFull) for answer in refused)
    assert sorted(await titles(server, vc, dana)) == sorted(made)
    events = await server.store.read(lambda tx: tx.events.list_after(0, limit=500))
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert sum(event.kind == "task.created" for event in events) == len(made)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Provide a file system of a few megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs", str(folder)]
    done = subprocess.run(mounting, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


class Ballast:
    """A file that fills a disk up to a remaining size, and can be removed again."""

    def __init__(self, disk: Path) -> None:
        self.disk = disk
        self.file = disk / "ballast"

    def fill(self, *, leave: int) -> None:
        free = shutil.disk_usage(self.disk).free
        with self.file.open("ab") as file:
            file.write(bytes(max(0, free - leave)))

    def drop(self) -> None:
        self.file.unlink()


@pytest.fixture
def on_small_disk(small_disk: Path, connect: Any, init: Any) -> Iterator[tuple[LiveServer, Any, str, Ballast]]:
    with LiveServer(small_disk / "home") as server:
        api = connect(server)
        yield server, api, init(api, "vc"), Ballast(small_disk)


def fill_up(api: Any, project: str, *, prefix: str) -> list[str]:
    """Create tasks until the disk is full; return the acknowledged titles."""
    made: list[str] = []
    for number in range(1000):
        try:
            api.call("POST", "/api/tasks", project=project, title=f"{prefix}{number}", key=f"{prefix}{number}")
        except Exception as error:  # noqa: BLE001 (checked below)
            assert (getattr(error, "status", 0), error.body["code"]) == (507, "storage_full"), error  # type: ignore[attr-defined]
            assert error.body["retryable"]  # type: ignore[attr-defined]
            return made
        made.append(f"{prefix}{number}")
    raise AssertionError("the disk was never full")


def test_a_full_disk_is_reported_and_no_acknowledged_write_is_lost(
    on_small_disk: Any, assert_log_agrees: Callable[..., None]
) -> None:
    server, api, project, ballast = on_small_disk
    ballast.fill(leave=200_000)
    made = fill_up(api, project, prefix="a")
    assert [task["title"] for task in api.tasks(project)] == made
    api.call("GET", "/api/status")  # reads work on a full disk
    ballast.drop()
    # The refused request succeeds now, with the same key.
    api.call("POST", "/api/tasks", project=project, title=f"a{len(made)}", key=f"a{len(made)}")
    ballast.fill(leave=100_000)
    made += [f"a{len(made)}", *fill_up(api, project, prefix="b")]
    server.kill()
    ballast.drop()
    server.start()
    assert [task["title"] for task in api.tasks(project)] == made
    assert_log_agrees(api, project)


def test_a_document_that_finds_no_space_is_refused_and_leaves_no_file(on_small_disk: Any, connect: Any) -> None:
    server, api, project, ballast = on_small_disk
    task = api.call("POST", "/api/tasks", project=project, title="t")["id"]
    encoded = base64.b64encode(os.urandom(500_000)).decode()
    ballast.fill(leave=300_000)
    with pytest.raises(Exception, match="storage_full") as caught:
        api.call("POST", f"/api/tasks/{task}/documents", title="d", content=encoded)
    assert caught.value.status == 507  # type: ignore[attr-defined]
    assert api.task(task)["documents"] == []
    ballast.drop()
    document = api.call("POST", f"/api/tasks/{task}/documents", title="d", content=encoded)
    shown = api.call("GET", f"/api/documents/{document['id']}")
    assert shown["content"] == encoded
    left = [file for file in (server.home / "blobs").rglob("*") if file.is_file()]
    assert len(left) == 1, "an incomplete file remained"


def test_a_backup_that_finds_no_space_is_refused_and_leaves_no_file(on_small_disk: Any) -> None:
    server, api, project, ballast = on_small_disk
    fields = {"project": project, "description": "x" * 100_000}
    for number in range(5):
        api.call("POST", "/api/tasks", title=f"t{number}", **fields)
    ballast.fill(leave=50_000)
    before = sorted(server.home.iterdir())
    with pytest.raises(Exception, match="storage_") as caught:
        api.call("POST", "/api/backup", file=str(server.home.parent / "backup.tar"))
    assert caught.value.status in (503, 507)  # type: ignore[attr-defined]
    assert sorted(server.home.iterdir()) == before
    assert not (server.home.parent / "backup.tar").exists()


def test_a_server_on_a_full_disk_starts_or_names_the_cause(on_small_disk: Any) -> None:
    server, api, project, ballast = on_small_disk
    made = [api.call("POST", "/api/tasks", project=project, title=f"t{number}")["title"] for number in range(3)]
    server.kill()
    ballast.fill(leave=0)
    try:
        server.start()
    except RuntimeError:
        assert_gave_up(run_server(server.home), "space")
    ballast.drop()
    if server.process is None or server.process.poll() is not None:
        server.start()
    assert [task["title"] for task in api.tasks(project)] == made
