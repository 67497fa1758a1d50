"""Whoever waits for mail outlives the server: it asks again as soon as there is one, and what it waited for comes."""

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
    """Between the waiters and the server, so that a test knows when someone waits, and can cut to the frame."""
    with tempfile.TemporaryDirectory(prefix="maestro-") as folder:
        made = FrameRelay(Path(folder) / "relay.sock", live.home / SOCKET)
        made.start_listening()
        yield made
        made.stop_listening()


@pytest.fixture
def start_waiter(office: Any, relay: FrameRelay, client: tuple[str, ...]) -> Iterator[Start]:
    """Starts `mail wait` through the relay; ends those that a failed test left."""
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
    """The subjects that a waiter printed in its one answer."""
    out, err = waiter.communicate(timeout=SECONDS_MAX)
    assert waiter.returncode == code, (waiter.returncode, out, err)
    return [message["subject"] for line in out.splitlines() for message in json.loads(line)["messages"]]


def restart(live: LiveServer, relay: FrameRelay) -> None:
    """Kill the server under everybody, and start another; meanwhile nobody answers."""
    live.kill()
    relay.stop_listening()
    live.start()


def test_mail_sent_before_it_is_back(live: LiveServer, office: Any, relay: FrameRelay, start_waiter: Start) -> None:
    worker = office.join("w")
    waiter = start_waiter(worker)
    relay.wait_for_frames(b"W")
    restart(live, relay)
    message = office.send("w", "while you were away")
    relay.start_listening()
    assert printed(waiter) == ["while you were away"]
    assert office.receipts(message) == {worker.id: "read"}


def test_mail_sent_once_it_is_back(live: LiveServer, office: Any, relay: FrameRelay, start_waiter: Start) -> None:
    """It is really waiting again: nothing was there when it came, and it is woken."""
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


def test_several_at_once_and_only_whose_mail_it_is(
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


def test_a_server_that_dies_again_before_it_says_anything(
    office: Any, relay: FrameRelay, start_waiter: Start
) -> None:
    """The second request is cut off before the server has said that it waits: it still does nothing but wait."""
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
def test_an_answer_that_breaks_off_is_asked_for_again(
    office: Any, relay: FrameRelay, start_waiter: Start, left: int
) -> None:
    """Nothing of it had come out, so it comes out once, and counts as read once."""
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


def test_an_answer_that_was_printed_is_not_asked_for_again(
    office: Any, relay: FrameRelay, start_waiter: Start
) -> None:
    """Cut after the output and before the question whether it is out: printed once, and offered once more."""
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


def test_only_the_time_that_is_left(live: LiveServer, office: Any, relay: FrameRelay, start_waiter: Start) -> None:
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


def test_a_server_that_stays_away(live: LiveServer, office: Any, relay: FrameRelay, start_waiter: Start) -> None:
    waiter = start_waiter(office.join("w"), "--timeout", "2s")
    relay.wait_for_frames(b"W")
    live.kill()
    relay.stop_listening()
    assert printed(waiter, code=8) == []


def test_a_server_that_is_told_to_stop_and_comes_back(
    live: LiveServer, office: Any, relay: FrameRelay, start_waiter: Start
) -> None:
    worker = office.join("w")
    waiter = start_waiter(worker)
    relay.wait_for_frames(b"W")
    live.stop()
    live.start()
    office.send("w", "after an upgrade")
    assert printed(waiter) == ["after an upgrade"]
