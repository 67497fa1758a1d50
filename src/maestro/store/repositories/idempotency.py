"""The repository of idempotency keys: the first response to each key, kept for a week."""

from __future__ import annotations

from datetime import datetime

from maestro.core.clock import to_micros
from maestro.store.rows import Rows


class IdempotencyRepository:
    """First responses, by caller and key."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def get(self, caller: str, key: str) -> tuple[str, str, bytes] | None:
        """Return the operation, the request digest and the response of the first request with a key."""
        row = self._rows.fetch_first("idempotency_get", caller=caller, key=key)
        return (row[0], row[1], row[2]) if row else None

    def store_response(
        self, caller: str, key: str, *, operation: str, request: str, response: bytes, at: datetime
    ) -> None:
        self._rows.execute(
            "idempotency_insert",
            caller=caller,
            key=key,
            operation=operation,
            request=request,
            response=response,
            created_at=to_micros(at),
        )

    def prune_old(self, *, before: datetime, limit: int) -> int:
        return self._rows.execute("idempotency_prune", before=to_micros(before), limit=limit)
