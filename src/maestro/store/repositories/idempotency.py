"""The repository of idempotency keys: the first response to each key, kept for a week."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from maestro.core.clock import to_micros
from maestro.store.decoding import Decoder
from maestro.store.rows import Rows


class FirstResponse(NamedTuple):
    """The first request with a key: its operation, its digest and its response."""

    operation: str
    request: str
    response: bytes


_FIRST_RESPONSE = Decoder(FirstResponse)


class IdempotencyRepository:
    """First responses, by caller and key."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def get(self, caller: str, key: str) -> FirstResponse | None:
        return self._rows.fetch_first("idempotency_get", _FIRST_RESPONSE, caller=caller, key=key)

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
