"""What is known to be wrong with the stored data, in a small file that outlives the server."""

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


class Kind(enum.StrEnum):
    """A kind of damage. Of each kind at most one problem is known at a time."""

    LOST_EVENTS = "lost_events"  # the store is behind its mark
    DATABASE = "database"
    FILES = "files"  # beside the database


class Finding(msgspec.Struct, frozen=True):
    """Damage that a check found."""

    kind: Kind
    text: str


class Problem(msgspec.Struct, frozen=True):
    """Damage that is known, until it is mended or the person accepts it."""

    kind: Kind
    text: str
    found_at: datetime
    ask_id: str = ""  # the ask that tells the person; empty until it is open


class _State(msgspec.Struct, frozen=True):
    problems: list[Problem] = []
    checked_at: datetime | None = None  # the last full check


class Health:
    """The known problems of a data directory."""

    def __init__(self, home: Path) -> None:
        self._file = home / HEALTH
        self._state = self._load()

    @property
    def problems(self) -> list[Problem]:
        return self._state.problems

    @property
    def checked_at(self) -> datetime | None:
        return self._state.checked_at

    def note(self, finding: Finding, *, at: datetime) -> bool:
        """Record damage; return whether a problem of this kind is new."""
        if any(known.kind is finding.kind for known in self.problems):
            return False
        log.error("%s", finding.text)
        self._store([*self.problems, Problem(finding.kind, finding.text, at)])
        return True

    def take_check(self, findings: list[Finding], *, at: datetime) -> list[Problem]:
        """Record the result of a full check; return the problems that the check no longer finds."""
        found = {finding.kind for finding in findings} | {Kind.LOST_EVENTS}  # a lost event stays lost
        mended = [problem for problem in self.problems if problem.kind not in found]
        self._store([problem for problem in self.problems if problem.kind in found], checked_at=at)
        for finding in findings:
            self.note(finding, at=at)
        return mended

    def set_ask(self, kind: Kind, ask_id: str) -> None:
        """Remember the ask that tells the person of a problem."""
        self._store(
            [msgspec.structs.replace(one, ask_id=ask_id) if one.kind is kind else one for one in self.problems]
        )

    def clear(self, kind: Kind) -> None:
        """Forget a problem: the person accepted it."""
        self._store([problem for problem in self.problems if problem.kind is not kind])

    def require_no_loss(self) -> None:
        """Refuse to treat the store as whole while events are missing from it."""
        for problem in self.problems:
            if problem.kind is Kind.LOST_EVENTS:
                raise errors.StorageDamaged(
                    problem.text, hint="Answer the ask (maestro ask list), or go on without them: --allow-missing"
                )

    def _load(self) -> _State:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=_State)
        except FileNotFoundError:
            return _State()
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            log.warning("%s cannot be read: %s", self._file.name, error)
            return _State()

    def _store(self, problems: list[Problem], *, checked_at: datetime | None = None) -> None:
        """Keep the state in memory and, whole or not at all, in the file."""
        self._state = _State(problems, checked_at or self.checked_at)
        part = self._file.with_name(f".{self._file.name}.part")
        try:
            part.write_bytes(msgspec.json.encode(self._state) + b"\n")
            part.rename(self._file)
        except OSError as error:
            log.warning("%s cannot be written: %s", self._file.name, error)
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)


def lost_events(last: int, marked: int | None) -> Finding | None:
    """Compare the last event of a store with its mark."""
    if marked is None or marked <= last:
        return None
    return Finding(
        Kind.LOST_EVENTS,
        f"The database lost events {last + 1} to {marked}: it ends at event {last}, but its mark says {marked}. "
        "Its write-ahead log was cut or lost.",
    )
