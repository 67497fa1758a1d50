"""Record the repositories of checkouts, so that git runs only programs that were configured before any agent ran."""

from __future__ import annotations

import contextlib
import os
from functools import partial

from maestro.core import errors, limits
from maestro.domain import git_programs
from maestro.domain.callers import Caller
from maestro.domain.git_programs import GitRecord
from maestro.git import repositories
from maestro.git.repositories import RECORDS, Repository
from maestro.store.base import Store, Tx


async def load_records(store: Store) -> None:
    """Load all stored records into memory. Record the checkouts of an earlier version of Maestro as they are now."""
    for record in await store.read(_all_records):
        present = record
        if record.programs is None:
            present = record_of(record.path, accepts_programs=True)
            await store.write(partial(_store_record, record=present))
        remember_record(present)


def _all_records(tx: Tx) -> list[GitRecord]:
    records: list[GitRecord] = []
    while page := tx.git_records.list_page(after=records[-1].path if records else "", limit=limits.page_items_max):
        records += page
    return records


def _store_record(tx: Tx, record: GitRecord) -> None:
    tx.git_records.put(record)


def record_of(path: str, *, accepts_programs: bool) -> GitRecord:
    """Return the present record of a checkout. With `accepts_programs` the record holds the repository's programs."""
    repository = repositories.find_repository(path)
    if repository is None or repository.top != os.path.realpath(path):
        return GitRecord(path=path, git_dir="", common_dir="", programs=frozenset())
    programs: frozenset[str] = frozenset()
    if accepts_programs:
        with contextlib.suppress(errors.Invalid, errors.TooLarge):  # an unreadable configuration names no program
            programs = frozenset(map(git_programs.fingerprint_setting, repositories.named_programs(repository)))
    return GitRecord(path=path, git_dir=repository.git_dir, common_dir=repository.common_dir, programs=programs)


def put_record(tx: Tx, caller: Caller, record: GitRecord, *, renews: bool) -> GitRecord | None:
    """Store the record of a checkout. Return None if a record exists and stays; only the person renews a record."""
    if tx.git_records.get(record.path) is not None and (caller.is_session or not renews):
        return None
    tx.git_records.put(record)
    return record


def remember_record(record: GitRecord) -> None:
    """Allow git to run in the recorded checkout, with the recorded programs."""
    if record.git_dir:
        checkout = Repository(top=record.path, git_dir=record.git_dir, common_dir=record.common_dir)
        RECORDS.add_checkout(checkout, record.programs or frozenset())
