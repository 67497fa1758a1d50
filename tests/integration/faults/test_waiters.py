"""A wait for mail survives the end of the server: the client asks the next server again and gets its mail."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from maestro.store.layout import SOCKET
from maestro.testing.live import LiveServer
from maestro.testing.raw import Frame, FrameRelay

SECONDS_MAX = 60.0
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def relay(live: LiveServer) -> Iterator[FrameRelay]:
    """Provide a relay between the waiters and the server.

    With the relay a test knows when a client waits, and can cut a connection at a frame.
    """
    with tempfile.TemporaryDirectory(prefix="maestro-") as folder:
        made = FrameRelay(Path(folder) / "relay.sock", live.home / SOCKET)
        made.start_listening()
        yield made
        made.stop_listening()


@pytest.fixture
def start_waiter(office: Any, relay: FrameRelay, client: tuple[str, ...]) -> Iterator[Start]:
    """Start `mail wait` through the relay, and kill the remaining processes after the test."""
    begun: list[subprocess.Popen[bytes]] = []

    def start(seat: Any, *words: str) -> subprocess.Popen[bytes]:
        env = {"MAESTRO_SOCKET": str(relay.path)}
        begun.append(seat.begin("mail", "wait", "--json", *words, program=client, env=env))
        return begun[-1]

    yield start
    for process in begun:
        if process.poll() is None:
            process.kill()
        process.communicate()


def printed(waiter: subprocess.Popen[bytes], *, code: int = 0) -> list[str]:
    """Return the subjects that a waiter printed in its only answer."""
    out, err = waiter.communicate(timeout=SECONDS_MAX)
    assert waiter.returncode == code, (waiter.returncode, out, err)
    return [message["subject"] for line in out.splitlines() for message in json.loads(line)["messages"]]


def restart(live: LiveServer, relay: FrameRelay) -> None:
    """Kill the server and start another server. Meanwhile the relay accepts no connections."""
    live.kill()
    relay.stop_listening()
    live.start()


def test_a_waiter_gets_mail_that_was_sent_before_it_asks_again(
    live: LiveServer, office: Any, relay: FrameRelay, start_waiter: Start
) -> None:
    worker = office.join("w")
    waiter = start_waiter(worker)
    relay.wait_for_frames(b"W")
    restart(live, relay)
    message = office.send("w", "while you were away")
    relay.start_listening()
    assert printed(waiter) == ["while you were away"]
    assert office.receipts(message) == {worker.id: "read"}


def test_a_waiter_gets_mail_that_was_sent_after_it_asks_again(
    live: LiveServer, office: Any, relay: FrameRelay, start_waiter: Start
) -> None:
    """The waiter finds no mail when it asks again, so the new mail wakes it."""
    worker = office.join("w")
    waiter = start_waiter(worker)
    for times in range(1, 4):
        relay.wait_for_frames(b"W", times)
        restart(live, relay)
        relay.start_listening()
    relay.wait_for_frames(b"W", 4)
    message = office.send("w", "after three kills")
    assert printed(waiter) == ["after three kills"]
    assert office.receipts(message) == {worker.id: "read"}


def test_several_waiters_get_only_their_own_mail_after_a_restart(
    live: LiveServer, office: Any, relay: FrameRelay, start_waiter: Start
) -> None:
    workers = [office.join(f"w{number}") for number in range(4)]
    waiters = [start_waiter(worker, "--count", "2") for worker in workers]
    relay.wait_for_frames(b"W", len(waiters))
    for worker in workers:
        office.send(worker.name, f"first for {worker.name}")
    restart(live, relay)
    relay.start_listening()
    relay.wait_for_frames(b"W", 2 * len(waiters))
    for worker in workers:
        office.send(worker.name, f"second for {worker.name}")
    for worker, waiter in zip(workers, waiters, strict=True):
        assert printed(waiter) == [f"first for {worker.name}", f"second for {worker.name}"]


def test_a_waiter_asks_again_when_the_server_dies_before_it_announces_the_wait(
    office: Any, relay: FrameRelay, start_waiter: Start
) -> None:
    """The relay cuts the second and the third connection before the server announces the wait."""
    worker = office.join("w")

    def cut(number: int, frame: Frame) -> bytes | None:
        return b"" if number in (2, 3) and frame[0] == b"W" else None

    relay.cut_at = cut
    waiter = start_waiter(worker)
    relay.wait_for_frames(b"W")
    relay.stop_listening()
    relay.start_listening()
    relay.wait_for_frames(b"W", 4)
    office.send("w", "still there")
    assert printed(waiter) == ["still there"]


@pytest.mark.parametrize("left", [0, 3, 5, 60], ids=["nothing", "half a head", "a head", "half an answer"])
def test_a_waiter_asks_again_after_an_incomplete_answer(
    office: Any, relay: FrameRelay, start_waiter: Start, left: int
) -> None:
    """No part of the answer was printed, so the mail is printed once and counts as read once."""
    worker = office.join("w")

    def cut(number: int, frame: Frame) -> bytes | None:
        whole = frame[0] + len(frame[1]).to_bytes(4, "big") + frame[1]
        return whole[:left] if number == 1 and frame[0] == b"O" else None

    relay.cut_at = cut
    waiter = start_waiter(worker)
    relay.wait_for_frames(b"W")
    message = office.send("w", "in two pieces")
    assert printed(waiter) == ["in two pieces"]
    assert office.receipts(message) == {worker.id: "read"}
    assert worker.run("mail", "inbox")["messages"] == []


def test_a_waiter_does_not_ask_again_after_it_has_printed_an_answer(
    office: Any, relay: FrameRelay, start_waiter: Start
) -> None:
    """The relay cuts the connection between the output and the request to confirm. The mail is then offered again."""
    worker = office.join("w")
    relay.cut_at = lambda number, frame: b"" if number == 1 and frame[0] == b"C" else None
    waiter = start_waiter(worker)
    relay.wait_for_frames(b"W")
    message = office.send("w", "printed")
    assert printed(waiter, code=8) == ["printed"]
    assert len(relay.requests) == 1
    assert office.receipts(message)[worker.id] in ("sent", "delivered")
    assert [one["subject"] for one in worker.run("mail", "inbox")["messages"]] == ["printed"]
    assert office.receipts(message) == {worker.id: "read"}


def test_a_repeated_wait_has_only_the_remaining_time(
    live: LiveServer, office: Any, relay: FrameRelay, start_waiter: Start
) -> None:
    waiter = start_waiter(office.join("w"), "--timeout", "20s")
    relay.wait_for_frames(b"W")
    restart(live, relay)
    relay.start_listening()
    relay.wait_for_frames(b"W", 2)
    office.send("w", "in time")
    assert printed(waiter) == ["in time"]
    first, second = relay.requests
    assert b"MAESTRO_WAIT_LEFT" not in first.variables
    assert 0 < int(second.variables[b"MAESTRO_WAIT_LEFT"]) < 20_000


def test_a_waiter_ends_without_mail_when_no_server_returns_in_time(
    live: LiveServer, office: Any, relay: FrameRelay, start_waiter: Start
) -> None:
    waiter = start_waiter(office.join("w"), "--timeout", "2s")
    relay.wait_for_frames(b"W")
    live.kill()
    relay.stop_listening()
    assert printed(waiter, code=8) == []


def test_a_waiter_survives_a_stop_and_a_start_of_the_server(
    live: LiveServer, office: Any, relay: FrameRelay, start_waiter: Start
) -> None:
    worker = office.join("w")
    waiter = start_waiter(worker)
    relay.wait_for_frames(b"W")
    live.stop()
    live.start()
    office.send("w", "after an upgrade")
    assert printed(waiter) == ["after an upgrade"]
