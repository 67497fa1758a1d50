"""Tests that every migration has a fixture: a data directory of that schema, which the upgrade tests open."""

from __future__ import annotations

from pathlib import Path

from maestro.store.sqlite.migration_scripts import migration_scripts

FIXTURES = Path(__file__).parents[1] / "fixtures" / "schemas"


def test_each_migration_has_a_fixture() -> None:
    expected = {f"schema-{number:04}.sql" for number in range(1, len(migration_scripts()) + 1)}
    there = {file.name for file in FIXTURES.glob("schema-*.sql")}
    assert there == expected, (
        "add the new tables and columns to rows.py, then run python tests/fixtures/schemas/write.py"
    )
