"""Takes back claims whose lease ran out, and sleeps until the next one does."""

from __future__ import annotations

from datetime import datetime

from maestro import limits
from maestro.domain.tasks import lease_is_over
from maestro.services import moves
from maestro.store.base import Store, Tx


class Leases:
    """Expires claims."""

    name = "leases"

    def __init__(self, store: Store) -> None:
        self._store = store

    async def run_once(self) -> datetime | None:
        due = await self._store.read(lambda tx: (tx.tasks.next_lease(), tx.at))
        if due[0] is None or due[0] > due[1]:
            return due[0]
        return await self._store.write(_take_back)


def _take_back(tx: Tx) -> datetime | None:
    for over in tx.tasks.leases_over(tx.at, limit=limits.upkeep_batch_rows_max):
        task = tx.tasks.get(over.id)  # read anew: what follows from one may have decided about the next
        if task is not None and lease_is_over(task, tx.at):
            moves.expire(tx, task)
    return tx.tasks.next_lease()
