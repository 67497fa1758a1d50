"""A store with a million messages compared with a thousand, in process: send, inbox page, search; and a broadcast."""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from bench.report import Figure
from bench.store import ME, open_server
from maestro.domain.callers import Caller
from maestro.domain.messages import BroadcastScope, Message, MessageType, Sender, SenderKind
from maestro.domain.priorities import Priority
from maestro.operations import mail, sessions
from maestro.operations.mail_shapes import BroadcastMail, ReadInbox, SearchMail, SendMail
from maestro.server.app import Server
from maestro.services.mail.create import inline_body
from maestro.store.base import Tx
from maestro.store.repositories.mail import SearchText

SMALL, LARGE = 1_000, 1_000_000
_SESSIONS = 1_000
_AT_ONCE = 50_000
_PAGE = 50
_TEXTS = [
    f"A deadlock in {' '.join(f'word{number * step % 2_003}' for step in range(1, 9))}." for number in range(997)
]
_SENDER = Sender(SenderKind.PERSON, ME.name, ME.name, None, ME.human, None)


class Mailbag:
    """A server whose store holds many unread messages in the mailboxes of live sessions.

    Every message contains the word `deadlock`. A mailbox holds at least a page, so the small store fills few of them.
    """

    def __init__(self, server: Server, project: str) -> None:
        self.server = server
        self.project = project
        self.sessions: list[str] = []
        self.mailboxes: list[str] = []

    async def fill(self, size: int) -> None:
        self.sessions = await register(self.server, self.project, _SESSIONS)
        self.mailboxes = self.sessions[: size // _PAGE]
        for start in range(0, size, _AT_ONCE):
            numbers = range(start, min(start + _AT_ONCE, size))
            await self.server.store.write(lambda tx, numbers=numbers: self._insert(tx, numbers))
            print(f"\r  {numbers.stop:,} of {size:,} messages", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        await self._come_round()

    async def _come_round(self) -> None:
        """Write until SQLite starts the write-ahead log again. From then on the log does not grow."""
        for _ in range(60):
            await self.server.store.write(lambda tx: _keep_alive(tx, self.sessions))

    def _insert(self, tx: Tx, numbers: range) -> None:
        """Insert messages, words and deliveries, with the deliveries in the order of mailboxes, as on the disk."""
        found = [self._message(tx, number) for number in numbers]
        tx.mail.add_to_search_index([(words, words.body or "") for _, words in found])
        for mailbox, words in sorted(found, key=lambda one: (one[0], one[1].seq)):
            tx.deliveries.insert(
                mailbox,
                words.seq,
                priority=Priority.NORMAL,
                type=MessageType.DIRECTIVE,
                project_id=self.project,
                reason=None,
            )

    def _message(self, tx: Tx, number: int) -> tuple[str, SearchText]:
        mailbox, body = self.mailboxes[number % len(self.mailboxes)], _TEXTS[number % len(_TEXTS)]
        message_id = f"msg_{number:026}"
        message = Message(
            id=message_id,
            seq=tx.mail.next_seq(),
            thread_id=message_id,
            parent_id=None,
            type=MessageType.DIRECTIVE,
            priority=Priority.NORMAL,
            subject="Grammar changed",
            body=body,
            task_id=None,
            task=None,
            sender=_SENDER,
            to=[mailbox],
            scope=None,
            hops=0,
            created_at=tx.at,
        )
        tx.mail.insert(message, inline_body(body), project_id=self.project)
        return mailbox, SearchText(message.seq, f"{self.project} {self.project}", message.subject, body, None)

    async def send(self, chance: random.Random) -> None:
        await _call(self.server, mail.SEND, _letter_to(chance.choice(self.mailboxes)))

    async def inbox(self, chance: random.Random) -> None:
        reader = await caller(self.server, chance.choice(self.mailboxes))
        answer = await _call(self.server, mail.INBOX, ReadInbox(limit=_PAGE), reader)
        assert len(answer.messages) == _PAGE

    async def search(self, chance: random.Random) -> None:
        answer = await _call(self.server, mail.SEARCH, SearchMail(query="deadlock", project=self.project))
        assert len(answer.messages) == 20


async def large_store() -> list[Figure]:
    """Compare the same calls in both stores, alternating, at p50."""
    async with open_server() as few, open_server() as many:
        bags = {SMALL: Mailbag(*few), LARGE: Mailbag(*many)}
        for size, bag in bags.items():
            await bag.fill(size)
        return [
            await _compare("an inbox page (50 unread)", bags, Mailbag.inbox, at_most=4, rounds=200),
            await _compare(
                "a search for a word in every message, newest 20", bags, Mailbag.search, at_most=5, rounds=60
            ),
            await _compare("a send", bags, Mailbag.send, at_most=1.5, rounds=300),
        ]


async def broadcast() -> Figure:
    """Compare a message to a thousand workers with a message to a single worker."""
    many, one = [], []
    async with open_server() as (server, project):
        mailboxes = await register(server, project, _SESSIONS)
        commits: list[int] = []
        server.store.on_commit(lambda events: commits.append(len(events)))
        for mailbox in mailboxes[:40]:
            one.append(await _taken(_call(server, mail.SEND, _letter_to(mailbox))))
            commits.clear()
            many.append(await _taken(_broadcast(server, project)))
            assert commits == [1], "a broadcast is one transaction and one line in the log"
    p50_many, p50_one = statistics.median(many), statistics.median(one)
    note = f"p50 {p50_many * 1000:.1f} ms, {p50_one * 1000:.2f} ms a single one; one transaction"
    what = "a broadcast to 1,000 workers against a single send"
    return Figure(what, p50_many / p50_one, at_most=50, note=note)


async def register(server: Server, project: str, count: int) -> list[str]:
    """Register live sessions with a lease that is longer than the run, and return their ids."""
    made: list[str] = []
    for start in range(0, count, 64):
        requests = [
            sessions.RegisterSession(name=f"worker-{number}", project=project)
            for number in range(start, min(start + 64, count))
        ]
        made += [one.id for one in await asyncio.gather(*(_call(server, sessions.REGISTER, one) for one in requests))]
    await server.store.write(lambda tx: _keep_alive(tx, made))
    return made


def _keep_alive(tx: Tx, session_ids: list[str]) -> None:
    for session_id in session_ids:
        tx.sessions.defer_lease(session_id, lease_until=tx.at + timedelta(days=1))


async def caller(server: Server, session_id: str) -> Caller:
    found = await server.store.read(lambda tx: tx.sessions.live_caller(session_id), quick=True)
    assert found is not None
    return found


async def _compare(
    what: str,
    bags: dict[int, Mailbag],
    work: Callable[[Mailbag, random.Random], Awaitable[None]],
    *,
    at_most: float,
    rounds: int,
) -> Figure:
    times: dict[int, list[float]] = {size: [] for size in bags}
    chance = random.Random(7)
    for _ in range(rounds):
        for size, bag in bags.items():
            times[size].append(await _taken(work(bag, chance)))
    middle = {size: statistics.median(taken) for size, taken in times.items()}
    note = ", ".join(f"{size:,}: {taken * 1000:.2f} ms" for size, taken in middle.items())
    full = f"{what} with {LARGE:,} messages in the store against {SMALL:,}"
    return Figure(full, middle[LARGE] / middle[SMALL], at_most=at_most, note=note)


async def _broadcast(server: Server, project: str) -> None:
    letter = {"subject": "Freeze", "message": "No more pushes.", "project": project}
    answer = await _call(server, mail.BROADCAST, BroadcastMail(scope=BroadcastScope.ALL, **letter))
    assert len(answer.deliveries) == _SESSIONS


async def _call(server: Server, operation: Any, request: Any, who: Caller = ME) -> Any:
    return await server.call(operation, request, caller=who)


async def _taken(work: Awaitable[None]) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


def _letter_to(mailbox: str) -> SendMail:
    return SendMail(to=[mailbox], subject="Grammar changed", message="A deadlock. Rebase before you go on.")
