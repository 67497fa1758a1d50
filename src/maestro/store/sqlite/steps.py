"""The numbered migrations, as scripts in order."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_STEP = re.compile(r"(\d{4})_\w+\.sql")


@cache
def scripts() -> list[str]:
    """Every migration's script; the first brings an empty database to version 1, and so on."""
    folder = files("maestro.store") / "migrations" / "sqlite"
    found = {
        int(match[1]): file.read_text(encoding="utf-8")
        for file in folder.iterdir()
        if (match := _STEP.fullmatch(file.name))
    }
    assert sorted(found) == list(range(1, len(found) + 1)), "migrations are numbered 1, 2, 3 …"
    return [found[number] for number in sorted(found)]
