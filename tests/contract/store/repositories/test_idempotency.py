"""The repository of idempotency keys: the first response to each key of a caller."""

from __future__ import annotations

from datetime import datetime

import pytest

from maestro.core import errors
from maestro.store.base import Store
from maestro.testing.clock import FakeClock


async def store_response(store: Store, caller: str, key: str, *, at: datetime) -> None:
    await store.write(
        lambda tx: tx.idempotency.store_response(
            caller, key, operation="task.create", request="digest", response=b'{"a":"\xc3\xa9"}', at=at
        )
    )


async def test_a_response_belongs_to_a_caller_and_a_key(store: Store, clock: FakeClock) -> None:
    await store_response(store, "dana", "k", at=clock.now())
    stored = await store.read(lambda tx: tx.idempotency.get("dana", "k"))
    assert stored is not None
    assert (stored.operation, stored.request, stored.response) == ("task.create", "digest", b'{"a":"\xc3\xa9"}')
    assert await store.read(lambda tx: tx.idempotency.get("ses_1", "k")) is None
    assert await store.read(lambda tx: tx.idempotency.get("dana", "l")) is None


async def test_a_second_response_to_a_key_is_refused(store: Store, clock: FakeClock) -> None:
    await store_response(store, "dana", "k", at=clock.now())
    with pytest.raises(errors.StorageFailed):
        await store_response(store, "dana", "k", at=clock.now())


async def test_pruning_deletes_the_oldest_responses_up_to_the_limit(store: Store, clock: FakeClock) -> None:
    for key in "abc":
        clock.advance(1)
        await store_response(store, "dana", key, at=clock.now())
    assert await store.write(lambda tx: tx.idempotency.prune_old(before=clock.now(), limit=1)) == 1
    assert await store.read(lambda tx: tx.idempotency.get("dana", "a")) is None
    assert await store.write(lambda tx: tx.idempotency.prune_old(before=clock.now(), limit=9)) == 1
    assert await store.read(lambda tx: tx.idempotency.get("dana", "c")) is not None
