"""Tests that the server identifies each process of a spawned agent as the agent's session (findings H1, M1)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from maestro.runner import process_tree
from maestro.server.secrets import Secrets
from maestro.testing.live import LiveServer
from maestro.testing.supervised import is_running, wait_until
from maestro.testing.workshop import MAESTRO, Workshop

# Each way starts the probe below the agent. The agent continues.
WAYS = {
    "a child": "{probe}",
    "without its token": "env -u MAESTRO_TOKEN {probe}",
    "an orphan": "(env -u MAESTRO_TOKEN sh -c 'sleep 0.3; {probe}' &)",
    "an orphan in a session of its own": "(env -u MAESTRO_TOKEN setsid sh -c 'sleep 0.3; {probe}' &)",
    "a double fork": "(setsid sh -c '(env -u MAESTRO_TOKEN sh -c \"sleep 0.3; {probe}\" &)' &)",
    "an emptied environment": "(setsid env -i MAESTRO_SOCKET=$MAESTRO_SOCKET PATH=$PATH sh -c 'sleep 0.3; {probe}' &)",
}


def answer_in(file: Path) -> dict[str, Any]:
    """Return the complete answer of `maestro whoami` in the file."""

    def look() -> dict[str, Any] | None:
        text = file.read_text() if file.exists() else ""
        return json.loads(text) if text.endswith("}\n") else None

    found: dict[str, Any] = wait_until(look, what=f"an answer in {file.name}")
    return found


def probe(file: str) -> str:
    """Return a command that writes the identity of its caller into the file."""
    return f"{MAESTRO} whoami --json > {file}.part 2>&1; mv {file}.part {file}"


@pytest.mark.parametrize("way", WAYS)
def test_every_descendant_of_a_spawned_agent_is_identified_as_the_session(shop: Workshop, way: str) -> None:
    script = WAYS[way].format(probe=probe("who"))
    made = shop.spawn_session("--name", "ada", "--", "sh", "-c", f"{script}; exec sleep 60")
    answer = answer_in(shop.repo / "who")
    assert answer["role"] == "worker", answer
    assert answer["session"]["id"] == made["id"]


def test_an_orphan_of_an_agent_cannot_answer_the_permission_ask_of_the_agent(shop: Workshop) -> None:
    orphan = (
        f"(env -u MAESTRO_TOKEN setsid sh -c 'sleep 0.3; {MAESTRO} ask answer $id allow > told 2>&1; touch over' &)"
    )
    script = (
        f'{MAESTRO} ask create --kind permission --json "May I?" > ask; '
        f'id=$({sys.executable} -c \'import json; print(json.load(open("ask"))["id"])\'); export id; {orphan}; exec sleep 60'
    )
    shop.spawn_session("--name", "ada", "--", "sh", "-c", script)
    wait_until((shop.repo / "over").exists, what="the end of the orphan")
    (ask,) = shop.call_json("ask", "list")["asks"]
    assert ask["status"] == "open", (shop.repo / "told").read_text()


WAITING = "(setsid env -i MAESTRO_SOCKET=$MAESTRO_SOCKET PATH=$PATH sh -c 'until test -e go; do sleep 0.05; done; {probe}' &)"


def begin_waiting_orphan(shop: Workshop) -> dict[str, Any]:
    """Spawn an agent that leaves an orphan, and return the session. The orphan runs `whoami` once file `go` exists.

    A restarted agent leaves no second orphan.
    """
    orphan = WAITING.format(probe=probe("who"))
    script = f"test -e begun || {{ touch begun; {orphan}; }}; exec sleep 60"
    made = shop.spawn_session("--name", "ada", "--", "sh", "-c", script)
    wait_until((shop.repo / "begun").exists, what="the start of the orphan")
    wait_until(lambda: shop.show_session("ada")["status"] == "working", what="the start of the agent")
    return made


def test_an_orphan_is_still_identified_as_the_session_after_a_kill_of_the_server(supervised: Workshop) -> None:
    made = begin_waiting_orphan(supervised)
    supervised.live.kill()
    (supervised.repo / "go").touch()
    answer = answer_in(supervised.repo / "who")
    assert (answer["role"], answer["session"]["id"]) == ("worker", made["id"])


def test_an_orphan_of_a_killed_runner_is_nobody(supervised: Workshop) -> None:
    """Kill the runner: the supervisor adopts the orphan, and another runner starts the agent again."""
    begin_waiting_orphan(supervised)
    (note,) = supervised.runner_notes()
    os.kill(note["runner"], signal.SIGKILL)
    wait_until(lambda: not is_running((note["runner"], note["runner_started"])), what="the end of the runner")
    (supervised.repo / "go").touch()
    answer = answer_in(supervised.repo / "who")
    assert answer.get("role") == "nobody" or answer.get("code") == "not_authenticated", answer


class Reporter:
    """An agent that sends reports of a runner to the server, with the token of the session."""

    def __init__(self, shop: Workshop, name: str) -> None:
        self._shop = shop
        shop.spawn_session(
            "--name",
            name,
            "--",
            "sh",
            "-c",
            "printenv MAESTRO_TOKEN > token.part; mv token.part token; exec sleep 60",
        )
        wait_until((shop.repo / "token").exists, what="the file with the token")
        self.token = (shop.repo / "token").read_text().strip()
        wait_until(lambda: shop.show_session(name)["status"] == "working", what="the start of the agent")

    def report(self, **facts: Any) -> httpx.Response:
        body = {"report": json.dumps({"epoch": 1, **facts})}
        head = {"Authorization": f"Bearer {self.token}"}
        return httpx.post(f"{self._shop.live.url}/api/runners/report", json=body, headers=head)


def test_an_agent_cannot_report_another_process_as_its_program(shop: Workshop) -> None:
    """Send a report that names the process of this test: it would turn the person's commands into the agent's."""
    agent = Reporter(shop, "ada")
    started = process_tree.process_start(os.getpid())
    answer = agent.report(kind="started", pid=os.getpid(), pid_started=started, runner=1, runner_started="1")
    assert answer.status_code in (401, 403), answer.text
    assert shop.call_json("whoami")["role"] == "person"


def test_an_agent_cannot_report_the_end_of_its_program(shop: Workshop) -> None:
    agent = Reporter(shop, "ada")
    assert agent.report(kind="exited", code=0).status_code in (401, 403)
    assert shop.show_session("ada")["ended_at"] is None


def test_the_environment_of_an_agent_does_not_contain_the_secret_of_the_runner(shop: Workshop) -> None:
    shop.spawn_session("--name", "ada", "--", "sh", "-c", "env > all.part; mv all.part all; exec sleep 60")
    wait_until((shop.repo / "all").exists, what="the file with the environment")
    session = shop.show_session("ada")["id"]
    secret = Secrets(shop.live.home).runner_secret(session, 1)
    assert secret and secret not in (shop.repo / "all").read_text()


def test_an_orphan_of_a_runner_from_before_an_upgrade_is_identified_as_the_session(shop: Workshop) -> None:
    """Simulate a runner of an earlier version, which reported its pid without its start time."""
    made = begin_waiting_orphan(shop)
    shop.live.kill()
    with contextlib.closing(sqlite3.connect(shop.live.home / "maestro.db")) as database, database:
        database.execute("UPDATE spawns SET runner_started = '', has_older_runner = 1")
    shop.live.start()
    (shop.repo / "go").touch()
    answer = answer_in(shop.repo / "who")
    assert (answer["role"], answer["session"]["id"]) == ("worker", made["id"])


def test_an_agent_whose_session_is_not_in_the_store_is_nobody(shop: Workshop) -> None:
    """Put the data directory back to an earlier state while the agent runs."""
    database, earlier = shop.live.home / "maestro.db", shop.live.home / "earlier.db"
    shop.call_json("status")
    with (
        contextlib.closing(sqlite3.connect(database)) as source,
        contextlib.closing(sqlite3.connect(earlier)) as copy,
    ):
        source.backup(copy)
    begin_waiting_orphan(shop)
    shop.live.kill()
    for name in ("maestro.db-wal", "maestro.db-shm", "maestro.mark"):
        (shop.live.home / name).unlink(missing_ok=True)
    earlier.rename(database)
    shop.live.start()
    (shop.repo / "go").touch()
    answer = answer_in(shop.repo / "who")
    assert answer.get("role") == "nobody" or answer.get("code") == "not_authenticated", answer


def test_an_agent_of_another_data_directory_is_nobody(supervised: Workshop, tmp_path: Path) -> None:
    with LiveServer(tmp_path / "other") as other:
        hidden = f"(setsid env -i MAESTRO_HOME={other.home} PATH=$PATH sh -c '{probe('who')}' &)"
        supervised.spawn_session("--name", "ada", "--", "sh", "-c", f"{hidden}; exec sleep 60")
        answer = answer_in(supervised.repo / "who")
    assert answer.get("role") == "nobody" or answer.get("code") == "not_authenticated", answer


def test_an_agent_is_the_person_for_a_server_that_the_agent_has_started(supervised: Workshop, tmp_path: Path) -> None:
    """Let an agent start a server, as in tests of Maestro: this server does not know the session of the agent."""
    own = f"env -i MAESTRO_HOME={tmp_path / 'own'} HOME=$HOME PATH=$PATH"
    script = f"{own} {MAESTRO} up --port 0; {own} sh -c '{probe('who')}'; {own} {MAESTRO} down; exec sleep 60"
    supervised.spawn_session("--name", "ada", "--", "sh", "-c", script)
    assert answer_in(supervised.repo / "who")["role"] == "person"
