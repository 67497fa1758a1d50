"""The server is killed repeatedly under load, with and without a terminal of the person.

The supervisor starts the server again with the same environment. No acknowledged message is lost or stored twice.
Agents continue, and no spawn starts an agent twice.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sqlite3
import statistics
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from maestro.store.layout import DATABASE
from maestro.testing import rounds
from maestro.testing.console import Console
from maestro.testing.homes import Home
from maestro.testing.supervised import wait_until
from maestro.testing.workshop import MAESTRO, Workshop

AGENTS = 3
SENDERS = 3
BACK_SECONDS_MAX = 10.0  # the goal is 1 s on a quiet machine
SETTINGS = "mail_per_minute = 1000000\nfamily_mail_per_minute = 1000000\nproject_mail_per_minute = 1000000\n"
BEATING = "echo $NAME >> started; while true; do date +%s%N > beat-$NAME; sleep 0.2; done"


class Sender:
    """Send messages, and send an unanswered message again with the same key."""

    def __init__(self, number: int, shop: Workshop, token: str) -> None:
        self.number, self.shop = number, shop
        self._head = {"Authorization": f"Bearer {token}"}
        self.acknowledged: list[str] = []
        self.problems: list[str] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"sender {number}")

    def __enter__(self) -> Sender:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(60)

    def _run(self) -> None:
        while not self._over.is_set() and not self.problems:
            subject = f"{self.number}-{len(self.acknowledged)}"
            while not self._send(subject) and not self.problems:
                time.sleep(0.02)
            self.acknowledged.append(subject)

    def _send(self, subject: str) -> bool:
        """Return whether the server has acknowledged the message."""
        head = self._head | {"Idempotency-Key": subject}
        body = {"to": ["box"], "subject": subject, "message": subject}
        try:
            answer = httpx.post(f"{self.shop.live.url}/api/mail", json=body, headers=head, timeout=10)
        except (httpx.TransportError, OSError, ValueError):
            return False
        if answer.status_code not in (200, 503):
            self.problems.append(answer.text)
        return answer.status_code == 200


@pytest.fixture
def shop(home: Home, make_repo: Callable[..., Path]) -> Iterator[Workshop]:
    home.folder.mkdir(mode=0o700)
    (home.folder / "config.toml").write_text(SETTINGS)
    home.start_server(EXTRA="from the person")
    made = Workshop(home.live, make_repo("vc"))
    made.run_maestro("init")
    yield made
    for name in [one["name"] for one in made.call_json("session", "list")["sessions"]]:
        home.live.run_command("session", "stop", name, cwd=made.repo)
    home.stop_server()
    made.end_agents()


@contextlib.contextmanager
def open_terminal(shop: Workshop, *, is_open: bool) -> Iterator[Console | None]:
    """Hold a terminal of the person open, in which a session is attached."""
    if not is_open:
        yield None
        return
    words = [str(MAESTRO), "session", "attach", "agent-0"]
    console = Console(words, cwd=shop.repo, env=shop.live.environment())
    try:
        wait_until(lambda: console.is_raw, what="the attached terminal")
        yield console
    finally:
        console.close()


def environment_of(pid: int) -> set[bytes]:
    """Return the environment with which a server was started, without the descriptor of one start."""
    variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return {one for one in variables if not one.startswith(b"MAESTRO_READY_FD=")}


def server_pid(home: Home) -> int:
    return int(json.loads((home.folder / "server.json").read_bytes())["pid"])


def time_until_answer(shop: Workshop) -> float:
    """Return the seconds until a command that begins now is answered."""
    began = time.monotonic()
    while True:
        done = subprocess.run(
            [MAESTRO, "whoami", "--json"], env=shop.live.environment(), capture_output=True, cwd="/", check=False
        )
        seconds = time.monotonic() - began
        if done.returncode == 0:
            assert json.loads(done.stdout)["role"] == "person"
            return seconds
        assert seconds < BACK_SECONDS_MAX, done.stderr.decode()
        time.sleep(0.005)


class Spawner:
    """Spawn short agents with a key, and repeat a spawn that a killed server did not answer."""

    def __init__(self, shop: Workshop) -> None:
        self.shop = shop
        self.names: list[str] = []

    @contextlib.contextmanager
    def begin(self) -> Iterator[None]:
        """Begin a spawn, let the caller kill the server meanwhile, and complete the spawn afterwards."""
        name = f"short-{len(self.names)}"
        self.names.append(name)
        program = ["--", "sh", "-c", f"echo {name} >> started"]
        words = ["session", "spawn", "--name", name, "--idempotency-key", name, *program]
        first = self.shop.live.start_command(*words, program=[str(MAESTRO)], cwd=self.shop.repo)
        yield
        _, told = first.communicate(timeout=60)
        while first.returncode != 0:
            assert first.returncode == 8, told.decode()
            first = self.shop.live.start_command(*words, program=[str(MAESTRO)], cwd=self.shop.repo)
            _, told = first.communicate(timeout=60)


def kill_under_load(home: Home, shop: Workshop, senders: list[Sender], spawner: Spawner, pause: float) -> float:
    """Kill the server while messages and a spawn are under way; return the seconds until the next server answers."""
    goals = [len(sender.acknowledged) + 3 for sender in senders]
    for sender, goal in zip(senders, goals, strict=True):
        wait_until(lambda s=sender, g=goal: len(s.acknowledged) >= g or s.problems, what="acknowledged messages")
        assert not sender.problems, sender.problems
    pid = server_pid(home)
    before = environment_of(pid)
    with spawner.begin():
        time.sleep(pause)
        os.kill(pid, signal.SIGKILL)
        seconds = time_until_answer(shop)
    assert (now := server_pid(home)) != pid
    assert environment_of(now) == before
    assert b"EXTRA=from the person" in before
    return seconds


def check_messages(home: Home, senders: list[Sender]) -> int:
    """Assert that every acknowledged message was stored and delivered exactly once; return their number."""
    with contextlib.closing(sqlite3.connect(home.folder / DATABASE)) as database:
        query = "SELECT m.subject FROM messages m JOIN deliveries d ON d.message_seq = m.seq"
        stored = Counter(subject for (subject,) in database.execute(query))
    sent = [subject for sender in senders for subject in sender.acknowledged]
    lost = [subject for subject in sent if not stored[subject]]
    assert not lost and max(stored.values()) == 1, (lost, stored.most_common(3))
    return len(sent)


def check_agents(shop: Workshop, spawner: Spawner) -> None:
    """Assert that the long-running agents still write beats, and that every agent was started exactly once."""
    for number in range(AGENTS):
        beat = shop.repo / f"beat-{number}"
        seen = beat.read_text()
        wait_until(lambda b=beat, s=seen: b.read_text() not in ("", s), what=f"a beat of agent {number}")
        assert shop.show_session(f"agent-{number}")["ended_at"] is None
    wanted = Counter([*map(str, range(AGENTS)), *spawner.names])
    wait_until(lambda: len(shop.read_words("started")) >= wanted.total(), what="the start of every agent")
    assert Counter(shop.read_words("started")) == wanted


@pytest.mark.slow
@pytest.mark.rounds
@pytest.mark.timeout(600)
def test_a_killed_server_returns_soon_and_loses_no_message(home: Home, shop: Workshop) -> None:
    played, seed = rounds.round_count(10, full=50), rounds.round_seed()
    chosen = random.Random(seed)
    shop.register_session("box")
    for number in range(AGENTS):
        shop.spawn_session("--name", f"agent-{number}", "--", "sh", "-c", f"NAME={number}; {BEATING}")
        wait_until((shop.repo / f"beat-{number}").exists, what="the agent's first beat")
    spawner, seconds = Spawner(shop), []
    with contextlib.ExitStack() as stack:
        senders = [Sender(n, shop, shop.register_session(f"sender-{n}")["token"]) for n in range(SENDERS)]
        for sender in senders:
            stack.enter_context(sender)
        for is_open in (True, False):
            with open_terminal(shop, is_open=is_open) as terminal:
                for _ in range(played // 2):
                    seconds.append(kill_under_load(home, shop, senders, spawner, chosen.uniform(0, 0.2)))
                assert terminal is None or terminal.process.poll() is None, terminal.shown[-500:]
    check_agents(shop, spawner)
    sent = check_messages(home, senders)
    told = {"median_away": f"{statistics.median(seconds):.2f} s", "longest_away": f"{max(seconds):.2f} s"}
    within = sum(one <= 1 for one in seconds)
    rounds.report_rounds(
        "supervised kills", len(seconds), seed=seed, within_1_s=within, acknowledged=sent, lost=0, twice=0, **told
    )
