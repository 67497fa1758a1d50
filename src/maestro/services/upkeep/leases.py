"""Takes back claims whose lease ran out, and sleeps until the next one does.

Who slept with the machine, or had no server to speak to, could not renew: then claims go on for a while first. The
same holds while the disk is full.
"""

from __future__ import annotations

from datetime import datetime

from maestro.core import errors, limits
from maestro.core.clock import Clock
from maestro.domain.tasks import lease_is_over
from maestro.services.sessions.patience import GRACE, Patience
from maestro.services.tasks import moves
from maestro.store.base import Store, Tx


class Leases:
    """Expires claims."""

    name = "leases"

    def __init__(self, store: Store, *, clock: Clock) -> None:
        self._store = store
        self._patience = Patience(clock)
        self._is_first = True
        self._could_not_store = False  # so nobody could renew a claim either

    async def run_once(self) -> datetime | None:
        await self.be_fair()
        if self._could_not_store:
            await self._store.write(_prolong)
            self._could_not_store = False
        due = await self._store.read(lambda tx: (tx.tasks.next_lease(), tx.at))
        if due[0] is None or due[0] > due[1]:
            return due[0]
        try:
            return await self._store.write(_take_back)
        except errors.StorageFailed:
            self._could_not_store = True
            raise

    async def be_fair(self) -> None:
        """Before anyone can be told that a lease is over: was there a server, and was the machine awake?"""
        if self._is_first or self._patience.has_jumped():
            self._is_first = False
            await self._store.write(_prolong)


def _prolong(tx: Tx) -> None:
    tx.tasks.prolong(lease_until=tx.at + GRACE)


def _take_back(tx: Tx) -> datetime | None:
    for over in tx.tasks.leases_over(tx.at, limit=limits.upkeep_batch_rows_max):
        task = tx.tasks.get(over.id)  # read anew: what follows from one may have decided about the next
        if task is not None and lease_is_over(task, tx.at):
            moves.expire(tx, task)
    return tx.tasks.next_lease()
