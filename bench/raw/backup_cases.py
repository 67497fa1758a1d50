"""The backup of a store with a thousand messages to twenty sessions each, without the time of the verification."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from case import Case, Measure
from place import Place, opened_place

MESSAGES, BACKUPS = 1_000, 5


@contextmanager
def _backup() -> Iterator[Measure]:
    with opened_place() as place:
        recipients = [place.register(f"worker-{number}")["id"] for number in range(20)]
        for number in range(MESSAGES):
            place.post("/api/mail", {"to": recipients, "subject": f"News {number}", "message": "x" * 2_000})
        yield lambda: [_time_backup(place) for _ in range(BACKUPS)]


def _time_backup(place: Place) -> float:
    """Return the seconds of a backup without its verification, whose time the answer contains."""
    target = Path(place.directory) / "backup.tar"
    target.unlink(missing_ok=True)
    began = time.perf_counter()
    answer = json.loads(place.run("maestro", "backup", str(target), "--json"))
    taken = time.perf_counter() - began
    return taken - float(answer.get("verification_ms", 0)) / 1000


CASES = [Case("backup", "backup", 1, _backup)]
