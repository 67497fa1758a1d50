"""Load the SQL scripts that make the schema: the numbered migrations, and the present schema as a whole."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_STEP = re.compile(r"(\d{4})_\w+\.sql")


@cache
def migration_scripts() -> list[str]:
    """Return the scripts of all migrations. The first brings an empty database to schema version 1."""
    folder = files("maestro.store") / "migrations" / "sqlite"
    scripts_by_number = {
        int(match[1]): file.read_text(encoding="utf-8")
        for file in folder.iterdir()
        if (match := _STEP.fullmatch(file.name))
    }
    numbers = sorted(scripts_by_number)
    assert numbers == list(range(1, len(numbers) + 1)), "migrations are numbered 1, 2, 3 …"
    return [scripts_by_number[number] for number in numbers]


@cache
def present_schema() -> str:
    """Return the script that gives an empty database the schema of the last migration, in a twentieth of the time."""
    return (files("maestro.store") / "schemas" / "sqlite.sql").read_text(encoding="utf-8")
