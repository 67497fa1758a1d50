"""The full check of a data directory, for `maestro doctor` and for the daily check.

The check runs in its own process, so that no caller of the server waits. The check changes no data.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

from maestro.core import errors, limits
from maestro.store.blobs import Blobs
from maestro.store.health import Finding, Health, Kind, lost_events
from maestro.store.layout import BLOBS, DATABASE, MARK
from maestro.store.mark import Mark
from maestro.store.sqlite import checks

_NICENESS = 19


class Report(msgspec.Struct, frozen=True):
    """The result of a full check."""

    findings: list[Finding]
    files: int = 0  # the number of checked files beside the database


def check(home: Path, *, slowly: bool) -> Report:
    """Check the database, the files beside it and its mark. `slowly` means lowest priority and pauses."""
    if slowly:
        os.nice(_NICENESS)
    if not (home / DATABASE).exists():
        return Report([])
    recorded = [Finding(problem.kind, problem.text) for problem in Health(home).problems]
    # The mark is read first: a server may store events meanwhile, and the mark must not be newer than the events.
    marked = Mark(home / MARK).read()
    try:
        with checks.open_used(home / DATABASE) as connection:
            lost = lost_events(checks.last_event_in(connection), marked)
            damage = checks.find_damage(connection, slowly=slowly)
            names = checks.blobs_in(connection)
    except errors.StorageFailed as error:
        others = [finding for finding in recorded if finding.kind is not Kind.DATABASE]
        return Report([*others, Finding(Kind.DATABASE, f"The database is damaged: {error.message}")])
    # A recorded loss has the right numbers: events stored since the loss fill the gap.
    findings = [finding for finding in recorded if finding.kind is Kind.LOST_EVENTS] or ([lost] if lost else [])
    if damage:
        findings.append(Finding(Kind.DATABASE, f"The database is damaged: {'; '.join(damage)}."))
    findings += _check_files(home, names, slowly=slowly)
    return Report(findings, len(names))


def _check_files(home: Path, names: list[str], *, slowly: bool) -> list[Finding]:
    """Compare every file that a row names with the hash in its name."""
    blobs = Blobs(home / BLOBS)
    broken: list[str] = []
    for name in names:
        try:
            blobs.read(name)
        except errors.StorageFailed as error:
            broken.append(error.message)
        if slowly:
            time.sleep(limits.check_pause_seconds)
    if not broken:
        return []
    hidden = len(broken) - limits.damage_lines_max
    more = f" {hidden} more files are damaged or missing." if hidden > 0 else ""
    return [Finding(Kind.FILES, " ".join(broken[: limits.damage_lines_max]) + more)]
