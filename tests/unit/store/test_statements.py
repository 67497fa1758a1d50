"""SQL files are split into named statements and fragments, and a driver loads the complete statements."""

from __future__ import annotations

from importlib.resources import files

from maestro.store import statements

FILE = """-- The statements of tasks.

-- name: task_get
-- Returns a task.
SELECT {task}
  FROM tasks
 WHERE id = :id;

-- fragment: task
id, title
"""


def test_an_sql_file_is_split_into_statements_and_fragments_without_comments() -> None:
    assert statements.split_file(FILE) == [
        ("name", "task_get", "SELECT {task}\n  FROM tasks\n WHERE id = :id"),
        ("fragment", "task", "id, title"),
    ]


def test_loaded_statements_contain_no_placeholder_of_a_fragment() -> None:
    loaded = statements.load("sqlite")
    assert loaded
    for name, sql in loaded.items():
        assert "{" not in sql and "--" not in sql and not sql.endswith(";"), name


def test_every_statement_and_fragment_of_a_folder_has_its_own_name() -> None:
    for folder in ("common", "sqlite"):
        directory = files("maestro.store") / "sql" / folder
        names = [
            name
            for file in directory.iterdir()
            if file.name.endswith(".sql")
            for _, name, _ in statements.split_file(file.read_text(encoding="utf-8"))
        ]
        assert names and len(set(names)) == len(names)


def test_a_driver_loads_the_common_statements_and_its_own_statements() -> None:
    common = {
        name
        for file in (files("maestro.store") / "sql" / "common").iterdir()
        for kind, name, _ in statements.split_file(file.read_text(encoding="utf-8"))
        if kind == "name"
    }
    assert common < set(statements.load("sqlite"))
