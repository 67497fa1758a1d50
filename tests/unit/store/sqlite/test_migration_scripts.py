"""The migration scripts have consecutive numbers, and together they create the present schema."""

from __future__ import annotations

import sqlite3
from importlib.resources import files

from maestro.store.sqlite.migration_scripts import migration_scripts, present_schema


def test_migration_scripts_are_returned_in_the_order_of_their_numbers() -> None:
    folder = files("maestro.store") / "migrations" / "sqlite"
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    assert [name[:4] for name in names] == [f"{number:04}" for number in range(1, len(names) + 1)]
    assert migration_scripts() == [(folder / name).read_text(encoding="utf-8") for name in names]


def test_each_migration_script_applies_to_the_schema_of_the_script_before() -> None:
    database = sqlite3.connect(":memory:")
    for script in migration_scripts():
        database.executescript(script)
    assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()


def test_the_present_schema_is_the_schema_of_all_migrations() -> None:
    migrated, present = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
    for script in migration_scripts():
        migrated.executescript(script)
    present.executescript(present_schema())
    schema = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name"
    assert present.execute(schema).fetchall() == migrated.execute(schema).fetchall()
    for (table,) in migrated.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        rows = f'SELECT * FROM "{table}"'
        assert present.execute(rows).fetchall() == migrated.execute(rows).fetchall(), table
    migrated.close()
    present.close()
