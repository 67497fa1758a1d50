"""The repository of git records: a checkout's git directory and the programs that its git settings named.

A record holds the values from the moment when Maestro recorded the checkout.
"""

from __future__ import annotations

import msgspec

from maestro.domain.git_programs import GitRecord
from maestro.store.rows import Row, Rows

_encode = msgspec.json.Encoder().encode
_decode_texts = msgspec.json.Decoder(list[str]).decode


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
        row = self._rows.fetch_first("git_record_get", path=path)
        return _decode_record(row) if row else None

    def list_page(self, *, after: str, limit: int) -> list[GitRecord]:
        return [_decode_record(row) for row in self._rows.fetch_all("git_records_page", after=after, limit=limit)]


def _decode_record(row: Row) -> GitRecord:
    path, git_dir, common_dir, encoded = row
    programs = frozenset(_decode_texts(encoded)) if encoded is not None else None
    return GitRecord(path=path, git_dir=git_dir, common_dir=common_dir, programs=programs)
