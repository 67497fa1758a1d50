"""The repository of mail: every field of a message, lists, visibility, full-text search and retention."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta

import msgspec
import pytest

from maestro.core import errors, limits
from maestro.domain.documents import StoredContent
from maestro.domain.messages import Attachment, BroadcastScope, MessageType, ReceiptStep
from maestro.domain.priorities import Priority
from maestro.services.cursors import NEWEST
from maestro.store.base import Store, Tx
from maestro.store.repositories.deliveries import MessageFilter
from maestro.store.repositories.mail import SearchText
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_message, make_task

Send = Callable[..., Awaitable[int]]
VC, OTHER = "prj_00000000000000000000000000", "prj_00000000000000000000000001"


async def index(store: Store) -> None:
    """Add the words of all messages that are not in the search index yet."""

    def work(tx: Tx) -> None:
        found = tx.mail.list_unindexed(after=tx.mail.search_state()[0], limit=100)
        tx.mail.add_to_search_index([(words, words.body or "") for words in found])

    await store.write(work)


async def find(store: Store, query: str, *, before: int = NEWEST, limit: int = 10) -> list[int]:
    found = await store.read(lambda tx: tx.mail.search_messages(query, before=before, limit=limit))
    return [message.seq for message in found]


async def id_of(store: Store, seq: int) -> str:
    return (await store.read(lambda tx: tx.mail.get_head(seq)))[0]


async def test_a_stored_message_keeps_every_field(store: Store, clock: FakeClock) -> None:
    task = make_task(project_id=VC, number=1)
    first = make_message(
        id="msg_1",
        parent_id="msg_0",
        type=MessageType.QUERY,
        priority=Priority.CRITICAL,
        subject="Ünïcödé ✓",
        body="a\n\nb\x1b",
        to=["parser", "@ada"],
        task_id=task.id,
        task="vc#1",
        hops=3,
        scope=BroadcastScope.TEAM,
        attachments=[Attachment(f"att_{n}", "msg_1", name, 3, "abc") for n, name in ((1, "core ✓.log"), (2, "b"))],
        created_at=clock.now(),
    )
    data = first.body.encode()

    def work(tx: Tx) -> int:
        tx.tasks.insert(task)
        for attachment in first.attachments:
            tx.mail.insert_attachment(attachment, StoredContent(b"log", None, 3, "abc"))
        seq = tx.mail.next_seq()
        tx.mail.insert(first, StoredContent(data, None, len(data), ""), project_id=VC)
        for mailbox in ("ses_1", VC):
            values = {"priority": first.priority, "type": first.type, "project_id": VC, "reason": None}
            tx.deliveries.insert(mailbox, seq, **values)
        return seq

    assert await store.write(work) == first.seq
    assert await store.read(lambda tx: tx.mail.get(first.id)) == first
    assert await store.read(lambda tx: tx.mail.of_thread(first.thread_id, after=0, limit=9)) == [first]
    (received,) = await store.read(
        lambda tx: tx.deliveries.list_offered("ses_1", reader="", wanted=MessageFilter(), limit=9)
    )
    assert {name: getattr(received, name) for name in first.__struct_fields__} == msgspec.structs.asdict(first)
    last = await store.read(lambda tx: tx.mail.last_of_thread(first.thread_id))
    assert last == msgspec.structs.replace(first, body="")
    assert await store.read(lambda tx: (tx.mail.body_blob_of(first.id), tx.mail.last_of_thread("x"))) == (None, None)
    found = await store.read(lambda tx: tx.mail.get_attachment("att_1"))
    assert found is not None and found[1].body == b"log"
    assert await store.read(lambda tx: (tx.mail.get("msg_none"), tx.mail.get_attachment("att_none"))) == (None, None)


async def test_a_long_body_is_cut_in_lists_and_complete_in_the_message(store: Store, send: Send) -> None:
    body = "x" * (limits.inbox_body_chars_max + 1)
    seq = await send("ses_1", body=body)
    (listed,) = await store.read(
        lambda tx: tx.deliveries.list_offered("ses_1", reader="", wanted=MessageFilter(), limit=9)
    )
    assert listed.truncated and listed.body == body[:-1]
    message_id = await id_of(store, seq)
    whole = await store.read(lambda tx: tx.mail.get(message_id))
    assert whole is not None and whole.body == body and not whole.truncated
    exact = await send("ses_2", body=body[:-1])
    (listed,) = await store.read(
        lambda tx: tx.deliveries.list_offered("ses_2", reader="", wanted=MessageFilter(), limit=9)
    )
    assert (listed.seq, listed.truncated) == (exact, False)


async def test_messages_are_listed_by_thread_task_and_sender(store: Store, send: Send) -> None:
    one = await send("a", thread_id="msg_t", task_id="tsk_1", sender="ses_1")
    two = await send("b", thread_id="msg_t", sender="ses_2")
    three = await send("a", task_id="tsk_1", sender="ses_1")

    def look(tx: Tx) -> list[list[int]]:
        found = (
            tx.mail.of_thread("msg_t", after=0, limit=9),
            tx.mail.of_thread("msg_t", after=one, limit=9),
            tx.mail.of_task("tsk_1", before=NEWEST, limit=9),
            tx.mail.of_task("tsk_1", before=three, limit=9),
            tx.mail.of_sender("ses_1", before=NEWEST, limit=1),
        )
        return [[message.seq for message in page] for page in found]

    assert await store.read(look) == [[one, two], [two], [three, one], [one], [three]]
    assert await store.read(lambda tx: (tx.mail.thread_of_task("tsk_1"), tx.mail.thread_of_task("x"))) == (
        "msg_t",
        None,
    )


async def test_a_message_is_visible_in_the_projects_of_sender_and_recipients(store: Store, send: Send) -> None:
    ours = await id_of(store, await send("ses_1"))
    theirs = await id_of(store, await send("ses_1", project_id=OTHER))
    between = await send("ses_1", project_id=OTHER)
    reached = {"priority": Priority.NORMAL, "type": MessageType.QUERY, "project_id": VC, "reason": None}
    await store.write(lambda tx: tx.deliveries.insert(VC, between, **reached))
    both = await id_of(store, between)
    seen = await store.read(lambda tx: [tx.mail.is_visible(one, VC) for one in (ours, theirs, both, "msg_none")])
    assert seen == [True, False, True, False]


async def test_indexed_words_are_found_newest_message_first(store: Store, send: Send) -> None:
    one = await send("a", subject="Deadlock", body="in the pool")
    two = await send("a", subject="Pool", body="lock order matters")
    assert await find(store, '"pool"') == []
    assert await store.read(lambda tx: tx.mail.search_state()) == (0, two)
    await index(store)
    assert await store.read(lambda tx: tx.mail.search_state()) == (two, two)
    assert await find(store, '"pool"') == [two, one]
    assert await find(store, '"pool"', limit=1) == [two] and await find(store, '"pool"', before=two) == [one]
    assert await find(store, '"lock order"') == [two] and await find(store, '"dead"*') == [one]
    three = await send("a", body="pool again")
    assert [words.seq for words in await store.read(lambda tx: tx.mail.list_unindexed(after=two, limit=9))] == [three]


async def test_a_search_can_be_limited_to_the_projects_of_a_message(store: Store, send: Send) -> None:
    await send("a", project_id=VC, body="alpha")
    await send("human", project_id=None, body="alpha")
    await index(store)
    assert await find(store, f'scope : "{VC}" AND "alpha"') == [1]
    assert await find(store, f'scope : "{OTHER}" AND "alpha"') == []


async def test_a_deleted_message_leaves_no_rows_and_no_words(store: Store, send: Send, clock: FakeClock) -> None:
    old = await send("ses_1", VC, subject="Deadlock", body="pool")
    kept = await send("ses_1", subject="Deadlock")
    old_id, kept_id = await id_of(store, old), await id_of(store, kept)

    def mark(tx: Tx) -> None:
        for attachment_id, message_id in (("att_old", old_id), ("att_kept", kept_id)):
            tx.mail.insert_attachment(
                Attachment(attachment_id, message_id, "f", 1, ""), StoredContent(b"f", None, 1, "")
            )
        for mailbox in ("ses_1", VC):
            tx.deliveries.apply_step(ReceiptStep.READ, mailbox, old, via="test", by="ses_1", at=tx.at)
        tx.deliveries.record_shared_read("ses_1", VC, old, at=tx.at)
        tx.deliveries.claim_thread(old_id, "ses_1", at=tx.at)

    await store.write(mark)
    await index(store)
    clock.advance(10)

    def aged(tx: Tx) -> list[tuple[int, str]]:
        return tx.mail.list_old(after=0, before=tx.at, limit=9)

    assert await store.read(aged) == [(old, old_id)]  # the newest stays: no sequence number is used twice
    assert await store.read(
        lambda tx: tx.mail.has_open_delivery(old)
    )  # a project's delivery stays open until it is acknowledged
    await store.write(
        lambda tx: tx.deliveries.apply_step(ReceiptStep.ACKNOWLEDGED, VC, old, via="test", by="x", at=tx.at)
    )
    assert not await store.read(lambda tx: tx.mail.has_open_delivery(old))
    (words,) = await store.read(lambda tx: tx.mail.indexed_texts([old]))
    assert words == SearchText(old, words.scope, "Deadlock", "pool", None) and VC in words.scope
    await store.write(lambda tx: tx.mail.delete(words, old_id, body="pool", is_indexed=True))

    assert await find(store, '"deadlock"') == [kept] and await find(store, '"pool"') == []
    assert await store.read(lambda tx: tx.mail.get(old_id)) is None
    assert await store.read(lambda tx: (tx.deliveries.of_message(old), tx.mail.get_attachment("att_old"))) == (
        [],
        None,
    )
    assert await store.read(lambda tx: tx.deliveries.thread_holder(old_id)) is None
    assert await store.read(lambda tx: tx.mail.get_attachment("att_kept")) is not None
    history = await store.read(
        lambda tx: tx.deliveries.list_all("ses_1", wanted=MessageFilter(), before=NEWEST, limit=9)
    )
    assert [message.seq for message in history] == [kept]
    assert await send("ses_1") == kept + 1


async def test_old_messages_are_listed_in_pages_without_the_newest(
    store: Store, send: Send, clock: FakeClock
) -> None:
    places = [await send("ses_1") for _ in range(4)]
    clock.advance(10)
    before = clock.now() - timedelta(seconds=5)
    assert [
        seq for seq, _ in await store.read(lambda tx: tx.mail.list_old(after=0, before=before, limit=2))
    ] == places[:2]
    assert [
        seq for seq, _ in await store.read(lambda tx: tx.mail.list_old(after=places[1], before=before, limit=9))
    ] == [places[2]]


async def test_a_claim_of_a_thread_stays_until_the_last_message_of_the_thread_is_deleted(
    store: Store, send: Send
) -> None:
    root = await send("a")
    root_id = await id_of(store, root)
    await send("a", thread_id=root_id)
    await store.write(lambda tx: tx.deliveries.claim_thread(root_id, "ses_1", at=tx.at))
    (words,) = await store.read(lambda tx: tx.mail.indexed_texts([root]))
    await store.write(lambda tx: tx.mail.delete(words, root_id, body="b", is_indexed=False))
    assert await store.read(lambda tx: tx.deliveries.thread_holder(root_id)) == "ses_1"


async def test_a_message_names_the_blob_with_the_body(store: Store, clock: FakeClock) -> None:
    message = make_message(body="the beginning", truncated=True, created_at=clock.now())
    content = StoredContent(None, "f" * 64, 70_000, "f" * 64)
    await store.write(lambda tx: tx.mail.insert(message, content, project_id=VC))
    assert await store.read(lambda tx: tx.mail.get(message.id)) == message
    assert await store.read(lambda tx: tx.mail.body_blob_of(message.id)) == "f" * 64
    assert await store.read(lambda tx: tx.documents.uses_blob("f" * 64))


async def test_a_rollback_frees_the_sequence_number(store: Store, send: Send) -> None:
    first = await send("ses_1")

    def insert_and_fail(tx: Tx) -> None:
        message = make_message(seq=tx.mail.next_seq())
        tx.mail.insert(message, StoredContent(b"b", None, 1, ""), project_id=VC)
        raise errors.Conflict("no")

    with pytest.raises(errors.Conflict):
        await store.write(insert_and_fail)
    assert await send("ses_1") == first + 1
