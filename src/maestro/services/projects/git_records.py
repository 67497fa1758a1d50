"""Records the repositories of checkouts, so that git runs only the programs that were there before any agent."""

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


async def load(store: Store) -> None:
    """Take over what the store knows. Record the checkouts of an earlier version as they are now."""
    for record in await store.read(_all_records):
        known = record
        if record.programs is None:
            known = record_of(record.path, accepts=True)
            await store.write(partial(_put, record=known))
        remember(known)


def _all_records(tx: Tx) -> list[GitRecord]:
    found: list[GitRecord] = []
    while page := tx.git_records.page(after=found[-1].path if found else "", limit=limits.page_items_max):
        found += page
    return found


def _put(tx: Tx, record: GitRecord) -> None:
    tx.git_records.put(record)


def record_of(path: str, *, accepts: bool) -> GitRecord:
    """Return the record of a checkout as it is now; with `accepts`, with the programs that its repository names."""
    found = repositories.find_repository(path)
    if found is None or found.top != os.path.realpath(path):
        return GitRecord(path=path, git_dir="", common_dir="", programs=frozenset())
    programs: frozenset[str] = frozenset()
    if accepts:
        with contextlib.suppress(errors.Invalid, errors.TooLarge):  # nothing is accepted from what nobody can read
            programs = frozenset(map(git_programs.fingerprint, repositories.named_programs(found)))
    return GitRecord(path=path, git_dir=found.git_dir, common_dir=found.common_dir, programs=programs)


def put_record(tx: Tx, caller: Caller, record: GitRecord, *, renews: bool) -> GitRecord | None:
    """Record a checkout when it is registered; None if it is recorded already. Only the person renews a record."""
    if tx.git_records.get(record.path) is not None and (caller.is_session or not renews):
        return None
    tx.git_records.put(record)
    return record


def remember(record: GitRecord) -> None:
    """Let git be run by a record of the store."""
    if record.git_dir:
        checkout = Repository(top=record.path, git_dir=record.git_dir, common_dir=record.common_dir)
        RECORDS.add(checkout, record.programs or frozenset())
