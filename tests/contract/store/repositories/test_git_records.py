"""The repository of git records: a record for each path."""

from __future__ import annotations

from maestro.domain.git_programs import GitRecord
from maestro.store.base import Store


def make_record(path: str, programs: frozenset[str]) -> GitRecord:
    return GitRecord(path=path, git_dir=f"{path}/.git", common_dir="/common ✓", programs=programs)


async def test_a_git_record_keeps_every_field_is_replaced_and_is_dropped(store: Store) -> None:
    first = make_record("/a", frozenset())
    second = make_record("/a", frozenset({"filter: x,y", "hook"}))
    for record in (first, second):
        await store.write(lambda tx, record=record: tx.git_records.put(record))
        assert await store.read(lambda tx: tx.git_records.get("/a")) == record
    await store.write(lambda tx: tx.git_records.drop("/a"))
    assert await store.read(lambda tx: tx.git_records.get("/a")) is None


async def test_git_records_are_listed_by_path_in_pages(store: Store) -> None:
    records = [make_record(path, frozenset({"p"})) for path in ("/a", "/b", "/c")]
    await store.write(lambda tx: [tx.git_records.put(record) for record in reversed(records)])
    assert await store.read(lambda tx: tx.git_records.list_page(after="", limit=9)) == records
    assert await store.read(lambda tx: tx.git_records.list_page(after="/a", limit=1)) == records[1:2]
