"""The repository of git records: a checkout's git directory and the programs that its git settings named.

A record holds the values from the moment when Maestro recorded the checkout.
"""

from __future__ import annotations

import msgspec

from maestro.domain.git_programs import GitRecord
from maestro.store.decoding import Decoder
from maestro.store.rows import Rows

_encode = msgspec.json.Encoder().encode
_RECORD = Decoder(GitRecord)


class GitRecordRepository:
    """Git records of checkouts, by path."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, record: GitRecord) -> None:
        self._rows.execute(
            "git_record_put",
            path=record.path,
            git_dir=record.git_dir,
            common_dir=record.common_dir,
            programs=_encode(sorted(record.programs or ())).decode(),
        )

    def drop(self, path: str) -> None:
        self._rows.execute("git_record_drop", path=path)

    def get(self, path: str) -> GitRecord | None:
        return self._rows.fetch_first("git_record_get", _RECORD, path=path)

    def list_page(self, *, after: str, limit: int) -> list[GitRecord]:
        return self._rows.fetch_all("git_records_page", _RECORD, after=after, limit=limit)
