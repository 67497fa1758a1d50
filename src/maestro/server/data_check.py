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
from maestro.store.health import DamageFinding, DamageKind, StorageHealth, find_lost_events
from maestro.store.layout import BLOBS, DATABASE, MARK
from maestro.store.mark import Mark
from maestro.store.sqlite import checks

_NICENESS = 19


class CheckReport(msgspec.Struct, frozen=True):
    """The result of a full check."""

    findings: list[DamageFinding]
    files: int = 0  # the number of checked files beside the database


def check_data_directory(home: Path, *, slowly: bool) -> CheckReport:
    """Check the database, the files beside it and its mark. `slowly` means lowest priority and pauses."""
    if slowly:
        os.nice(_NICENESS)
    if not (home / DATABASE).exists():
        return CheckReport([])
    recorded = [DamageFinding(problem.kind, problem.text) for problem in StorageHealth(home).problems]
    # The mark is read first: a server may store events meanwhile, and the mark must not be newer than the events.
    marked = Mark(home / MARK).read()
    try:
        with checks.open_in_use(home / DATABASE) as connection:
            lost = find_lost_events(checks.read_last_event_seq(connection), marked)
            damage = checks.find_damage(connection, slowly=slowly)
            names = checks.read_named_blobs(connection)
    except errors.StorageFailed as error:
        others = [finding for finding in recorded if finding.kind is not DamageKind.DATABASE]
        return CheckReport([*others, DamageFinding(DamageKind.DATABASE, f"The database is damaged: {error.message}")])
    # A recorded loss has the right numbers: events stored since the loss fill the gap.
    findings = [finding for finding in recorded if finding.kind is DamageKind.LOST_EVENTS] or ([lost] if lost else [])
    if damage:
        findings.append(DamageFinding(DamageKind.DATABASE, f"The database is damaged: {'; '.join(damage)}."))
    findings += _check_files(home, names, slowly=slowly)
    return CheckReport(findings, len(names))


def _check_files(home: Path, names: list[str], *, slowly: bool) -> list[DamageFinding]:
    """Compare every file that a row names with the hash in its name."""
    blobs = Blobs(home / BLOBS)
    broken: list[str] = []
    for name in names:
        try:
            blobs.read_file(name)
        except errors.StorageFailed as error:
            broken.append(error.message)
        if slowly:
            time.sleep(limits.check_pause_seconds)
    if not broken:
        return []
    hidden = len(broken) - limits.damage_lines_max
    more = f" {hidden} more files are damaged or missing." if hidden > 0 else ""
    return [DamageFinding(DamageKind.FILES, " ".join(broken[: limits.damage_lines_max]) + more)]
