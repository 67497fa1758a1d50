"""The repository of hooks: unconfirmed answers, and the last firing of each hook."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from maestro.core import limits
from maestro.domain.hooks import HookFiring
from maestro.domain.sessions import Session
from maestro.store.base import Store, Tx
from maestro.testing.clock import FakeClock


async def test_unconfirmed_answers_are_listed_in_the_order_of_time(
    store: Store, enter: Callable[..., Awaitable[Session]], clock: FakeClock
) -> None:
    session, other = await enter("w"), await enter("v")
    for receipt in ("b", "a", "b"):
        clock.advance(1)
        await store.write(lambda tx, receipt=receipt: tx.hooks.put_answer(session.id, receipt, at=tx.at))
    await store.write(lambda tx: tx.hooks.put_answer(other.id, "c", at=tx.at))

    async def answers(session: Session) -> list[str]:
        return await store.read(lambda tx: tx.hooks.answers_of(session.id))

    assert await answers(session) == ["b", "a"], "a repeated answer keeps its time"
    await store.write(lambda tx: tx.hooks.drop_answer(session.id, "b"))
    assert await answers(session) == ["a"]
    await store.write(lambda tx: tx.hooks.clear_answers(session.id))
    assert await answers(session) == [] and await answers(other) == ["c"]


async def test_the_list_of_unconfirmed_answers_has_a_limit(
    store: Store, enter: Callable[..., Awaitable[Session]], clock: FakeClock
) -> None:
    session = await enter("w")

    def put(tx: Tx) -> None:
        for number in range(limits.hook_answers_max + 1):
            tx.hooks.put_answer(session.id, f"r{number}", at=tx.at)

    await store.write(put)
    assert len(await store.read(lambda tx: tx.hooks.answers_of(session.id))) == limits.hook_answers_max


async def test_the_last_firing_and_the_last_failure_of_each_hook_are_kept(store: Store, clock: FakeClock) -> None:
    start = clock.now()
    await store.write(lambda tx: tx.hooks.record_firing("codex", "Stop", at=tx.at))
    await store.write(lambda tx: tx.hooks.record_failure("claude", "Stop", "no ✓", at=tx.at))
    clock.advance(1)
    await store.write(lambda tx: tx.hooks.record_failure("codex", "Stop", "late", at=tx.at))
    assert await store.read(lambda tx: tx.hooks.list_firings()) == [
        HookFiring("claude", "Stop", None, "no ✓", start),
        HookFiring("codex", "Stop", start, "late", clock.now()),
    ]
