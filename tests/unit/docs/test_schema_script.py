"""The script of the present schema, computed from the migrations, builds a complete database."""

from __future__ import annotations

import sqlite3

from maestro.docs.schema_script import schema_script
from maestro.store.sqlite.migration_scripts import present_schema


def test_the_script_builds_every_table_and_the_first_rows() -> None:
    database = sqlite3.connect(":memory:")
    database.executescript(schema_script())
    names = {name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    rows = database.execute("SELECT indexed_to FROM search_state").fetchall()
    database.close()
    assert {"projects", "tasks", "sessions", "events", "messages", "deliveries", "trackers"} <= names
    assert {
        "message_words",
        "message_words_data",
    } <= names  # the full-text table and a table that SQLite creates for it
    assert rows == [(0,)]


def test_the_script_names_no_table_that_sqlite_creates_by_itself() -> None:
    script = schema_script()
    assert "message_words_" not in script and "sqlite_" not in script


def test_the_stored_schema_script_equals_the_computed_script() -> None:
    assert present_schema() == schema_script(), "The stored script is out of date: run `make docs`."
