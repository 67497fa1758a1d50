"""The server is killed repeatedly while clients write: each acknowledged write is stored exactly once."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import sqlite3
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from maestro.store.layout import DATABASE
from maestro.testing import rounds as round_tests
from maestro.testing.live import LiveServer

CLIENTS = 6
SECONDS_MAX = 30.0
# The errors of a client whose server dies. The client then repeats the request with the same key.
BROKEN = (OSError, http.client.HTTPException)


@dataclass
class Rounds:
    """The state that the clients and the killing thread share."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    acknowledged: int = 0
    under_way: set[int] = field(default_factory=set)
    broken: int = 0
    servers: int = 1
    over: bool = False
    seconds_away: list[float] = field(default_factory=list)
    problems: list[Exception] = field(default_factory=list)

    def wait_for(self, what: str, met: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: met() or self.problems, SECONDS_MAX), (
                f"{what} did not happen in time"
            )
            if self.problems:
                raise self.problems[0]

    def fail(self, error: Exception) -> None:
        self.tell(lambda: self.problems.append(error))

    def tell(self, change: Callable[[], None]) -> None:
        with self.changed:
            change()
            self.changed.notify_all()


@dataclass
class Sent:
    """One acknowledged write."""

    path: str
    key: str
    fields: dict[str, Any]
    answer: Any


class Client:
    """A worker that works through tasks, and repeats each failed request until the server answers it."""

    def __init__(self, number: int, api: Any, rounds: Rounds, project: str, shared: str) -> None:
        self.number = number
        self.api = api
        self.rounds = rounds
        self.project = project
        self.shared = shared
        self.sent: list[Sent] = []
        self.thread = threading.Thread(target=self.run, name=f"client-{number}")

    def run(self) -> None:
        try:
            while not self.rounds.over:
                self.one_task(len(self.sent))
        except Exception as error:  # noqa: BLE001 (raised again by `wait_for`)
            self.rounds.fail(error)

    def one_task(self, turn: int) -> None:
        name = f"{self.number}-{turn}"
        task = self.write("/api/tasks", project=self.project, title=name)["id"]
        self.write("/api/tasks", project=self.project, title=f"{name} after", depends_on=[task, self.shared])
        fence = self.write(f"/api/tasks/{task}/start")["fence"]
        self.write(f"/api/tasks/{task}/reports", kind="progress", text=name, fence=fence)
        if turn % 2:
            self.write(f"/api/tasks/{task}/block", reason="waits", fence=fence)
            self.write(f"/api/tasks/{task}/unblock", fence=fence)
        if turn % 5:
            self.write(f"/api/tasks/{task}/complete", summary=f"{name} is done", fence=fence)

    def write(self, path: str, **fields: Any) -> Any:
        key = f"{self.number}/{len(self.sent)}"
        while True:
            seen = self.rounds.servers
            try:
                answer = self.ask(path, key, fields)
            except BROKEN:
                self.rounds.tell(self.broke)
                self.rounds.wait_for("another server", lambda: self.rounds.servers > seen)  # noqa: B023
                continue
            self.sent.append(Sent(path, key, fields, answer))
            self.rounds.tell(self.acknowledge)
            return answer

    def ask(self, path: str, key: str, fields: dict[str, Any]) -> Any:
        under_way = self.rounds.under_way
        answer, text = self.api.send(
            "POST",
            path,
            json.dumps(fields).encode(),
            headers={"Idempotency-Key": key},
            sent=lambda: self.rounds.tell(lambda: under_way.add(self.number)),
        )
        assert answer.status == 200, f"{path}: {answer.status} {text!r}"
        return json.loads(text)

    def acknowledge(self) -> None:
        self.rounds.under_way.discard(self.number)
        self.rounds.acknowledged += 1

    def broke(self) -> None:
        if self.number in self.rounds.under_way:
            self.rounds.broken += 1
        self.rounds.under_way.discard(self.number)


def kill_while_asked(server: LiveServer, rounds: Rounds, *, after: int) -> None:
    """Kill the server while all clients wait for answers. A stop signal holds the server at an arbitrary point."""
    assert server.process is not None
    goal, broken = rounds.acknowledged + after, rounds.broken
    rounds.wait_for(f"{after} answers", lambda: rounds.acknowledged >= goal)
    os.kill(server.process.pid, signal.SIGSTOP)
    rounds.wait_for("every client asking", lambda: len(rounds.under_way) == CLIENTS)
    server.kill()
    killed_at = time.monotonic()
    rounds.wait_for("a broken request", lambda: rounds.broken > broken)
    start_again(server, rounds)
    rounds.seconds_away.append(time.monotonic() - killed_at)


def start_again(server: LiveServer, rounds: Rounds) -> None:
    server.start()

    def count() -> None:
        rounds.servers += 1

    rounds.tell(count)


def survive(
    server: LiveServer, connect: Any, init: Any, *, times: int, after: int
) -> tuple[list[Client], str, Rounds]:
    """Let clients work while the server is killed that many times, then let the clients finish."""
    person = connect(server)
    project = init(person, "vc")
    shared = person.call("POST", "/api/tasks", project=project, title="shared")["id"]
    rounds = Rounds()
    clients = []
    for number in range(CLIENTS):
        session = person.call("POST", "/api/sessions", project=project, name=f"w{number}", key=f"register {number}")
        clients.append(Client(number, connect(server, session["token"]), rounds, project, shared))
    for client in clients:
        client.thread.start()
    try:
        for turn in range(times):
            # Kill at a different moment each time.
            kill_while_asked(server, rounds, after=after + 7 * (turn % 5))
            assert rounds.broken >= turn + 1
    finally:
        rounds.over = True
        if server.process is None or server.process.poll() is not None:
            start_again(server, rounds)
        for client in clients:
            client.thread.join(SECONDS_MAX)
    if rounds.problems:
        raise rounds.problems[0]
    return clients, project, rounds


def assert_nothing_lost_nothing_twice(clients: list[Client], api: Any, project: str) -> None:
    titles = [task["title"] for task in api.tasks(project)]
    made = [sent.fields["title"] for client in clients for sent in client.sent if sent.path == "/api/tasks"]
    assert sorted(titles) == sorted(["shared", *made])
    events = api.events()
    for client in clients:
        assert_each_move_once(client, events)


def assert_each_move_once(client: Client, events: list[dict[str, Any]]) -> None:
    """Assert that the log contains each acknowledged move of a client once, in the client's order."""
    kinds = {
        "start": ["task.started"],
        "block": ["task.blocked"],
        "unblock": ["task.unblocked"],
        "complete": ["task.reported", "task.completed"],
        "reports": ["task.reported"],
        "tasks": ["task.created"],
    }
    told = [kind for sent in client.sent for kind in kinds[sent.path.rpartition("/")[2]]]
    (name,) = {sent.answer["created_by"] for sent in client.sent}
    known = {kind for several in kinds.values() for kind in several}
    assert [event["kind"] for event in events if event["actor"] == name and event["kind"] in known] == told


def assert_keys_still_answer(clients: list[Client], api: Any) -> None:
    """Assert that a repeated key gives the first answer, also from a server that did not get the first request."""
    before = api.call("GET", "/api/status")["events"]
    for client in clients:
        for sent in client.sent[-20:]:
            assert client.ask(sent.path, sent.key, sent.fields) == sent.answer
    assert api.call("GET", "/api/status")["events"] == before


def assert_sound(home: Path) -> None:
    with contextlib.closing(sqlite3.connect(home / DATABASE)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []


def check_all(server: LiveServer, clients: list[Client], project: str, connect: Any, assert_log_agrees: Any) -> None:
    api = connect(server)
    assert_nothing_lost_nothing_twice(clients, api, project)
    assert_keys_still_answer(clients, api)
    assert_log_agrees(api, project)
    server.stop()
    assert_sound(server.home)


def test_five_kills_lose_and_repeat_no_write(
    live: LiveServer, connect: Any, init: Any, assert_log_agrees: Any
) -> None:
    clients, project, _ = survive(live, connect, init, times=5, after=60)
    check_all(live, clients, project, connect, assert_log_agrees)


@pytest.mark.slow
@pytest.mark.rounds
@pytest.mark.timeout(600)
def test_many_kills_lose_and_repeat_no_write(
    live: LiveServer, connect: Any, init: Any, assert_log_agrees: Any
) -> None:
    count = round_tests.round_count(20, full=200)
    clients, project, rounds = survive(live, connect, init, times=count, after=40)
    check_all(live, clients, project, connect, assert_log_agrees)
    away = f"{statistics.median(rounds.seconds_away):.2f} s"
    writes = sum(len(client.sent) for client in clients)
    round_tests.report_rounds("kills", count, acknowledged=writes, lost=0, twice=0, gaps=0, median_away=away)


def test_a_stop_of_the_server_loses_no_write(
    live: LiveServer, connect: Any, init: Any, assert_log_agrees: Any
) -> None:
    api = connect(live)
    project = init(api, "vc")
    made = [api.call("POST", "/api/tasks", project=project, title=f"t{number}")["id"] for number in range(20)]
    live.stop()
    assert live.process is not None and live.process.returncode == 0
    live.start()
    assert [task["id"] for task in api.tasks(project)] == made
    assert_log_agrees(api, project)
