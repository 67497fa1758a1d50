"""The repository of disk space: the store releases free pages in small portions."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.documents import Document, StoredContent
from maestro.store.base import Store, Tx
from maestro.testing.factories import make_task

_BYTES = 1_000_000


async def test_free_pages_are_released_in_limited_portions(store: Store) -> None:
    task = make_task()

    def fill(tx: Tx) -> None:
        tx.tasks.insert(task)
        document = Document("doc_1", task.id, "t", "f", _BYTES, "s", "dana", tx.at)
        tx.documents.insert(document, StoredContent(b"x" * _BYTES, None, _BYTES, "s"))

    await store.write(fill)
    full = await store.read(lambda tx: tx.space.page_usage())
    assert full.can_shrink and 0 <= full.free < full.total
    await store.write(lambda tx: tx.tasks.delete(task.id))
    freed = await store.read(lambda tx: tx.space.page_usage())
    assert freed.free > limits.released_pages_at_once
    await store.write(lambda tx: tx.space.release_pages())
    after = await store.read(lambda tx: tx.space.page_usage())
    assert freed.free - after.free == freed.total - after.total == limits.released_pages_at_once
