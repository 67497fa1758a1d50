"""A SIGKILL in the middle of a migration or of a restore leaves either the old or the new state."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.store.layout import DATABASE
from maestro.store.sqlite.migration_scripts import migration_scripts
from maestro.testing import rounds
from maestro.testing.live import LiveServer

NEWEST = len(migration_scripts())
SECONDS_MAX = 60.0
EVENTS = 20_000
STEPS_OF_START = 12
WriteHome = Callable[..., Path]


def fill(home: Path, count: int) -> None:
    """Add many events, so that a migration and a copy take some time."""
    now = time.time_ns() // 1000
    with contextlib.closing(sqlite3.connect(home / DATABASE)) as database:
        values = [
            (now, None, "task.created", 1, "dana", f"tsk_{number}", json.dumps({"x": "y" * 500}))
            for number in range(count)
        ]
        database.executemany(
            "INSERT INTO events (at, project, kind, version, actor, subject, data) VALUES (?, ?, ?, ?, ?, ?, ?)",
            values,
        )
        database.commit()


def run_until_killed(words: list[str], env: dict[str, str], seconds: float) -> bool:
    """Run the server program and kill it after so many seconds; return whether it still ran."""
    process = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    was_running = process.poll() is None
    process.kill()
    process.wait(SECONDS_MAX)
    return was_running


def seconds_of(words: list[str], env: dict[str, str], is_done: Callable[[], bool]) -> float:
    """Return the time that the program needs until it is done. Kills are useful only within this time."""
    began = time.monotonic()
    process = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not is_done() and process.poll() is None:
        assert time.monotonic() < began + SECONDS_MAX
        time.sleep(0.005)
    took = time.monotonic() - began
    process.kill()
    process.wait(SECONDS_MAX)
    return took


def schema_of(home: Path) -> int:
    """Return the schema of a database that is opened read-only."""
    with contextlib.closing(sqlite3.connect(f"file:{home / DATABASE}?mode=ro", uri=True)) as database:
        return int(database.execute("PRAGMA user_version").fetchone()[0])


def counts_of(home: Path) -> dict[str, int]:
    with contextlib.closing(sqlite3.connect(home / DATABASE)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: database.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
            for name in names
            if not name.startswith(("message_words", "sqlite_"))
        }


def copy_of(pristine: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(pristine, target, ignore=shutil.ignore_patterns("*.sock"))
    target.chmod(0o700)
    return target


@pytest.mark.slow
@pytest.mark.rounds
@pytest.mark.timeout(300)
def test_a_kill_during_a_migration_leaves_the_old_or_the_new_schema(write_home: WriteHome, tmp_path: Path) -> None:
    seed, count = rounds.round_seed(), rounds.round_count(6, full=50)
    chance = random.Random(seed)
    pristine = write_home(1, tmp_path / "pristine")
    fill(pristine, EVENTS)
    before = counts_of(pristine)
    live = LiveServer(copy_of(pristine, tmp_path / "data"))
    words = [sys.executable, "-m", "maestro.server", "--home", str(live.home), "--port", "0"]
    longest = seconds_of(words, live.environment(), lambda: schema_of(live.home) == NEWEST)
    found = {1: 0, NEWEST: 0}
    for number in range(count):
        home = copy_of(pristine, tmp_path / "data")
        run_until_killed(words, live.environment(), chance.uniform(longest / 3, longest * 1.2))
        assert schema_of(home) in found, f"round {number}, seed {seed}: schema {schema_of(home)} is in between"
        found[schema_of(home)] += 1
        live.start()
        live.stop()
        after = counts_of(home)
        grown = {name for name, rows in before.items() if after[name] != rows}
        assert grown <= {"events"} and after["events"] >= EVENTS, f"round {number}, seed {seed}: {grown}"
        assert counts_of_file(home / f"{DATABASE}.schema-1") == before
    rounds.report_rounds("migration kills", count, old=found[1], new=found[NEWEST], in_between=0, seed=seed)


def counts_of_file(path: Path) -> dict[str, int]:
    folder = path.parent / "copy"
    folder.mkdir(exist_ok=True)
    shutil.copy(path, folder / DATABASE)
    return counts_of(folder)


class Restored:
    """A data directory, and a backup of another data directory with other tasks and other files."""

    def __init__(self, root: Path) -> None:
        self.old, self.backup = root / "old", root / "backup.tar"
        self.make(root / "other", "new", "N")
        with LiveServer(root / "other") as live:
            done = live.run_command("backup", str(self.backup))
            assert done.returncode == 0, done.stderr
            live.stop()
        self.make(self.old, "old", "O")

    def make(self, home: Path, title: str, letter: str) -> None:
        with LiveServer(home) as live:
            project = call(live, "POST", "/api/projects", path=str(home.parent), name=title)["project"]["id"]
            for number in range(20):
                call(live, "POST", "/api/tasks", project=project, title=f"{title} {number}")
            body = letter * 150_000
            session = call(live, "POST", "/api/sessions", project=project, name="ada")
            call(live, "POST", "/api/mail", to=[session["id"]], subject=title, message=body)
            live.kill()  # leaves a write-ahead log, as a crash does

    def assert_whole(self, home: Path) -> str:
        """Open the data directory with a real server, check that it has one complete state, and return the state."""
        with LiveServer(home) as live:
            (project,) = call(live, "GET", "/api/projects")["projects"]
            listed = call(live, "GET", f"/api/tasks?project={project['id']}&limit=100")["tasks"]
            name = str(project["name"])
            assert sorted(task["title"] for task in listed) == sorted(f"{name} {number}" for number in range(20))
            (event,) = [
                one for one in call(live, "GET", "/api/events?limit=500")["events"] if one["kind"] == "mail.sent"
            ]
            shown = call(live, "GET", f"/api/mail/{event['subject']}")
            assert shown["body"] == {"old": "O", "new": "N"}[name] * 150_000
            call(live, "POST", "/api/tasks", project=project["id"], title="after")
            live.stop()
        return name


def call(live: LiveServer, verb: str, path: str, /, **fields: Any) -> Any:
    connection = http.client.HTTPConnection(live.url.removeprefix("http://"), timeout=SECONDS_MAX)
    headers = {"Authorization": f"Bearer {live.token}", "Content-Type": "application/json"}
    connection.request(verb, path, json.dumps(fields) if fields else None, headers)
    answer = connection.getresponse()
    text = json.loads(answer.read())
    connection.close()
    assert answer.status == 200, text
    return text


# Kills its own process at one step: before it opens, creates, renames or removes a file of the data directory.
STEPS_TO_KILL = """
import os, signal, sys
home, last, steps = sys.argv.pop(1), int(sys.argv.pop(1)), 0

def count_step(event, arguments):
    global steps
    if event in ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir") and home in str(arguments[0]):
        steps += 1
        if steps == last:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(count_step)
from maestro.server.__main__ import main
code = main()
print("steps", steps)
sys.exit(code)
"""


@pytest.mark.slow
@pytest.mark.rounds
@pytest.mark.timeout(300)
def test_a_kill_during_a_restore_leaves_the_old_or_the_new_state(tmp_path: Path) -> None:
    seed, count = rounds.round_seed(), rounds.round_count(10, full=50)
    chance = random.Random(seed)
    made = Restored(tmp_path)
    live = LiveServer(copy_of(made.old, tmp_path / "data"))

    def run_until(last: int, *options: str) -> subprocess.CompletedProcess[bytes]:
        words = [str(live.home), str(last), "--home", str(live.home), *options]
        command = [sys.executable, "-c", STEPS_TO_KILL, *words]
        return subprocess.run(command, env=live.environment(), capture_output=True, timeout=SECONDS_MAX, check=False)

    whole = run_until(0, "--restore", str(made.backup))
    assert whole.returncode == 0, whole.stderr
    steps = int(whole.stdout.split()[-1])
    assert made.assert_whole(live.home) == "new"
    found = {"old": 0, "new": 0}
    for number in range(count):
        home = copy_of(made.old, live.home)
        last = chance.randint(1, steps)
        assert run_until(last, "--restore", str(made.backup)).returncode == -signal.SIGKILL
        if number % 2:  # also kill the start that completes the interrupted restore
            assert run_until(chance.randint(1, STEPS_OF_START), "--port", "0").returncode == -signal.SIGKILL
        found[made.assert_whole(home)] += 1
        assert not list(home.glob("restore*")), f"round {number}, step {last}, seed {seed}: an unpacked backup stays"
    rounds.report_rounds("restore kills", count, old=found["old"], new=found["new"], neither=0, seed=seed)
