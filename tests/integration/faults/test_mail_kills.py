"""The server is killed repeatedly while sessions send, wait and read.

Each acknowledged message is stored once and read once. A message counts as read only after a client has
printed all of it. Waits survive each kill.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from maestro.store.layout import SETTINGS, SOCKET
from maestro.testing import rounds as round_tests
from maestro.testing.live import LiveServer
from maestro.testing.raw import FrameRelay, RawCommand

SENDERS = 4
SECONDS_MAX = 60.0
TURNS_MAX = 100_000
NO_SERVER, TIMED_OUT = 8, 3
BROKEN = (OSError, http.client.HTTPException)


class HungUp(OSError):
    """A client ended the connection before the answer."""


@dataclass
class Rounds:
    """The state that the workers and the killing thread share."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    acknowledged: dict[str, tuple[str, str]] = field(default_factory=dict)  # message id: recipient and text
    under_way: set[str] = field(default_factory=set)
    servers: int = 1
    over: bool = False
    problems: list[Exception] = field(default_factory=list)

    def wait_for(self, what: str, met: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: met() or self.problems, SECONDS_MAX), (
                f"{what} did not happen in time"
            )
            if self.problems:
                raise self.problems[0]

    def another_server(self, seen: int) -> None:
        self.wait_for("another server", lambda: self.servers > seen or self.over)

    def fail(self, error: Exception) -> None:
        self.tell(lambda: self.problems.append(error))

    def tell(self, change: Callable[[], Any]) -> None:
        with self.changed:
            change()
            self.changed.notify_all()


class Worker:
    """A thread that repeats one action until the test is over."""

    def __init__(self, rounds: Rounds, seat: Any) -> None:
        self.rounds = rounds
        self.seat = seat
        self.thread = threading.Thread(target=self.run, name=f"{type(self).__name__} {seat.name}")

    def run(self) -> None:
        try:
            for turn in range(TURNS_MAX):
                if self.rounds.over:
                    return
                seen = self.rounds.servers
                if not self.once(turn):
                    self.rounds.another_server(seen)
        except Exception as error:  # noqa: BLE001 (raised again by `wait_for`)
            self.rounds.fail(error)

    def once(self, turn: int) -> bool:
        """Do the action once; return whether a server answered."""
        raise NotImplementedError


class Sender(Worker):
    """Send messages, and repeat an unanswered message with the same key."""

    def __init__(self, rounds: Rounds, seat: Any, to: list[Any]) -> None:
        super().__init__(rounds, seat)
        self.to = to
        self.count = 0

    def once(self, turn: int) -> bool:
        recipient = self.to[self.count % len(self.to)]
        name = f"{self.seat.name}-{self.count}"
        text = f"{name} " * (1 + 97 * (self.count % 5))
        message = self.send(recipient.name, name, text)
        if message is None:
            return False
        self.count += 1
        self.rounds.tell(lambda: self.rounds.acknowledged.update({message: (recipient.id, text)}))
        return True

    def send(self, to: str, name: str, text: str) -> str | None:
        raise NotImplementedError


class HttpSender(Sender):
    def __init__(self, rounds: Rounds, seat: Any, to: list[Any], api: Any) -> None:
        super().__init__(rounds, seat, to)
        self.api = api

    def send(self, to: str, name: str, text: str) -> str | None:
        body = json.dumps({"to": [to], "subject": name, "message": text}).encode()
        try:
            if self.count % 3 == 1:
                self.hang_up(name, body)
            answer, told = self.ask(name, body, lambda: self.under_way(set.add))
        except BROKEN:
            return None
        finally:
            self.under_way(set.discard)
        assert answer.status == 200, told
        return str(json.loads(told)["id"])

    def ask(self, key: str, body: bytes, sent: Callable[[], None]) -> Any:
        return self.api.send("POST", "/api/mail", body, headers={"Idempotency-Key": key}, sent=sent)

    def hang_up(self, key: str, body: bytes) -> None:
        """Send a request and end the connection before the answer. The server may have carried out the request."""

        def go() -> None:
            raise HungUp

        with contextlib.suppress(HungUp):
            self.ask(key, body, go)

    def under_way(self, change: Callable[[set[str], str], None]) -> None:
        self.rounds.tell(lambda: change(self.rounds.under_way, self.seat.name))


class CommandSender(Sender):
    def send(self, to: str, name: str, text: str) -> str | None:
        words = ["mail", "send", to, "--subject", name, "--message", text, "--idempotency-key", name, "--json"]
        done = self.seat.server.run_command(*words, cwd=self.seat.folder, env=self.seat.env)
        assert done.returncode in (0, NO_SERVER), done
        return str(json.loads(done.stdout)["id"]) if done.returncode == 0 else None


class Reader(Worker):
    """Read mail with a client whose output goes to a file."""

    def __init__(self, rounds: Rounds, seat: Any, client: tuple[str, ...], file: Path, *words: str) -> None:
        super().__init__(rounds, seat)
        self.client = client
        self.file = file
        self.words = words

    def once(self, turn: int) -> bool:
        with self.file.open("ab") as out:
            process = self.seat.begin(*self.words, "--json", program=self.client, stdout=out)
            _, err = process.communicate(timeout=SECONDS_MAX)
        assert process.returncode in (0, TIMED_OUT, NO_SERVER), (process.returncode, err)
        return process.returncode != NO_SERVER

    def printed(self) -> dict[str, str]:
        """Return the text of each completely printed message. An incomplete line does not count."""
        found = {}
        for line in self.file.read_bytes().splitlines(keepends=True) if self.file.exists() else ():
            if line.endswith(b"\n"):
                found |= {one["id"]: one["body"] for one in json.loads(line)["messages"]}
        return found


class RawReader(Reader):
    """Read mail with frames, and store the mail before the confirmation."""

    def once(self, turn: int) -> bool:
        try:
            command = RawCommand(self.seat.server.home / SOCKET, *self.words, "--json", environment=self.seat.env)
        except OSError:
            return False
        try:
            asked = command.read_to(b"C")
            with self.file.open("ab") as out:
                out.write(command.out if asked is not None else b"")
            if asked is None or turn % 3 == 0:
                return True  # no mail came, or the server ended, or this client ends before the confirmation
            command.confirm_output()
            return command.read_to(b"X") is not None
        except OSError:
            return False
        finally:
            command.close_connection()


class RestReader(Reader):
    """Wait over HTTP. The cursor of the next call confirms the previous answer."""

    cursor = ""
    api: Any = None

    def once(self, turn: int) -> bool:
        body = json.dumps({"timeout": 500, "debounce": 20, "cursor": self.cursor}).encode()
        try:
            answer, told = self.api.send("POST", "/api/mail/wait", body)
        except BROKEN:
            return False
        if answer.status != 200:
            assert json.loads(told)["code"] == "timed_out", told
            self.cursor = ""
            return True
        with self.file.open("ab") as out:
            out.write(told + b"\n")
        self.cursor = json.loads(told)["cursor"]
        return True


def kill_while_busy(server: LiveServer, rounds: Rounds, *, after: int) -> None:
    """Kill the server while all senders wait for answers. A stop signal holds the server at an arbitrary point."""
    assert server.process is not None
    goal = len(rounds.acknowledged) + after
    rounds.wait_for(f"{after} answers", lambda: len(rounds.acknowledged) >= goal)
    os.kill(server.process.pid, signal.SIGSTOP)
    rounds.wait_for("every sender asking", lambda: len(rounds.under_way) == SENDERS)
    server.kill()
    server.start()

    def count() -> None:
        rounds.servers += 1

    rounds.tell(count)


def survive(server: LiveServer, workers: list[Worker], rounds: Rounds, *, times: int, after: int) -> None:
    for worker in workers:
        worker.thread.start()
    try:
        for turn in range(times):
            kill_while_busy(server, rounds, after=after + 7 * (turn % 5))  # at a different moment each time
    finally:
        rounds.tell(lambda: setattr(rounds, "over", True))
        if server.process is None or server.process.poll() is not None:
            server.start()
        for worker in workers:
            worker.thread.join(SECONDS_MAX)
    if rounds.problems:
        raise rounds.problems[0]


def read_the_rest(reader: Reader) -> None:
    for _ in range(TURNS_MAX):
        page = reader.seat.run("mail", "inbox")
        if not page["messages"]:
            return
        with reader.file.open("ab") as out:
            out.write(json.dumps(page).encode() + b"\n")


def assert_every_receipt_is_true(rounds: Rounds, readers: list[Reader], events: list[dict[str, Any]]) -> None:
    sent = Counter(event["data"]["subject"] for event in events if event["kind"] == "mail.sent")
    assert set(sent.values()) == {1}, "a message is stored twice"
    there = {event["subject"] for event in events if event["kind"] == "mail.sent"}
    assert set(rounds.acknowledged) <= there, "an acknowledged message is missing"
    printed = {(message, reader.seat.id): text for reader in readers for message, text in reader.printed().items()}
    read = Counter((event["subject"], event["data"]["mailbox"]) for event in events if event["kind"] == "mail.read")
    assert set(read.values()) == {1}, "a message was read twice"
    assert set(read) <= set(printed), "a message counts as read that no client printed"
    for message, (recipient, text) in rounds.acknowledged.items():
        assert (message, recipient) in read, f"{message} was never read"
        assert printed[message, recipient] == text


def assert_keys_still_answer(senders: list[Worker], rounds: Rounds) -> None:
    """Assert that a repeated key gives the first message, also from a server that did not get the first request."""
    for sender in senders:
        if isinstance(sender, HttpSender):
            sender.count -= 1
            before = dict(rounds.acknowledged)
            assert sender.once(0), "no server answers"
            assert rounds.acknowledged == before


@pytest.fixture
def busy_office(live: LiveServer, make_office: Callable[..., Any]) -> Any:
    """Provide an office without rate limits for mail."""
    live.stop()
    rates = ("mail_per_minute", "family_mail_per_minute", "project_mail_per_minute")
    (live.home / SETTINGS).write_text("".join(f"{name} = 0\n" for name in rates))
    live.start()
    return make_office(live)


@pytest.fixture
def relay(live: LiveServer) -> Iterator[FrameRelay]:
    with tempfile.TemporaryDirectory(prefix="maestro-") as folder:
        made = FrameRelay(Path(folder) / "relay.sock", live.home / SOCKET)
        made.start_listening()
        yield made
        made.stop_listening()


def play(office: Any, relay: FrameRelay, clients: dict[str, Any], connect: Any, folder: Path, **how: int) -> None:
    rounds, native = Rounds(), clients.get("native", clients["python"])
    wait = ("mail", "wait", "--timeout", "1s", "--debounce", "20ms")
    readers = [
        Reader(rounds, office.join("waits"), clients["python"], folder / "waits", *wait),
        Reader(rounds, office.join("waits-natively"), native, folder / "waits-natively", *wait),
        Reader(rounds, office.join("reads"), native, folder / "reads", "mail", "inbox"),
        RawReader(rounds, office.join("dies"), (), folder / "dies", "mail", "inbox"),
        RestReader(rounds, office.join("calls"), (), folder / "calls"),
    ]
    readers[-1].api = connect(office.server, readers[-1].seat.token)  # type: ignore[attr-defined]
    to = [reader.seat for reader in readers]
    senders: list[Worker] = [CommandSender(rounds, office.join("typist"), to)]
    for number in range(SENDERS):
        seat = office.join(f"s{number}")
        senders.append(HttpSender(rounds, seat, to, connect(office.server, seat.token)))
    patient = {name: office.join(f"patient-{name}") for name in clients}
    waiters = {
        name: seat.begin("mail", "wait", "--json", program=clients[name], env={"MAESTRO_SOCKET": str(relay.path)})
        for name, seat in patient.items()
    }
    try:
        relay.wait_for_frames(b"W", len(waiters))
        survive(office.server, [*senders, *readers], rounds, **how)
        assert_keys_still_answer(senders, rounds)
        for reader in readers:
            read_the_rest(reader)
        assert_every_receipt_is_true(rounds, readers, connect(office.server).events())
        for name, seat in patient.items():
            assert waiters[name].poll() is None, "the wait must survive each kill"
            office.send(seat.name, f"for {name}")
            out, err = waiters[name].communicate(timeout=SECONDS_MAX)
            assert waiters[name].returncode == 0, err
            assert [one["subject"] for one in json.loads(out)["messages"]] == [f"for {name}"]
    finally:
        for process in waiters.values():
            if process.poll() is None:
                process.kill()
            process.communicate()


def test_five_kills_lose_and_repeat_no_message(
    busy_office: Any, relay: FrameRelay, clients: Any, connect: Any, tmp_path: Path
) -> None:
    play(busy_office, relay, clients, connect, tmp_path, times=5, after=40)


@pytest.mark.slow
@pytest.mark.rounds
@pytest.mark.timeout(600)
def test_many_kills_lose_and_repeat_no_message(
    busy_office: Any, relay: FrameRelay, clients: Any, connect: Any, tmp_path: Path
) -> None:
    count = round_tests.round_count(15, full=50)
    play(busy_office, relay, clients, connect, tmp_path, times=count, after=40)
    round_tests.report_rounds("mail kills", count, lost=0, twice=0)
