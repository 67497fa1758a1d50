"""Reading a mailbox with a million messages costs about as much as reading a small mailbox.

The tests measure no time. They count the steps of the database and check the index that it uses.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from maestro.core import ids, limits
from maestro.domain.callers import Caller
from maestro.domain.messages import Message, Sender, SenderKind
from maestro.domain.priorities import Priority
from maestro.domain.sessions import SessionStatus
from maestro.operations import mail, sessions
from maestro.operations import mail_shapes as shapes
from maestro.server.app import Server
from maestro.services.mail import reading
from maestro.services.mail.create import inline_body
from maestro.services.recovery.ended_mailboxes import EndedMailboxJob
from maestro.store import statements
from maestro.store.base import Repositories, Tx
from maestro.store.layout import DATABASE
from maestro.store.repositories.deliveries import MessageFilter
from maestro.store.sqlite.connection import SqliteRows, connect_reader
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_message

FEW = 1_000
BATCH = 10_000
EVERYTHING = MessageFilter()
# The permitted growth of the number of steps: index trees get one or two levels more.
RATIO_MAX = 1.5
Join = Callable[..., Any]


class Steps:
    """Count the steps of the database."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.connection = connect_reader(server.home / DATABASE)
        self.repositories = Repositories(SqliteRows(self.connection))

    def of(self, work: Callable[[Tx], Any]) -> int:
        count = 0

        def step() -> int:
            nonlocal count
            count += 1
            return 0

        tx = Tx(self.repositories, self.server.clock.now())
        work(tx)  # the first call also prepares statements
        self.connection.set_progress_handler(step, 1)
        work(tx)
        self.connection.set_progress_handler(None, 1)
        return count


@pytest.fixture
def steps(server: Server) -> Iterator[Steps]:
    counting = Steps(server)
    yield counting
    counting.connection.close()


@pytest.fixture
async def fill(server: Server, vc: str, clock: FakeClock) -> Callable[..., Any]:
    """Return a function that puts unread messages into a mailbox."""
    sender = Sender(SenderKind.PERSON, "dana", "dana", None, "dana", "vc")

    body = "a body of some length, as bodies go"

    def letter(seq: int) -> Message:
        new = ids.new_id("msg", clock.now())
        values = {"subject": "one of many", "body": body, "sender": sender, "to": ["w"], "created_at": clock.now()}
        return make_message(id=new, seq=seq, thread_id=new, **values)

    async def put(mailbox: str, count: int) -> None:
        def write(tx: Tx) -> None:
            for _ in range(min(count, BATCH)):
                one = letter(tx.mail.next_seq())
                tx.mail.insert(one, inline_body(body), project_id=vc)
                tx.deliveries.insert(
                    mailbox, one.seq, priority=one.priority, type=one.type, project_id=vc, reason=None
                )

        for _ in range(0, count, BATCH):
            await server.store.write(write)

    return put


def looks(caller: Caller) -> dict[str, Callable[[Tx], Any]]:
    """Return the queries that `inbox`, `wait` and `whoami` run."""
    own, urgent = caller.session_id or "", MessageFilter(priority=Priority.HIGH)
    return {
        "inbox": lambda tx: reading.find_unread(tx, caller, EVERYTHING, limit=limits.page_items_default + 1),
        "later page": lambda tx: reading.find_unread(tx, caller, EVERYTHING, cursor=f"2.{FEW // 2}", limit=51),
        "wait": lambda tx: reading.find_unread(tx, caller, EVERYTHING, limit=limits.wait_messages_max),
        "wait for what is urgent": lambda tx: reading.find_unread(tx, caller, urgent, limit=limits.wait_messages_max),
        "count": lambda tx: tx.deliveries.count_open(own, reader=own),
        "history": lambda tx: tx.deliveries.list_all(own, wanted=EVERYTHING, before=2**62, limit=51),
    }


async def compare(server: Server, steps: Steps, join: Join, fill: Any, *, many: int) -> None:
    few, lot = await join("few"), await join("lot")
    await fill(few.session_id, FEW)
    small_ones = {name: steps.of(look) for name, look in looks(few).items()}
    await fill(lot.session_id, many)
    large_ones = {name: steps.of(look) for name, look in looks(lot).items()}
    assert all(count > 0 for count in small_ones.values())
    for name, count in large_ones.items():
        assert count <= RATIO_MAX * small_ones[name] + 100, f"{name}: {count} steps, not {small_ones[name]}"
    # The operations return full pages, and a wait with unread mail answers at once.
    page = await server.call(mail.INBOX, shapes.ReadInbox(), caller=lot)
    assert len(page.messages) == limits.page_items_default and page.more
    answer = await server.call(mail.WAIT, shapes.WaitMail(cursor=page.cursor), caller=lot)
    assert len(answer.messages) == limits.wait_messages_max
    assert not {one.id for one in answer.messages} & {one.id for one in page.messages}
    # A wait for critical mail finds the message among all others.
    urgent = shapes.SendMail(to=["lot"], subject="urgent", message="", priority=Priority.CRITICAL)
    await server.call(mail.SEND, urgent, caller=few)
    answer = await server.call(mail.WAIT, shapes.WaitMail(priority=Priority.CRITICAL), caller=lot)
    assert [one.subject for one in answer.messages] == ["urgent"]


async def test_a_mailbox_with_twenty_thousand_messages_is_read_as_cheaply_as_a_small_mailbox(
    server: Server, steps: Steps, join: Join, fill: Any
) -> None:
    await compare(server, steps, join, fill, many=2 * BATCH)


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_a_mailbox_with_a_million_messages_is_read_as_cheaply_as_a_small_mailbox(
    server: Server, steps: Steps, join: Join, fill: Any
) -> None:
    await compare(server, steps, join, fill, many=100 * BATCH)


INBOX_PARAMETERS = ["mailbox", "after_priority", "after_seq", "type", "priority", "task_id", "sender_kind", "limit"]


@pytest.mark.parametrize("name", ["inbox_open", "inbox_open_shared", "inbox_count", "inbox_has"])
def test_queries_for_open_mail_use_the_index_of_open_deliveries(server: Server, name: str) -> None:
    sql = statements.load("sqlite")[name]
    values = dict.fromkeys(INBOX_PARAMETERS, 1)
    with contextlib.closing(sqlite3.connect(server.home / DATABASE)) as database:
        plan = [
            row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {sql}", values | {"reader": 1, "body_chars": 1})
        ]
    told = "\n".join(plan)
    assert "INDEX deliveries_open (mailbox=?" in told, told
    assert "TEMP B-TREE" not in told and "SCAN d" not in told and "SCAN deliveries" not in told, told


async def test_unread_mail_of_an_ended_session_is_forwarded_in_bounded_rounds(
    server: Server, dana: Caller, join: Join, fill: Any, steps: Steps
) -> None:
    """The session of a large mailbox ends. Each round forwards a part of its mail to the person."""
    await server.background_jobs.close()
    gone, many = await join("gone"), 3 * limits.job_batch_rows_max + 7
    await fill(gone.session_id, FEW)
    await fill(gone.session_id, many - FEW)
    await server.call(sessions.END, sessions.EndSession(id=gone.session_id), caller=dana)
    job, moved = EndedMailboxJob(server.store), 0
    for _ in range(10):
        due = await job.run_once()
        tx = Tx(steps.repositories, server.clock.now())
        now = len(tx.deliveries.list_offered("human", reader="human", wanted=EVERYTHING, limit=10 * many))
        assert now - moved <= limits.job_batch_rows_max
        moved = now
        if due is None:
            break
    assert moved == many
    assert await server.store.read(lambda tx: tx.sessions.list_with_unsettled_mail(limit=1)) == []
    ended = await server.store.read(lambda tx: tx.sessions.get(gone.session_id))
    assert ended is not None and ended.status is SessionStatus.STOPPED


async def test_all_threads_that_an_ended_session_claimed_are_offered_again(
    server: Server, dana: Caller, vc: str, join: Join, fill: Any
) -> None:
    """The session has claimed more threads than one batch."""
    holder, other, many = await join("holder"), await join("other"), limits.job_batch_rows_max + 7
    await fill(vc, many)

    def claim(tx: Tx) -> None:
        for message in tx.deliveries.list_offered(vc, reader=other.name, wanted=EVERYTHING, limit=2 * many):
            assert tx.deliveries.claim_thread(message.thread_id, holder.name, at=tx.at)

    def on_offer(tx: Tx) -> int:
        return len(tx.deliveries.list_offered(vc, reader=other.name, wanted=EVERYTHING, limit=2 * many))

    await server.store.write(claim)
    assert await server.store.read(on_offer) == 0
    await server.call(sessions.END, sessions.EndSession(id=holder.session_id), caller=dana)
    assert await server.store.read(on_offer) == many
