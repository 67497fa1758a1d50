"""Expire task claims whose lease has run out.

A holder could not renew its claim while the machine slept, while no server ran, or while the disk was full. After
such a time every claim is extended before any claim expires.
"""

from __future__ import annotations

from datetime import datetime

from maestro.core import errors, limits
from maestro.core.clock import Clock
from maestro.domain.tasks import is_lease_over
from maestro.services.presence.grace import GRACE, GracePeriod
from maestro.services.tasks import moves
from maestro.store.base import Store, Tx


class ClaimExpiryJob:
    """A job that expires claims and is next due when the next lease runs out."""

    name = "expired-claims"

    def __init__(self, store: Store, *, clock: Clock) -> None:
        self._store = store
        self._patience = GracePeriod(clock)
        self._is_first = True
        self._could_not_store = False  # holders could not store a renewal either

    async def run_once(self) -> datetime | None:
        await self.extend_claims_after_absence()
        if self._could_not_store:
            await self._store.write(_extend_claims)
            self._could_not_store = False
        due, now = await self._store.read(lambda tx: (tx.tasks.next_lease_end(), tx.at))
        if due is None or due > now:
            return due
        try:
            return await self._store.write(_expire_claims)
        except errors.StorageFailed:
            self._could_not_store = True
            raise

    async def extend_claims_after_absence(self) -> None:
        """Extend all claims after a server start or a sleep of the machine, before any holder can lose its claim."""
        if self._is_first or self._patience.detect_clock_jump():
            self._is_first = False
            await self._store.write(_extend_claims)


def _extend_claims(tx: Tx) -> None:
    tx.tasks.extend_leases(lease_until=tx.at + GRACE)


def _expire_claims(tx: Tx) -> datetime | None:
    for expired in tx.tasks.list_expired_claims(tx.at, limit=limits.job_batch_rows_max):
        task = tx.tasks.get(expired.id)  # read again: the consequences of an earlier expiry may have changed the task
        if task is not None and is_lease_over(task, tx.at):
            moves.expire_claim(tx, task)
    return tx.tasks.next_lease_end()
