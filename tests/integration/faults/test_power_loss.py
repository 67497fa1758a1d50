"""Every acknowledged write survives a power loss, whatever part of the unflushed data the disk keeps."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import http.client
import json
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from maestro.store.layout import BLOBS, DATABASE, SECRET, SETTINGS
from maestro.store.sqlite import replacement
from maestro.testing import disk_states, rounds
from maestro.testing.disk_states import DiskRecord, DiskState, RecordKind, ReplayedDisk
from maestro.testing.live import LiveServer

WORKERS, LIVES, TURNS = 4, 2, 50  # enough writes for a checkpoint while agents write
SECONDS_MAX = 60.0


@pytest.fixture(scope="session")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the library that records how a process changes its files; return the path of the library."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    library = tmp_path_factory.mktemp("recorder") / "recorder.so"
    source = Path(__file__).with_name("disk_recorder.c")
    subprocess.run([compiler, "-std=c11", "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return library


class Recorded:
    """A server whose writes and flushes are recorded."""

    def __init__(self, folder: Path, recorder: Path) -> None:
        self.home, self.log = folder / "data", folder / "disk.log"
        self.home.mkdir(mode=0o700)
        self.log.touch()
        environment = {"LD_PRELOAD": str(recorder), "DISK_HOME": str(self.home), "DISK_LOG": str(self.log)}
        self.live = LiveServer(self.home, environment)

    def call(self, where: str, /, **fields: Any) -> Any:
        """Send one write; return the answer."""
        connection = http.client.HTTPConnection(self.live.url.removeprefix("http://"), timeout=SECONDS_MAX)
        headers = {"Authorization": f"Bearer {self.live.token}", "Content-Type": "application/json"}
        connection.request("POST", where, json.dumps(fields), headers)
        answer = connection.getresponse()
        text = json.loads(answer.read())
        connection.close()
        assert answer.status == 200, text
        return text

    def acknowledge(self, **what: Any) -> None:
        disk_states.add_mark(self.log, json.dumps(what).encode())


def work(server: Recorded, project: str, number: int, chance: random.Random, problems: list[Exception]) -> None:
    """Write as an agent does: a session, tasks, mail and documents, some of them large."""
    try:
        session = server.call("/api/sessions", project=project, name=f"worker-{number}")
        server.acknowledge(kind="session", id=session["id"], token=session["token"])
        for turn in range(TURNS):
            task = server.call("/api/tasks", project=project, title=f"{number}-{turn}")
            server.acknowledge(kind="task", id=task["id"], title=f"{number}-{turn}")
            text = f"{number}-{turn} " * chance.choice([5, 300, 4000])
            sent = server.call("/api/mail", to=[session["id"]], subject=f"{number}-{turn}", message=text)
            server.acknowledge(kind="mail", id=sent["id"], text=text)
            content = f"{number}-{turn}!" * chance.choice([10, 5000])
            encoded = base64.b64encode(content.encode()).decode()
            document = server.call(
                f"/api/tasks/{task['id']}/documents", title="d", file_name="d.txt", content=encoded
            )
            server.acknowledge(kind="document", id=document["id"], text=content)
    except Exception as error:  # noqa: BLE001 (raised again by `record_lives`)
        problems.append(error)


def record_lives(server: Recorded, seed: int) -> None:
    """Start and stop servers, one after the other, while agents write."""
    problems: list[Exception] = []
    try:
        for life in range(LIVES):
            live_once(server, seed, life, problems)
    finally:
        server.live.kill()
    if problems:
        raise problems[0]


def set_days(server: Recorded, days: int) -> None:
    """Change a setting, which is in a file beside the database."""
    done = server.live.run_command("config", "set", "events_days", str(days))
    assert done.returncode == 0, done.stderr
    server.acknowledge(kind="setting", id="events_days", days=days)


def live_once(server: Recorded, seed: int, life: int, problems: list[Exception]) -> None:
    server.live.start()
    folder = server.home.parent / f"p{life}"
    folder.mkdir()
    project = server.call("/api/projects", path=str(folder), name=f"p{life}")
    set_days(server, 100 + life)
    chances = [random.Random(f"{seed} {life} {number}") for number in range(WORKERS)]
    workers = [
        threading.Thread(target=work, args=(server, project["project"]["id"], number, chance, problems))
        for number, chance in enumerate(chances, life * WORKERS)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(SECONDS_MAX)
    server.live.stop()  # the stop makes a checkpoint and ends the write-ahead log
    server.acknowledge(kind="stopped")


def is_checkpointed_at_work(records: list[DiskRecord]) -> bool:
    """Return whether the database file itself was written between two acknowledged writes of one life."""
    last_stop = max(place for place, record in enumerate(records) if record.data == b'{"kind": "stopped"}')
    first_stop = min(place for place, record in enumerate(records) if record.data == b'{"kind": "stopped"}')
    marks = [place for place, record in enumerate(records) if record.kind is RecordKind.MARK and place < last_stop]
    written = [
        place
        for place, record in enumerate(records)
        if record.kind is RecordKind.WRITE and record.path == f"/{DATABASE}"
    ]
    return any(marks[0] < place < max(mark for mark in marks if mark < first_stop) for place in written)


@dataclass
class Found:
    """The results of all checked states."""

    states: int = 0
    lost: list[str] = field(default_factory=list)


def sample(
    records: list[DiskRecord],
    disk: ReplayedDisk,
    count: int,
    chance: random.Random,
    check: Callable[[ReplayedDisk, list[Any]], None],
) -> None:
    """Replay the records, and check so many possible states of the disk at random moments."""
    moments = sorted(chance.randint(0, len(records)) for _ in range(count))
    acknowledged: list[Any] = []
    for place, record in enumerate([*records, None]):
        while moments and moments[0] == place:
            moments.pop(0)
            check(disk, acknowledged)
        if record is not None and record.kind is RecordKind.MARK:
            acknowledged.append(json.loads(record.data))
        elif record is not None:
            disk.replay_record(record)


def write_state(target: Path, state: DiskState) -> Path:
    """Write a state of the disk into a data directory."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(mode=0o700)
    for path, content in state.items():
        file = target / path.removeprefix("/")
        if content is None:
            file.mkdir(parents=True, exist_ok=True)
        elif not path.endswith("-shm"):  # SQLite creates the shared memory again after a power loss
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            file.chmod(0o600)
    return target


def lost_of(home: Path, acknowledged: list[Any]) -> list[str]:
    """Return the acknowledged writes that are missing in a data directory."""
    wanted = [one for one in acknowledged if one["kind"] != "stopped"]
    if not wanted:
        return []
    if not (home / DATABASE).exists():
        return ["the whole database"]
    with contextlib.closing(sqlite3.connect(home / DATABASE)) as database:
        if database.execute("PRAGMA quick_check").fetchone() != ("ok",):
            return ["a sound database"]
        return [f"{one['kind']} {one['id']}" for one in wanted if not has(home, database, one)]


def has(home: Path, database: sqlite3.Connection, one: dict[str, Any]) -> bool:
    """Return whether one acknowledged write is stored completely."""
    if one["kind"] == "setting":
        file = home / SETTINGS
        return file.exists() and tomllib.loads(file.read_text()).get(one["id"], 0) >= one["days"]
    if one["kind"] == "task":
        return database.execute("SELECT title FROM tasks WHERE id = ?", (one["id"],)).fetchone() == (one["title"],)
    if one["kind"] == "session":
        found = database.execute("SELECT token_hash FROM sessions WHERE id = ?", (one["id"],)).fetchone()
        token = token_of(home, one["id"])
        return token == one["token"] and found == (hashlib.sha256(token.encode()).hexdigest(),)
    table = {"mail": "messages", "document": "documents"}[one["kind"]]
    row = database.execute(f"SELECT body, blob FROM {table} WHERE id = ?", (one["id"],)).fetchone()
    if row is None:
        return False
    body, blob = row
    if blob is None:
        return (body if isinstance(body, str) else bytes(body).decode()) == one["text"]
    file = home / BLOBS / blob[:2] / blob
    return file.exists() and file.read_bytes() == one["text"].encode()


def token_of(home: Path, session_id: str) -> str:
    """Return the token of a session, computed with the secret of a data directory."""
    try:
        key = (home / SECRET).read_text().strip()
    except FileNotFoundError:
        return ""
    digest = hmac.new(key.encode(), session_id.encode(), hashlib.sha256).digest()
    return "mst_" + base64.urlsafe_b64encode(digest).decode().rstrip("=")


@pytest.mark.slow
@pytest.mark.rounds
@pytest.mark.timeout(300)
def test_every_acknowledged_write_survives_a_power_loss(tmp_path: Path, recorder: Path) -> None:
    seed, count = rounds.round_seed(), rounds.round_count(60, full=1000)
    server = Recorded(tmp_path, recorder)
    record_lives(server, seed)
    records = list(disk_states.read_log(server.log))
    assert is_checkpointed_at_work(records), "no checkpoint happened while agents wrote"
    chance, found = random.Random(seed), Found()

    def check(disk: ReplayedDisk, acknowledged: list[Any]) -> None:
        home = write_state(tmp_path / "state", disk.possible_state(chance))
        found.lost += [f"state {found.states}: {one}" for one in lost_of(home, acknowledged)]
        if found.states % 100 == 0:
            with LiveServer(home) as live:  # a real server must open the state too
                live.stop()
        found.states += 1

    sample(records, ReplayedDisk(), count, chance, check)
    rounds.report_rounds("power loss", count, records=len(records), lost=len(found.lost), seed=seed)
    assert found.lost == [], f"seed {seed}"


def make_home(home: Path, name: str) -> None:
    """Make a data directory with one task and one file beside the database, as a killed server leaves it."""
    with LiveServer(home) as live:
        text = ("--message", name * 10_000)
        for words in (
            ["init"],
            ["session", "register", "--name", "ada"],
            ["mail", "send", "ada", "--subject", name, *text],
        ):
            done = live.run_command(*words, cwd=home.parent)
            assert done.returncode == 0, done.stderr


def state_of(home: Path) -> str:
    """Return which of the two states a data directory has, after the end of an interrupted restore."""
    replacement.finish_replacement(home)
    with contextlib.closing(sqlite3.connect(home / DATABASE)) as database:
        assert database.execute("PRAGMA quick_check").fetchone() == ("ok",)
        ((name, blob),) = database.execute("SELECT subject, blob FROM messages").fetchall()
    assert (home / BLOBS / blob[:2] / blob).read_text() == name * 10_000
    return str(name)


@pytest.mark.slow
@pytest.mark.rounds
@pytest.mark.timeout(300)
def test_a_power_loss_during_a_restore_leaves_the_old_or_the_new_state(tmp_path: Path, recorder: Path) -> None:
    seed, count = rounds.round_seed(), rounds.round_count(60, full=1000)
    make_home(tmp_path / "other", "new")
    backup = tmp_path / "backup.tar"
    with LiveServer(tmp_path / "other") as live:
        assert live.run_command("backup", str(backup)).returncode == 0
    server = Recorded(tmp_path, recorder)
    make_home(server.home, "old")
    files = [file for file in server.home.rglob("*") if file.is_file()]
    start = {f"/{file.relative_to(server.home)}": file.read_bytes() for file in files}
    server.log.write_bytes(b"")  # everything before the restore is on the disk
    words = [sys.executable, "-m", "maestro.server", "--home", str(server.home), "--restore", str(backup)]
    subprocess.run(words, env=server.live.environment(), check=True, capture_output=True)
    server.acknowledge(kind="restored")
    records, chance = list(disk_states.read_log(server.log)), random.Random(seed)
    found = {"old": 0, "new": 0}

    def check(disk: ReplayedDisk, acknowledged: list[Any]) -> None:
        state = state_of(write_state(tmp_path / "state", disk.possible_state(chance)))
        assert state == "new" or not acknowledged, f"seed {seed}: the acknowledged restore is lost"
        found[state] += 1

    sample(records, ReplayedDisk(start), count, chance, check)
    rounds.report_rounds("power loss in a restore", count, records=len(records), **found, neither=0, seed=seed)
