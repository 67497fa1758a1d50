"""Tests of the shape of the code: short files, short functions, and a docstring in each module."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import maestro
from maestro.core import errors

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "maestro"
MODULES = sorted(SOURCE.rglob("*.py"))

file_lines_max = 400
function_lines_max = 60


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_has_a_docstring_and_is_short_and_so_are_the_functions(module: Path) -> None:
    text = module.read_text()
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "the module has no docstring"
    assert text.count("\n") <= file_lines_max
    for function in functions(tree):
        assert function.end_lineno is not None
        lines = function.end_lineno - function.lineno + 1
        assert lines <= function_lines_max, f"{function.name} has {lines} lines"


def test_sql_text_stands_only_in_sql_files() -> None:
    sql = re.compile(r"""["'](?:SELECT .+ FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE TABLE)""", re.IGNORECASE)
    found = {str(path.relative_to(SOURCE)) for path in MODULES if sql.search(path.read_text())}
    assert found == {
        "docs/schema_script.py"
    }  # the generator of the reference reads SQLite's own tables with this SQL; the server does not


def test_only_the_allowed_modules_catch_every_exception() -> None:
    found = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ExceptHandler) and (
                node.type is None or getattr(node.type, "id", "") == "Exception"
            ):
                found.append(str(path.relative_to(SOURCE)))
    # The allowed modules: the writer (an error belongs to the writer's caller) and its thread, the last handlers of
    # surfaces, background jobs and processes, and a server that tests script.
    allowed = {
        "store/sqlite/writer.py",
        "store/sqlite/writer_thread.py",
        "surfaces/cli/commands.py",
        "surfaces/mcp/tools/calls.py",
        "surfaces/rest/app.py",
        "testing/frames.py",
        "services/jobs.py",
        "services/hooks/late_hooks_job.py",
        "runner/forker.py",
    }
    assert set(found) <= allowed


def test_the_error_tree_in_the_docstring_names_every_error_class() -> None:
    drawn = set(re.findall(r"[├└]── (\w+)", errors.__doc__ or "")) | {"MaestroError"}
    assert drawn == {kind.__name__ for kind in errors.errors_by_code().values()}


def test_the_version_of_the_project_is_the_version_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == maestro.__version__


def test_the_readme_has_fewer_than_200_lines() -> None:
    assert (ROOT / "README.md").read_text().count("\n") < 200
