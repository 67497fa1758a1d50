"""Random damage of a data directory is harmless, or is reported at the start or at the affected read."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import random
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from maestro.store.layout import BLOBS, DATABASE, MARK, SECRET, SETTINGS, TOKEN
from maestro.testing import rounds
from maestro.testing.live import LiveServer

PAGE = 4096
SECONDS_MAX = 30.0
WAL = f"{DATABASE}-wal"
NAMED = {"storage_damaged", "file_damaged", "file_missing"}
TASKS = MESSAGES = 40
DOCUMENTS = 12
CONFIG = 'human = "dana"\nevents_days = 30\nmail_per_minute = 500\nallowed_hosts = "one.example,two.example"\n'

Answer = tuple[str, Any]  # "read" and the value, or "refused" and the code


@dataclass
class Template:
    """The data directories of a killed and of a stopped server, and the expected answer of each read."""

    killed: Path
    stopped: Path
    reads: dict[str, Callable[[Any], Any]] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)


def fill(api: Any, project: str, person: random.Random) -> dict[str, Callable[[Any], Any]]:
    """Store tasks, mail and documents of different sizes; return a function for each read."""
    reads: dict[str, Callable[[Any], Any]] = {}
    ada = api.call("POST", "/api/sessions", name="ada", project=project)["id"]
    tasks = []
    for number in range(TASKS):
        text = f"{number} " * person.choice((1, 300, 3000))
        task = api.call("POST", "/api/tasks", project=project, title=f"t{number}", description=text)["id"]
        tasks.append(task)
        reads[f"task {number}"] = lambda api, task=task: [api.task(task)[name] for name in ("title", "description")]
    for number in range(MESSAGES):
        text = f"{number} " * person.choice((1, 400, 3000, 12_000))
        sent = api.call("POST", "/api/mail", to=[ada], subject=f"m{number}", message=text, project=project)["id"]
        reads[f"message {number}"] = lambda api, sent=sent: read_message(api, sent)
    for number in range(DOCUMENTS):
        content = base64.b64encode(person.randbytes(person.choice((100, 9_000, 60_000)))).decode()
        path = f"/api/tasks/{tasks[number]}/documents"
        document = api.call("POST", path, title=f"d{number}", content=content)["id"]
        reads[f"document {number}"] = lambda api, id=document: api.call("GET", f"/api/documents/{id}")["content"]
        reads[f"documents of {number}"] = lambda api, path=path: api.call("GET", path)
    reads["tasks"] = lambda api: sorted(task["title"] for task in api.tasks(project))
    reads["search"] = lambda api: search(api, project)
    last = api.events()[-1]["seq"]
    reads["events"] = lambda api: api.events()[:last]
    return reads


def read_message(api: Any, message: str) -> list[Any]:
    shown = api.call("GET", f"/api/mail/{message}")
    return [shown["subject"], shown["body"]]


def search(api: Any, project: str) -> list[str]:
    found = api.call("GET", "/api/mail/search", query="7", project=project, limit=200)
    return sorted(message["subject"] for message in found["messages"])


def read(api: Any, how: Callable[[Any], Any]) -> Answer:
    try:
        return "read", how(api)
    except Exception as error:
        if not hasattr(error, "body"):
            raise
        return "refused", error.body["code"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damage")


@pytest.fixture
def template(folder: Path, connect: Any, init: Any) -> Template:
    made = Template(folder / "killed", folder / "stopped")
    home = folder / "home"
    home.mkdir(mode=0o700)
    (home / SETTINGS).write_text(CONFIG)
    live = LiveServer(home)
    with live:
        api = connect(live)
        project = init(api, "vc")
        made.reads = fill(api, project, random.Random(1))
        live.stop()
        copy_home(home, made.stopped)
        live.start()
        for number in range(10):
            api.call("POST", "/api/tasks", project=project, title=f"late {number}", description="y" * 5000)
        made.answers = {name: read(api, how) for name, how in made.reads.items()}
        wait_for_mark(home, api.events()[-1]["seq"])
        live.kill()
        copy_home(home, made.killed)
    return made


def copy_home(source: Path, target: Path) -> None:
    shutil.copytree(
        source, target, ignore=shutil.ignore_patterns("maestro.sock", "maestro.lock", "server.*", "*-shm")
    )


def wait_for_mark(home: Path, last: int) -> None:
    until = time.monotonic() + SECONDS_MAX
    while int((home / MARK).read_text().split()[0]) < last:
        assert time.monotonic() < until, "the mark does not follow the last event"
        time.sleep(0.05)


# Damage.


def overwrite_page(home: Path, chance: random.Random) -> str:
    file = home / DATABASE
    number = chance.randrange(file.stat().st_size // PAGE)
    kind, content = chance.choice(
        [("zeros", bytes(PAGE)), ("noise", chance.randbytes(PAGE)), ("ones", b"\xff" * PAGE)]
    )
    with file.open("r+b") as opened:
        opened.seek(number * PAGE)
        opened.write(content)
    return f"page {number + 1} {kind}"


def truncate_file(home: Path, chance: random.Random) -> str:
    file = chance.choice([home / DATABASE, home / TOKEN, home / SECRET, *blob_files(home)])
    size = chance.randrange(file.stat().st_size)
    if chance.random() < 0.5:
        size -= size % PAGE
    os.truncate(file, size)
    return f"{file.name[:12]} truncated to {size}"


def change_blob(home: Path, chance: random.Random) -> str:
    file = chance.choice(blob_files(home))
    data = bytearray(file.read_bytes())
    place = chance.randrange(len(data))
    data[place] ^= chance.randrange(1, 256)
    file.write_bytes(data)
    return f"{file.name[:12]} changed at {place}"


def remove_blob(home: Path, chance: random.Random) -> str:
    file = chance.choice(blob_files(home))
    file.unlink()
    return f"{file.name[:12]} removed"


def cut_log(home: Path, chance: random.Random) -> str:
    file = home / WAL
    if not file.exists():
        return remove_blob(home, chance)
    if chance.random() < 0.2:
        file.unlink()
        return "log removed"
    size = chance.randrange(file.stat().st_size)
    os.truncate(file, size)
    return f"log cut to {size}"


def change_settings(home: Path, chance: random.Random) -> str:
    file = home / SETTINGS
    data = bytearray(file.read_bytes())
    for _ in range(chance.randrange(1, 6)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    file.write_bytes(data)
    return "settings changed"


DAMAGE = (
    overwrite_page,
    overwrite_page,
    overwrite_page,
    truncate_file,
    change_blob,
    remove_blob,
    cut_log,
    change_settings,
)


def blob_files(home: Path) -> list[Path]:
    return sorted((home / BLOBS).glob("??/*"))


def can_be_shown(home: Path, copy: Path, *, blobs: list[str]) -> bool:
    """Return whether SQLite's quick check, a hash or the mark shows the damage. No code of Maestro takes part."""
    found = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in blob_files(home)}
    if any(found.get(name) != name for name in blobs):
        return True
    copy.mkdir()
    for name in (DATABASE, WAL):
        with contextlib.suppress(FileNotFoundError):
            shutil.copy(home / name, copy / name)
    try:
        with contextlib.closing(sqlite3.connect(copy / DATABASE)) as database:
            if database.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
                return True
            (last,) = database.execute("SELECT max(seq) FROM events").fetchone()
    except sqlite3.Error:
        return True
    finally:
        shutil.rmtree(copy)
    return bool((last or 0) < int((home / MARK).read_text().split()[0]))


# One round.


@dataclass
class Round:
    """One damaged data directory, and the result of its check."""

    what: str
    verdict: str = ""  # harmless, at start, or at a read
    backup: int = 0
    problems: list[str] = field(default_factory=list)


def judge(live: LiveServer, template: Template, connect: Any, done: Round) -> None:
    """Start a server, read everything, and record how the server reports the damage."""
    try:
        live.start()
    except RuntimeError as refused:
        said = str(refused)
        done.verdict = "at start"
        if "Traceback" in said or "the server did not start: error: " not in said:
            done.problems.append(f"the start failed without a clear word: {said[-1000:]}")
        return
    api = connect(live)
    answers = {name: read(api, how) for name, how in template.reads.items()}
    status, told = read(api, lambda api: api.call("GET", "/api/status")["problems"])
    codes = {answer for how, answer in answers.values() if how == "refused"}
    if status == "refused":
        codes.add(told)
    if codes - NAMED:
        done.problems.append(f"refused with {codes - NAMED}")
    differs = [name for name, answer in answers.items() if answer[0] == "read" and answer != template.answers[name]]
    is_named_at_start = status == "read" and bool(told)
    done.verdict = "at start" if is_named_at_start else "at a read" if codes else "harmless"
    if differs and not is_named_at_start:
        done.problems.append(f"read differently without a word: {differs[:5]}")


def play(template: Template, home: Path, connect: Any, chance: random.Random) -> Round:
    source = chance.choice([template.killed, template.stopped])
    is_stopped = source == template.stopped
    copy_home(source, home)
    blobs = [file.name for file in blob_files(home)]
    done = Round(chance.choice(DAMAGE)(home, chance))
    shows = can_be_shown(home, home.with_name("copy"), blobs=blobs)
    expected = template if not is_stopped else as_stopped(template)
    live = LiveServer(home)
    try:
        judge(live, expected, connect, done)
        back_up(live, home.with_name("all.tar"), done, shows=shows)
    finally:
        live.run_command("down")
        live.kill()
    log = (home / "server.log").read_text(errors="replace")
    if "Traceback" in log:
        done.problems.append(f"a traceback: {log[-2000:]}")
    shutil.rmtree(home)
    return done


def back_up(live: LiveServer, target: Path, done: Round, *, shows: bool) -> None:
    """Write a backup with the server, or without a server if no server can start."""
    ran = live.run_command("backup", str(target))
    target.unlink(missing_ok=True)
    done.backup = ran.returncode
    if shows and ran.returncode == 0:
        done.problems.append("damage that can be shown was backed up")
    if b"Traceback" in ran.stderr or b"internal" in ran.stderr:
        done.problems.append(f"the backup failed without a clear word: {ran.stderr.decode()[-1000:]}")


def as_stopped(template: Template) -> Template:
    """Return the expectations without the tasks that were stored after the stop."""
    answers = dict(template.answers)
    how, titles = answers["tasks"]
    answers["tasks"] = how, [title for title in titles if not title.startswith("late")]
    return Template(template.killed, template.stopped, template.reads, answers)


@pytest.mark.slow
@pytest.mark.rounds
@pytest.mark.timeout(600)
def test_damage_is_harmless_or_reported(template: Template, folder: Path, connect: Any) -> None:
    count, seed = rounds.round_count(12, full=500), rounds.round_seed()
    verdicts: Counter[str] = Counter()
    failed: list[str] = []
    for number in range(count):
        done = play(template, folder / "round", connect, random.Random(f"{seed}:{number}"))
        verdicts[done.verdict] += 1
        verdicts["backups refused"] += done.backup != 0
        failed += [f"round {number}, {done.what}: {problem}" for problem in done.problems]
    rounds.report_rounds(
        "damage",
        count,
        seed=seed,
        harmless=verdicts["harmless"],
        named_at_start=verdicts["at start"],
        named_at_a_read=verdicts["at a read"],
        backups_refused=verdicts["backups refused"],
        failed=len(failed),
    )
    assert not failed, "\n".join(failed)
