"""A damaged database, or a database without its last events, is reported at the start, at a read and by `doctor`."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.store.layout import DATABASE
from maestro.testing.live import LiveServer

PAGE = 4096
SECONDS_MAX = 30.0
WAL = f"{DATABASE}-wal"


@pytest.fixture
def used(live: LiveServer, connect: Any, init: Any) -> tuple[LiveServer, Any, str]:
    """Return a server with a project and some tasks, its API and the project's id."""
    api = connect(live)
    project = init(api, "vc")
    for number in range(20):
        api.call("POST", "/api/tasks", project=project, title=f"t{number}", description="x" * 2000)
    return live, api, project


def wait_until(met: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + SECONDS_MAX
    while not met():
        assert time.monotonic() < until, f"{what} did not happen in time"
        time.sleep(0.02)


def mark_of(live: LiveServer) -> int:
    with contextlib.suppress(OSError, ValueError):
        return int((live.home / "maestro.mark").read_text().split()[0])
    return 0


def wait_for_mark(live: LiveServer, api: Any) -> int:
    last = api.events()[-1]["seq"]
    wait_until(lambda: mark_of(live) == last, "the mark")
    return int(last)


def status(live: LiveServer) -> Any:
    return json.loads(live.run_command("status", "--json").stdout)


def open_asks(live: LiveServer) -> list[Any]:
    found: list[Any] = json.loads(live.run_command("ask", "list", "--json").stdout)["asks"]
    return found


def doctor(live: LiveServer) -> str:
    done = live.run_command("doctor")
    said = (done.stdout + done.stderr).decode()
    assert "Traceback" not in said
    return said


def damage(live: LiveServer, table: str, content: bytes = bytes(PAGE)) -> None:
    """Overwrite the root page of a table or an index, in a database that no process has open."""
    with contextlib.closing(sqlite3.connect(live.home / DATABASE)) as database:
        (root,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    assert not (live.home / WAL).exists()
    with (live.home / DATABASE).open("r+b") as file:
        file.seek((root - 1) * PAGE)
        file.write(content)


# Missing events.


def test_the_mark_follows_the_last_event_and_is_exact_after_a_stop(used: Any) -> None:
    live, api, project = used
    last = wait_for_mark(live, api)
    api.call("POST", "/api/tasks", project=project, title="one more")
    live.stop()
    assert mark_of(live) > last
    live.start()
    assert status(live)["problems"] == []
    assert "maestro.mark" not in doctor(live)


@pytest.mark.slow
@pytest.mark.parametrize("rest", [0.5, 0.0, None], ids=["cut", "emptied", "removed"])
def test_a_store_behind_its_mark_is_reported_until_the_person_accepts_the_loss(
    used: Any, tmp_path: Path, rest: float | None
) -> None:
    live, api, project = used
    live.stop()  # the stop moves the project into the database file
    live.start()
    for number in range(20):
        api.call("POST", "/api/tasks", project=project, title=f"lost {number}", description="x" * 2000)
    last = wait_for_mark(live, api)
    live.kill()
    if rest is None:
        (live.home / WAL).unlink()
    else:
        os.truncate(live.home / WAL, int((live.home / WAL).stat().st_size * rest))
    assert "events" in doctor(live)
    live.start()
    for _ in range(2):
        (problem,) = status(live)["problems"]
        assert str(last) in problem
        wait_until(lambda: len(open_asks(live)) == 1, "the ask")
        assert problem in doctor(live)
        assert live.run_command("backup", str(tmp_path / "a.tar")).returncode == 1
        live.stop()
        live.start()
    assert str(last) in (live.home / "server.log").read_text()
    live.run_command("ask", "answer", open_asks(live)[0]["id"], "accept the loss")
    wait_until(lambda: status(live)["problems"] == [], "the end of the problem")
    assert live.run_command("backup", str(tmp_path / "a.tar")).returncode == 0


def test_a_restore_writes_the_mark_again(used: Any, tmp_path: Path) -> None:
    live, api, project = used
    archive = tmp_path / "all.tar"
    assert live.run_command("backup", str(archive)).returncode == 0
    for number in range(5):
        api.call("POST", "/api/tasks", project=project, title=f"later {number}")
    wait_for_mark(live, api)
    live.stop()
    assert live.run_command("restore", str(archive)).returncode == 0
    live.start()
    assert status(live)["problems"] == [] and open_asks(live) == []
    assert mark_of(live) <= api.events()[-1]["seq"]


def test_an_unreadable_mark_is_written_again(used: Any) -> None:
    live, api, project = used
    wait_for_mark(live, api)
    live.stop()
    (live.home / "maestro.mark").write_bytes(b"\xff" * 20)
    live.start()
    assert status(live)["problems"] == []
    assert "maestro.mark cannot be read" in (live.home / "server.log").read_text()
    api.call("POST", "/api/tasks", project=project, title="one more")
    wait_for_mark(live, api)


# Damaged pages.


@pytest.mark.parametrize("content", [bytes(PAGE), os.urandom(PAGE)], ids=["zeros", "noise"])
def test_the_first_read_of_damage_is_refused_and_the_person_is_asked_once(used: Any, content: bytes) -> None:
    live, api, _ = used
    live.stop()
    damage(live, "documents_by_task", content)
    live.start()
    task = api.events()[-1]["subject"]
    for _ in range(3):
        with pytest.raises(Exception, match="storage_damaged") as caught:
            api.call("GET", f"/api/tasks/{task}/documents")
        told = caught.value.body  # type: ignore[attr-defined]
        assert not told["retryable"] and "recovery.md" in told["hint"] and str(live.home) in told["message"]
    wait_until(lambda: len(open_asks(live)) == 1, "the ask")
    assert len(status(live)["problems"]) == 1
    assert (live.home / "server.log").read_text().count("ERROR") == 1
    live.stop()
    live.start()
    with pytest.raises(Exception, match="storage_damaged"):
        api.call("GET", f"/api/tasks/{task}/documents")
    assert len(open_asks(live)) == 1


@pytest.mark.parametrize("runs", [True, False], ids=["server runs", "no server"])
def test_doctor_reports_damage_of_the_database(used: Any, runs: bool) -> None:
    live, _, _ = used
    live.stop()
    assert "damaged" not in doctor(live)
    damage(live, "gate_results_by_blob")
    if runs:
        live.start()
    assert "database is damaged" in doctor(live)


@pytest.mark.parametrize("table", ["tasks", "projects", "events", "sqlite_autoindex_projects_1"])
def test_damage_of_a_needed_table_is_reported_at_the_start_or_at_a_write(used: Any, table: str) -> None:
    live, api, project = used
    live.stop()
    damage(live, table)
    try:
        live.start()
    except RuntimeError as refused:
        assert "damaged" in str(refused) and "Traceback" not in str(refused)
    else:
        with pytest.raises(Exception, match="storage_damaged"):
            api.call("POST", "/api/tasks", project=project, title="met")
    assert "database is damaged" in doctor(live)


def last_overflow_page(live: LiveServer, text: bytes) -> int:
    """Return the number of the page that contains the end of a long text."""
    data = (live.home / DATABASE).read_bytes()
    place = data.rindex(text)
    return place // PAGE


def test_a_text_with_a_zeroed_page_is_refused(used: Any) -> None:
    """SQLite does not detect this damage, because the page is well-formed."""
    live, api, project = used
    text = "a" * 6000 + "the end of it"
    task = api.call("POST", "/api/tasks", project=project, title="long", description=text)["id"]
    live.stop()
    page = last_overflow_page(live, b"the end of it")
    with (live.home / DATABASE).open("r+b") as file:
        file.seek(page * PAGE)
        file.write(bytes(PAGE))
    live.start()
    with pytest.raises(Exception, match="storage_damaged"):
        api.task(task)
