"""Tests that random and mutated requests and frames never make the server fail, crash or hang.

No answer is 5xx, except the documented 503. The log holds no traceback. The same server still answers.
"""

from __future__ import annotations

import random
import socket
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.security.fuzz.frames import random_frames
from tests.security.fuzz.requests import Fuzzer, Sent
from tests.security.sweep.world import World, open_world

from maestro.store.layout import SOCKET
from maestro.testing import rounds
from maestro.testing.raw import connect_to

SECONDS_MAX = 15.0  # the limit of a request; the server gives an incomplete head ten seconds
FRAME_SECONDS_MAX = 2.0
AVERAGE_SECONDS_MAX = 2.0
FRESH_ROUNDS = 200  # the number of rounds with the same sessions, because a request can end a session
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"  # another answer follows
SIGNS_OF_FAILURE = ("Traceback", "CRITICAL", "never retrieved")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with open_world(tmp_path) as made:
        yield made


def fresh_tokens(world: World, number: int) -> dict[str, str]:
    """Return the tokens of the person, of two new sessions and of an ended session, and an empty token."""
    found = {"person": world.live.token, "ended": world.tokens["ended"], "nobody": ""}
    for name, project, mode in (("worker", "victim", "execute"), ("boss", "evil", "coordinate")):
        made = world.person("POST", "/api/sessions", project=project, name=f"{name}-{number}", mode=mode)
        found[name] = made["token"]
    return found


def exchange(world: World, sent: Sent) -> tuple[int, bytes]:
    """Send a request. Return the status, or 0 if the server only closed the connection, and the first bytes."""
    place = urlsplit(world.live.url)
    data = sent.to_bytes(place.netloc)
    with socket.create_connection((place.hostname, place.port), timeout=SECONDS_MAX) as connection:
        try:
            connection.sendall(data)
            if sent.cut_bytes is not None or sent.headers:  # the server can wait for more bytes: none come
                connection.shutdown(socket.SHUT_WR)
            said = b""
            while b"\r\n\r\n" not in said and (part := connection.recv(65536)):
                said = (said + part).removeprefix(CONTINUE)
        except (ConnectionResetError, BrokenPipeError):
            return 0, b""
    status = said.split(b" ", 2)[1] if said.startswith(b"HTTP/1.1 ") else b"0"
    return int(status), said


def check_answer(sent: Sent, status: int, said: bytes, told: str) -> None:
    """Fail on an error of the server. 503 is documented for connections without a token."""
    is_documented = status == 503 and b"limit_reached" in said
    assert status < 500 or is_documented, f"{told}: {sent} gave {said[:2000]!r}"


def check_server(world: World, pid: int, told: str) -> None:
    """Fail if another server answers, or if the server's log contains a failure."""
    assert world.live.process is not None and world.live.process.poll() is None, told
    assert world.person("GET", "/api/whoami")["role"] == "person"
    assert world.person("GET", "/api/status")["pid"] == pid, told
    log = world.live.log.read_text()
    found = [sign for sign in SIGNS_OF_FAILURE if sign in log]
    assert not found, f"{told}: {log[max(0, log.index(found[0]) - 500) :][:6000]}"


@pytest.mark.slow
@pytest.mark.rounds
@pytest.mark.timeout(600)
def test_mutated_requests_never_make_the_server_fail(world: World) -> None:
    played, seed = rounds.round_count(300, full=10_000), rounds.round_seed()
    fuzzer = Fuzzer(world, random.Random(seed))
    statuses: Counter[str] = Counter()
    pid, began, longest = world.person("GET", "/api/status")["pid"], time.monotonic(), 0.0
    for number in range(played):
        if number % FRESH_ROUNDS == 0:
            fuzzer.tokens = fresh_tokens(world, number)
        sent, asked_at = fuzzer.make(), time.monotonic()
        told = f"request {number} of seed {seed}"
        try:
            status, said = exchange(world, sent)
        except TimeoutError:
            raise AssertionError(f"{told}: {sent} got no answer in time") from None
        longest = max(longest, time.monotonic() - asked_at)
        statuses[f"of_status_{status}" if status else "without_status"] += 1
        check_answer(sent, status, said, told)
        if number % 1000 == 999:
            check_server(world, pid, told)
    seconds = time.monotonic() - began
    check_server(world, pid, f"{played} requests of seed {seed}")
    assert seconds / played < AVERAGE_SECONDS_MAX
    rounds.report_rounds(
        "requests", played, seed=seed, failures=0, **dict(sorted(statuses.items())), longest=f"{longest:.1f} s"
    )


@pytest.mark.slow
@pytest.mark.rounds
@pytest.mark.timeout(600)
def test_random_frames_never_make_the_server_fail(world: World) -> None:
    played, seed = rounds.round_count(50, full=1000), rounds.round_seed()
    chosen = random.Random(seed)
    pid, began = world.person("GET", "/api/status")["pid"], time.monotonic()
    ends: Counter[str] = Counter()
    for number in range(played):
        if number % FRESH_ROUNDS == 0:
            token = fresh_tokens(world, number)["worker"]
        ends[play_frames(world, random_frames(chosen, token))] += 1
        if number % 100 == 99:
            check_server(world, pid, f"frames {number} of seed {seed}")
    check_server(world, pid, f"{played} connections of seed {seed}")
    assert (time.monotonic() - began) / played < AVERAGE_SECONDS_MAX
    rounds.report_rounds("frames", played, seed=seed, failures=0, **ends)


def play_frames(world: World, data: bytes) -> str:
    """Send bytes to the Unix socket and read to the end. Return the way in which the connection ended."""
    sock = connect_to(world.live.home / SOCKET)
    with sock:
        sock.settimeout(FRAME_SECONDS_MAX)
        said = b""
        try:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            while part := sock.recv(65536):
                said += part
        except TimeoutError:
            return "silent"
        except OSError:
            return "cut_off"
    return "answered" if said else "closed"
