"""One server in this process, a coordinator, three workers and a person who write to each other, beside a model.

The server's loop is a virtual one: time passes only when nothing is left to do. After each step the inboxes, the
receipts and every waiter must agree with the model.
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
from maestro.domain.callers import Caller, person
from maestro.domain.messages import Scope
from maestro.domain.projects import Project
from maestro.domain.sessions import Mode
from maestro.domain.tasks import Priority
from maestro.operations import mail, members, sessions, tasks
from maestro.operations import mail_shapes as shapes
from maestro.operations.task_shapes import CreateTask
from maestro.server.app import Server
from maestro.testing.mail_model import Letter, MailModel
from maestro.testing.virtual import LoopClock, VirtualLoop

T = TypeVar("T")
VC = "prj_00000000000000000000000000"
SEATS = ("lead", "w1", "w2", "w3")
OF_ADA = ("w1", "w2")
PRIORITIES = [priority.value for priority in Priority]
RANKS = {priority: rank for rank, priority in enumerate(Priority)}
TO = ["lead", "w1", "w2", "w3", "@ada", "vc", "vc", "#1", "#1", "#1"]
LONG = 3600.0
# Long enough for whatever follows at once, and much less than any time that a rule gives.
MOMENT = 0.001
FOLDER = "/dev/shm" if Path("/dev/shm").is_dir() else None
DANA = person("dana")


class Disk(Protocol):
    """Reads what is stored, past the server."""

    def messages(self, home: Path) -> list[tuple[int, str, str, str, int, str]]:
        """Number, id, conversation, sender, urgency and subject of each."""

    def deliveries(self, home: Path) -> list[tuple[str, str, str]]:
        """Box, message and status of each."""


@dataclass
class Waiter:
    """One `mail wait`, and since when nothing new has come for it."""

    seat: str
    count: int
    debounce: float
    rank: int
    until: float
    call: asyncio.Task[shapes.Inbox]
    known: set[str] = field(default_factory=set)
    quiet_since: float = -LONG


class Machine:
    """One server, a coordinator, three workers and the person. Each rule's arguments are plain values."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.folder = tempfile.TemporaryDirectory(dir=FOLDER)
        self.runner = asyncio.Runner(loop_factory=VirtualLoop)
        loop = self.runner.get_loop()
        assert isinstance(loop, VirtualLoop)
        self.loop = loop
        self.model = MailModel(VC)
        self.waiters: list[Waiter] = []
        self.answers: dict[str, list[shapes.Inbox]] = {seat: [] for seat in SEATS}
        self.ids: dict[str, str] = {}
        self.tokens: dict[str, str] = {}
        self.lives = self.sent = 0
        self.in_two = False  # whether the last step changed the boxes twice, so that an answer could fall between
        self.home = Path(self.folder.name) / "0"
        self.home.mkdir()
        self.run(self.begin())

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

    async def begin(self) -> None:
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
            mode=Mode.COORDINATE if seat == "lead" else Mode.EXECUTE,
            member="ada" if seat in OF_ADA else None,
            parent=None if seat == "lead" else "lead",
        )
        made = await self.server.call(sessions.REGISTER, request, caller=DANA)
        self.ids[seat], self.tokens[seat] = made.id, made.token
        self.model.boxes[made.id] = [made.id, *([self.ada] if seat in OF_ADA else []), VC]

    async def caller(self, seat: str) -> Caller:
        return DANA if seat == "dana" else await self.server.identify(token=self.tokens[seat], peer=None)

    async def call(self, seat: str, operation: Any, request: Any, *, key: str = "") -> Any:
        return await self.server.call(operation, request, caller=await self.caller(seat), key=key)

    def any_letter(self, index: int) -> str | None:
        return list(self.model.letters)[index % len(self.model.letters)] if self.model.letters else None

    # The rules of the game.

    def send(self, seat: str, to: list[str], priority: str, about: bool) -> None:
        self.sent += 1
        self.took_in(self.run(self.call(seat, mail.SEND, self.letter(to, priority, about=about))))

    def broadcast(self, scope: str, priority: str) -> None:
        self.sent += 1
        request = shapes.Broadcast(
            scope=Scope(scope), subject=f"m{self.sent}", message="text", priority=Priority(priority)
        )
        self.took_in(self.run(self.call("lead", mail.BROADCAST, request)))

    def letter(self, to: list[str], priority: str, *, about: bool = False) -> shapes.SendMail:
        return shapes.SendMail(
            project=VC,
            to=to,
            subject=f"m{self.sent}",
            message="text",
            priority=Priority(priority),
            task="#1" if about else None,
        )

    def took_in(self, sent: shapes.SentMail) -> None:
        self.absorb()
        assert sent.id in self.model.letters

    def absorb(self) -> None:
        """What has been stored since: by whom it is, and in which boxes it lies."""
        known = set(self.model.letters)
        for seq, message, thread, sender, rank, _ in self.disk.messages(self.home):
            if message not in known:
                self.model.letters[message] = Letter(seq, thread, sender, rank)
        for box, message, _ in self.disk.deliveries(self.home):
            if message not in known:
                self.model.status[box, message] = "sent"

    def wait(self, seat: str, count: int, debounce: float, priority: str, timeout: float, confirm: bool) -> None:
        cursor = self.last_receipt(seat) if confirm else ""
        if cursor:
            self.model.confirm(self.ids[seat], [message.id for message in self.answers[seat].pop().messages])
        self.listen(seat, count, debounce, Priority(priority), self.loop.time() + timeout, cursor)

    def listen(self, seat: str, count: int, debounce: float, least: Priority, until: float, cursor: str = "") -> None:
        request = shapes.WaitMail(
            project=VC,
            count=count,
            debounce=int(debounce * 1000),
            priority=least,
            timeout=int((until - self.loop.time()) * 1000),
            cursor=cursor,
        )
        call = self.loop.create_task(self.call(seat, mail.WAIT, request))
        known = set(self.model.offered(self.ids[seat], rank=RANKS[least]))
        self.waiters.append(Waiter(seat, count, debounce, RANKS[least], until, call, known))

    def stop_waiting(self, index: int) -> None:
        if self.waiters:
            self.waiters.pop(index % len(self.waiters)).call.cancel()

    def inbox(self, seat: str, confirm: bool) -> None:
        cursor = self.last_receipt(seat) if confirm else ""
        if cursor:
            self.model.confirm(self.ids[seat], [message.id for message in self.answers[seat].pop().messages])
        page = self.run(self.call(seat, mail.INBOX, shapes.ReadInbox(project=VC, cursor=cursor, limit=3)))
        assert [one.id for one in page.messages] == self.model.offered(self.ids[seat])[:3]
        if page.messages:
            self.answers[seat].append(page)

    def last_receipt(self, seat: str) -> str:
        return self.answers[seat][-1].receipt if self.answers[seat] else ""

    def confirm(self, seat: str, index: int) -> None:
        """Also long after it was shown, and again."""
        if self.answers[seat]:
            shown = self.answers[seat][index % len(self.answers[seat])]
            self.run(self.call(seat, mail.CONFIRM, shapes.Confirm(receipt=shown.receipt)))
            self.model.confirm(self.ids[seat], [message.id for message in shown.messages])

    def acknowledge(self, seat: str, index: int) -> None:
        here = self.model.offered(self.ids[seat])
        if here:
            message = here[index % len(here)]
            self.run(self.call(seat, mail.ACK, shapes.Acknowledge(ids=[message])))
            self.model.acknowledge(self.ids[seat], message)

    def claim(self, seat: str, index: int) -> None:
        message = self.any_letter(index)
        if message is None:
            return
        thread = self.model.letters[message].thread
        held = self.model.claims.get(thread, self.ids[seat])
        has_come = self.model.has_come(self.ids[seat], thread)
        try:
            self.run(self.call(seat, mail.CLAIM, shapes.OneThread(id=message)))
        except errors.NotPermitted:
            assert not has_come, "a conversation that came to it was refused"
        except errors.Conflict:
            assert held != self.ids[seat], "a conversation that was free was refused"
        else:
            assert has_come, "a conversation was given to whom it never came"
            assert held == self.ids[seat], "a conversation was given to two"
            self.model.claims[thread] = held

    def release(self, index: int, by_person: bool) -> None:
        if self.model.claims:
            thread = list(self.model.claims)[index % len(self.model.claims)]
            holder = next(seat for seat in SEATS if self.ids[seat] == self.model.claims[thread])
            message = next(one for one, letter in self.model.letters.items() if letter.thread == thread)
            self.run(self.call("dana" if by_person else holder, mail.RELEASE, shapes.OneThread(id=message)))
            self.model.release(thread)

    def end_session(self, seat: str) -> None:
        """What it had claimed is free, what it had not read goes to its coordinator, and another takes its seat."""
        own = [waiter for waiter in self.waiters if waiter.seat == seat]
        self.run(self.call("dana", sessions.END, sessions.EndSession(id=self.ids[seat])))
        self.absorb()
        self.model.end(self.ids[seat], goes_to=self.ids["lead"])
        self.answers[seat].clear()
        self.run(asyncio.sleep(MOMENT))
        for waiter in own:
            assert isinstance(waiter.call.exception(), errors.NotAuthenticated), "it waits for what cannot come"
            self.waiters.remove(waiter)
        self.in_two = True
        self.run(self.register(seat))

    def pass_time(self, seconds: float) -> None:
        self.run(asyncio.sleep(seconds))

    def kill(self, sends: int, turns: int) -> None:
        """The server is gone at some moment of a send or two; what is on its disk is all that is left of it."""
        wanted = []
        for number in range(sends):
            self.sent += 1
            wanted.append((self.letter([SEATS[number], "vc"], "normal"), f"key-{self.sent}"))
        calls = [self.loop.create_task(self.call("dana", mail.SEND, one, key=key)) for one, key in wanted]
        self.run(some_turns(turns))
        told = [call.result().id if call.done() else None for call in calls]
        answered = [waiter for waiter in self.waiters if waiter.call.done()]
        lost = [waiter for waiter in self.waiters if not waiter.call.done()]
        self.lives += 1
        home = self.home.with_name(str(self.lives))
        shutil.copytree(self.home, home, ignore=shutil.ignore_patterns("*-shm"))
        self.run(bury(self.server, [*calls, *(waiter.call for waiter in lost)]))
        self.home = home
        self.run(self.open())
        for (request, key), first in zip(wanted, told, strict=True):
            again = self.run(self.call("dana", mail.SEND, request, key=key))
            assert first in (None, again.id), "an acknowledged message is gone, or there twice"
        self.absorb()
        self.come_back(answered, lost)

    def come_back(self, answered: list[Waiter], lost: list[Waiter]) -> None:
        """Clients that lose their server while they wait ask again, for the time that is left."""
        self.waiters.clear()
        for waiter in answered:
            answer = waiter.call.result()
            assert {one.id for one in answer.messages} <= set(self.model.offered(self.ids[waiter.seat]))
            self.answers[waiter.seat].append(answer)
        for waiter in lost:
            if waiter.until > self.loop.time():
                least = list(Priority)[waiter.rank]
                self.listen(waiter.seat, waiter.count, waiter.debounce, least, waiter.until)

    # What must hold after each step.

    def check(self) -> None:
        self.run(asyncio.sleep(MOMENT))
        for seat in SEATS:
            page = self.run(self.call(seat, mail.INBOX, shapes.ReadInbox(project=VC, peek=True, limit=500)))
            assert [one.id for one in page.messages] == self.model.offered(self.ids[seat]), f"the inbox of {seat}"
        read = {(box, message) for box, message, status in self.disk.deliveries(self.home) if status == "read"}
        assert read == {place for place, status in self.model.status.items() if status == "read"}
        subjects = [row[-1] for row in self.disk.messages(self.home) if row[-1].startswith("m")]
        assert len(subjects) == len(set(subjects)) == self.sent
        for waiter in list(self.waiters):
            self.check_waiter(waiter)
        self.in_two = False

    def check_waiter(self, waiter: Waiter) -> None:
        now, there = self.loop.time(), self.model.offered(self.ids[waiter.seat], rank=waiter.rank)
        if set(there) - waiter.known:
            waiter.quiet_since = now
        waiter.known = set(there)
        urgent = bool(there) and self.model.letters[there[0]].rank == 0
        # Whoever names a number wants so many and not a moment later; whoever names none wants the whole burst.
        quiet = waiter.count > 1 or waiter.debounce < MOMENT or now > waiter.quiet_since + waiter.debounce
        told = f"{waiter} with {there} at {now}"
        if not waiter.call.done():
            assert not urgent and now <= waiter.until + MOMENT, told
            assert not (len(there) >= waiter.count and quiet), told
            return
        self.waiters.remove(waiter)
        try:
            answer = waiter.call.result()
        except errors.TimedOut:
            assert not there and now >= waiter.until, told
            return
        got = [one.id for one in answer.messages]
        assert got and got == ([one for one in there if one in got] if self.in_two else there), told
        assert len(there) >= waiter.count or urgent or now >= waiter.until, told
        self.answers[waiter.seat].append(answer)


async def some_turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def bury(server: Server, calls: list[asyncio.Task[Any]]) -> None:
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    await server.close()
