"""The known damage of the stored data, kept in a small file that outlives the server."""

from __future__ import annotations

import contextlib
import enum
import logging
from datetime import datetime
from pathlib import Path

import msgspec

from maestro.core import errors
from maestro.store.layout import HEALTH

log = logging.getLogger(__name__)


class DamageKind(enum.StrEnum):
    """A kind of damage. At most one problem of each kind is known at a time."""

    LOST_EVENTS = "lost_events"  # the store is behind its mark
    DATABASE = "database"
    FILES = "files"  # content files beside the database


class DamageFinding(msgspec.Struct, frozen=True):
    """Damage that a check found."""

    kind: DamageKind
    text: str


class StorageProblem(msgspec.Struct, frozen=True):
    """Known damage, until the damage is repaired or the person accepts the loss."""

    kind: DamageKind
    text: str
    found_at: datetime
    ask_id: str = ""  # the ask that tells the person of the problem; empty until the ask is open


class _HealthRecord(msgspec.Struct, frozen=True):
    problems: list[StorageProblem] = []
    checked_at: datetime | None = None  # the last full check


class StorageHealth:
    """The known problems of a data directory."""

    def __init__(self, home: Path) -> None:
        self._file = home / HEALTH
        self._state = self._load()

    @property
    def problems(self) -> list[StorageProblem]:
        return self._state.problems

    @property
    def checked_at(self) -> datetime | None:
        return self._state.checked_at

    def record_finding(self, finding: DamageFinding, *, at: datetime) -> bool:
        """Record damage; return False if a problem of the same kind is already known."""
        if any(known.kind is finding.kind for known in self.problems):
            return False
        log.error("%s", finding.text)
        self._store([*self.problems, StorageProblem(finding.kind, finding.text, at)])
        return True

    def record_check(self, findings: list[DamageFinding], *, at: datetime) -> list[StorageProblem]:
        """Record the result of a full check; return the problems that the check no longer finds."""
        found_kinds = {finding.kind for finding in findings} | {DamageKind.LOST_EVENTS}  # a lost event stays lost
        repaired = [problem for problem in self.problems if problem.kind not in found_kinds]
        self._store([problem for problem in self.problems if problem.kind in found_kinds], checked_at=at)
        for finding in findings:
            self.record_finding(finding, at=at)
        return repaired

    def set_ask(self, kind: DamageKind, ask_id: str) -> None:
        """Record the ask that tells the person of a problem."""
        self._store(
            [
                msgspec.structs.replace(problem, ask_id=ask_id) if problem.kind is kind else problem
                for problem in self.problems
            ]
        )

    def forget_problem(self, kind: DamageKind) -> None:
        """Remove the problem of a kind: the person accepted the damage."""
        self._store([problem for problem in self.problems if problem.kind is not kind])

    def require_no_lost_events(self) -> None:
        """Refuse to treat the store as complete while events are missing from the store."""
        for problem in self.problems:
            if problem.kind is DamageKind.LOST_EVENTS:
                raise errors.StorageDamaged(
                    problem.text, hint="Answer the ask (maestro ask list), or go on without them: --allow-missing"
                )

    def _load(self) -> _HealthRecord:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=_HealthRecord)
        except FileNotFoundError:
            return _HealthRecord()
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            log.warning("%s cannot be read: %s", self._file.name, error)
            return _HealthRecord()

    def _store(self, problems: list[StorageProblem], *, checked_at: datetime | None = None) -> None:
        """Keep the record in memory and in the file. The file is replaced whole or not at all."""
        self._state = _HealthRecord(problems, checked_at or self.checked_at)
        part = self._file.with_name(f".{self._file.name}.part")
        try:
            part.write_bytes(msgspec.json.encode(self._state) + b"\n")
            part.rename(self._file)
        except OSError as error:
            log.warning("%s cannot be written: %s", self._file.name, error)
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)


def find_lost_events(last: int, marked: int | None) -> DamageFinding | None:
    """Return a finding if the mark names a later event than the store's last event."""
    if marked is None or marked <= last:
        return None
    return DamageFinding(
        DamageKind.LOST_EVENTS,
        f"The database lost events {last + 1} to {marked}: it ends at event {last}, but its mark says {marked}. "
        "Its write-ahead log was cut or lost.",
    )
