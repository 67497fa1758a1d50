"""Compare a real server with a model of mail: a coordinator, three workers and a person exchange messages.

The server runs in this process on a virtual loop: time passes only when no work is left. After each step the inboxes,
the receipts and every waiter must agree with the model.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from maestro.core import errors
from maestro.domain.callers import Caller, person_caller
from maestro.domain.messages import BroadcastScope
from maestro.domain.priorities import Priority
from maestro.domain.projects import Project
from maestro.domain.sessions import SessionMode
from maestro.operations import mail, members, sessions, tasks
from maestro.operations import mail_shapes as shapes
from maestro.operations.task_shapes import CreateTask
from maestro.server.app import Server
from maestro.testing.mail_model import MailModel, ModelMessage
from maestro.testing.virtual import LoopClock, VirtualLoop

T = TypeVar("T")
VC = "prj_00000000000000000000000000"
SEATS = ("lead", "w1", "w2", "w3")
ADAS_SEATS = ("w1", "w2")
PRIORITIES = [priority.value for priority in Priority]
RECIPIENTS = ["lead", "w1", "w2", "w3", "@ada", "vc", "vc", "#1", "#1", "#1"]
LONG_SECONDS = 3600.0
# Long enough for immediate consequences, and much shorter than any time in the rules.
MOMENT_SECONDS = 0.001
FOLDER = "/dev/shm" if Path("/dev/shm").is_dir() else None
DANA = person_caller("dana")


class StoredMail(Protocol):
    """Reads the stored data directly, without the server."""

    def messages(self, home: Path) -> list[tuple[int, str, str, str, int, str]]:
        """Return the sequence number, id, thread, sender, rank and subject of each message."""

    def deliveries(self, home: Path) -> list[tuple[str, str, str]]:
        """Return the mailbox, message and status of each delivery."""


@dataclass
class MailWaiter:
    """One `mail wait`, and the time since its last new message."""

    seat: str
    count: int
    debounce: float
    rank: int
    until: float
    call: asyncio.Task[shapes.InboxPage]
    known: set[str] = field(default_factory=set)
    quiet_since: float = -LONG_SECONDS


class MailMachine:
    """One server, a coordinator, three workers and the person. The arguments of each rule are plain values."""

    def __init__(self, disk: StoredMail) -> None:
        self.disk = disk
        self.folder = tempfile.TemporaryDirectory(dir=FOLDER)
        self.runner = asyncio.Runner(loop_factory=VirtualLoop)
        loop = self.runner.get_loop()
        assert isinstance(loop, VirtualLoop)
        self.loop = loop
        self.model = MailModel(VC)
        self.waiters: list[MailWaiter] = []
        self.answers: dict[str, list[shapes.InboxPage]] = {seat: [] for seat in SEATS}
        self.ids: dict[str, str] = {}
        self.tokens: dict[str, str] = {}
        self.lives = self.sent = 0
        # Whether the last step changed the mailboxes twice. An answer may fall between the changes.
        self.in_two = False
        self.home = Path(self.folder.name) / "0"
        self.home.mkdir()
        self.run(self.set_up())

    def run(self, work: Awaitable[T]) -> T:
        async def whole() -> T:
            return await work

        return self.runner.run(whole())

    def close(self) -> None:
        for waiter in self.waiters:
            waiter.call.cancel()
        self.run(self.server.close())
        self.runner.close()
        self.folder.cleanup()

    async def open(self) -> None:
        self.server = Server(self.home, clock=LoopClock(self.loop))
        self.loop.count_orders(self.server.store._writer._thread)

    async def set_up(self) -> None:
        await self.open()
        project = Project(VC, "path:/vc", "vc", [], self.server.clock.now())
        await self.server.store.write(lambda tx: tx.projects.insert(project))
        ada = members.CreateMember(project=VC, name="ada", role="tester")
        self.ada = (await self.server.call(members.CREATE, ada, caller=DANA)).id
        await self.server.call(tasks.CREATE, CreateTask(project=VC, title="t"), caller=DANA)
        for seat in SEATS:
            await self.register(seat)

    async def register(self, seat: str) -> None:
        request = sessions.RegisterSession(
            project=VC,
            name=seat,
            mode=SessionMode.COORDINATE if seat == "lead" else SessionMode.EXECUTE,
            member="ada" if seat in ADAS_SEATS else None,
            parent=None if seat == "lead" else "lead",
        )
        session = await self.server.call(sessions.REGISTER, request, caller=DANA)
        self.ids[seat], self.tokens[seat] = session.id, session.token
        self.model.mailboxes[session.id] = [session.id, *([self.ada] if seat in ADAS_SEATS else []), VC]

    async def caller(self, seat: str) -> Caller:
        return DANA if seat == "dana" else await self.server.identify(token=self.tokens[seat], peer=None)

    async def call(self, seat: str, operation: Any, request: Any, *, key: str = "") -> Any:
        return await self.server.call(operation, request, caller=await self.caller(seat), key=key)

    def any_message(self, index: int) -> str | None:
        return list(self.model.messages)[index % len(self.model.messages)] if self.model.messages else None

    # The rules of the state machine.

    def send(self, seat: str, to: list[str], priority: str, about: bool) -> None:
        self.sent += 1
        self.check_sent(self.run(self.call(seat, mail.SEND, self.mail_request(to, priority, about=about))))

    def broadcast(self, scope: str, priority: str) -> None:
        self.sent += 1
        request = shapes.BroadcastMail(
            scope=BroadcastScope(scope), subject=f"m{self.sent}", message="text", priority=Priority(priority)
        )
        self.check_sent(self.run(self.call("lead", mail.BROADCAST, request)))

    def mail_request(self, to: list[str], priority: str, *, about: bool = False) -> shapes.SendMail:
        return shapes.SendMail(
            project=VC,
            to=to,
            subject=f"m{self.sent}",
            message="text",
            priority=Priority(priority),
            task="#1" if about else None,
        )

    def check_sent(self, sent: shapes.SentMail) -> None:
        self.update_model()
        assert sent.id in self.model.messages

    def update_model(self) -> None:
        """Add messages and deliveries that were stored since the last call to the model."""
        known_messages = set(self.model.messages)
        for seq, message, thread, sender, rank, _ in self.disk.messages(self.home):
            if message not in known_messages:
                self.model.messages[message] = ModelMessage(seq, thread, sender, rank)
        for mailbox, message, _ in self.disk.deliveries(self.home):
            if message not in known_messages:
                self.model.status[mailbox, message] = "sent"

    def wait(self, seat: str, count: int, debounce: float, priority: str, timeout: float, confirm: bool) -> None:
        cursor = self.last_receipt(seat) if confirm else ""
        if cursor:
            self.model.confirm_messages(self.ids[seat], [message.id for message in self.answers[seat].pop().messages])
        self.start_wait(seat, count, debounce, Priority(priority), self.loop.time() + timeout, cursor)

    def start_wait(
        self, seat: str, count: int, debounce: float, least: Priority, until: float, cursor: str = ""
    ) -> None:
        request = shapes.WaitMail(
            project=VC,
            count=count,
            debounce=int(debounce * 1000),
            priority=least,
            timeout=int((until - self.loop.time()) * 1000),
            cursor=cursor,
        )
        call = self.loop.create_task(self.call(seat, mail.WAIT, request))
        known_messages = set(self.model.offered_messages(self.ids[seat], rank=least.rank))
        self.waiters.append(MailWaiter(seat, count, debounce, least.rank, until, call, known_messages))

    def stop_waiting(self, index: int) -> None:
        if self.waiters:
            self.waiters.pop(index % len(self.waiters)).call.cancel()

    def inbox(self, seat: str, confirm: bool) -> None:
        cursor = self.last_receipt(seat) if confirm else ""
        if cursor:
            self.model.confirm_messages(self.ids[seat], [message.id for message in self.answers[seat].pop().messages])
        page = self.run(self.call(seat, mail.INBOX, shapes.ReadInbox(project=VC, cursor=cursor, limit=3)))
        assert [message.id for message in page.messages] == self.model.offered_messages(self.ids[seat])[:3]
        if page.messages:
            self.answers[seat].append(page)

    def last_receipt(self, seat: str) -> str:
        return self.answers[seat][-1].receipt if self.answers[seat] else ""

    def confirm(self, seat: str, index: int) -> None:
        """Confirm an earlier answer, possibly late or repeatedly."""
        if self.answers[seat]:
            shown = self.answers[seat][index % len(self.answers[seat])]
            self.run(self.call(seat, mail.CONFIRM, shapes.ConfirmReceipt(receipt=shown.receipt)))
            self.model.confirm_messages(self.ids[seat], [message.id for message in shown.messages])

    def acknowledge(self, seat: str, index: int) -> None:
        offered = self.model.offered_messages(self.ids[seat])
        if offered:
            message = offered[index % len(offered)]
            self.run(self.call(seat, mail.ACK, shapes.AcknowledgeMail(ids=[message])))
            self.model.acknowledge_message(self.ids[seat], message)

    def claim(self, seat: str, index: int) -> None:
        message = self.any_message(index)
        if message is None:
            return
        thread = self.model.messages[message].thread
        held = self.model.claims.get(thread, self.ids[seat])
        has_come = self.model.has_received_thread(self.ids[seat], thread)
        try:
            self.run(self.call(seat, mail.CLAIM, shapes.OneThread(id=message)))
        except errors.NotPermitted:
            assert not has_come, "the server refused a thread that the session had received"
        except errors.Conflict:
            assert held != self.ids[seat], "the server refused a free thread"
        else:
            assert has_come, "the server gave a thread to a session that never received it"
            assert held == self.ids[seat], "the server gave one thread to two sessions"
            self.model.claims[thread] = held

    def release(self, index: int, by_person: bool) -> None:
        if self.model.claims:
            thread = list(self.model.claims)[index % len(self.model.claims)]
            holder = next(seat for seat in SEATS if self.ids[seat] == self.model.claims[thread])
            message = next(message for message, sent in self.model.messages.items() if sent.thread == thread)
            self.run(self.call("dana" if by_person else holder, mail.RELEASE, shapes.OneThread(id=message)))
            self.model.release_thread(thread)

    def end_session(self, seat: str) -> None:
        """End a session: free its claims, hand its unread mail to the coordinator, and register a new session."""
        own_waiters = [waiter for waiter in self.waiters if waiter.seat == seat]
        self.run(self.call("dana", sessions.END, sessions.EndSession(id=self.ids[seat])))
        self.update_model()
        self.model.end_session(self.ids[seat], goes_to=self.ids["lead"])
        self.answers[seat].clear()
        self.run(asyncio.sleep(MOMENT_SECONDS))
        for waiter in own_waiters:
            assert isinstance(waiter.call.exception(), errors.NotAuthenticated), (
                "an ended session still waits for mail"
            )
            self.waiters.remove(waiter)
        self.in_two = True
        self.run(self.register(seat))

    def pass_time(self, seconds: float) -> None:
        self.run(asyncio.sleep(seconds))

    def kill_server(self, sends: int, turns: int) -> None:
        """Kill the server during some sends, and continue with the state of its disk."""
        requests = []
        for number in range(sends):
            self.sent += 1
            requests.append((self.mail_request([SEATS[number], "vc"], "normal"), f"key-{self.sent}"))
        calls = [self.loop.create_task(self.call("dana", mail.SEND, request, key=key)) for request, key in requests]
        self.run(run_loop_turns(turns))
        answered_ids = [call.result().id if call.done() else None for call in calls]
        answered = [waiter for waiter in self.waiters if waiter.call.done()]
        lost = [waiter for waiter in self.waiters if not waiter.call.done()]
        self.lives += 1
        home = self.home.with_name(str(self.lives))
        shutil.copytree(self.home, home, ignore=shutil.ignore_patterns("*-shm"))
        self.run(close_killed_server(self.server, [*calls, *(waiter.call for waiter in lost)]))
        self.home = home
        self.run(self.open())
        for (request, key), first in zip(requests, answered_ids, strict=True):
            again = self.run(self.call("dana", mail.SEND, request, key=key))
            assert first in (None, again.id), "an acknowledged message is lost or stored twice"
        self.update_model()
        self.repeat_waits(answered, lost)

    def repeat_waits(self, answered: list[MailWaiter], lost: list[MailWaiter]) -> None:
        """Repeat the waits of clients that lost their server, for the remaining time."""
        self.waiters.clear()
        for waiter in answered:
            answer = waiter.call.result()
            assert {message.id for message in answer.messages} <= set(
                self.model.offered_messages(self.ids[waiter.seat])
            )
            self.answers[waiter.seat].append(answer)
        for waiter in lost:
            if waiter.until > self.loop.time():
                priority = next(priority for priority in Priority if priority.rank == waiter.rank)
                self.start_wait(waiter.seat, waiter.count, waiter.debounce, priority, waiter.until)

    # The checks after each step.

    def check_state(self) -> None:
        self.run(asyncio.sleep(MOMENT_SECONDS))
        for seat in SEATS:
            page = self.run(self.call(seat, mail.INBOX, shapes.ReadInbox(project=VC, peek=True, limit=500)))
            assert [message.id for message in page.messages] == self.model.offered_messages(self.ids[seat]), (
                f"the inbox of {seat}"
            )
        read = {
            (mailbox, message) for mailbox, message, status in self.disk.deliveries(self.home) if status == "read"
        }
        assert read == {delivery for delivery, status in self.model.status.items() if status == "read"}
        subjects = [row[-1] for row in self.disk.messages(self.home) if row[-1].startswith("m")]
        assert len(subjects) == len(set(subjects)) == self.sent
        for waiter in list(self.waiters):
            self.check_waiter(waiter)
        self.in_two = False

    def check_waiter(self, waiter: MailWaiter) -> None:
        now, offered = self.loop.time(), self.model.offered_messages(self.ids[waiter.seat], rank=waiter.rank)
        if set(offered) - waiter.known:
            waiter.quiet_since = now
        waiter.known = set(offered)
        urgent = bool(offered) and self.model.messages[offered[0]].rank == 0
        # A wait with a count ends at that count; a wait without a count ends at the end of the burst.
        quiet = waiter.count > 1 or waiter.debounce < MOMENT_SECONDS or now > waiter.quiet_since + waiter.debounce
        details = f"{waiter} with {offered} at {now}"
        if not waiter.call.done():
            assert not urgent and now <= waiter.until + MOMENT_SECONDS, details
            assert not (len(offered) >= waiter.count and quiet), details
            return
        self.waiters.remove(waiter)
        try:
            answer = waiter.call.result()
        except errors.TimedOut:
            assert not offered and now >= waiter.until, details
            return
        received = [message.id for message in answer.messages]
        assert received and received == (
            [message for message in offered if message in received] if self.in_two else offered
        ), details
        assert len(offered) >= waiter.count or urgent or now >= waiter.until, details
        self.answers[waiter.seat].append(answer)


async def run_loop_turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def close_killed_server(server: Server, calls: list[asyncio.Task[Any]]) -> None:
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    await server.close()
