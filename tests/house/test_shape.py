"""The code keeps its shape: small files, small functions, a line on top that says each module's place."""

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
def test_a_module_is_small_and_says_its_place(module: Path) -> None:
    text = module.read_text()
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "the module does not say its place"
    assert text.count("\n") <= file_lines_max
    for function in functions(tree):
        assert function.end_lineno is not None
        lines = function.end_lineno - function.lineno + 1
        assert lines <= function_lines_max, f"{function.name} has {lines} lines"


def test_sql_stands_in_sql_files() -> None:
    sql = re.compile(r"""["'](?:SELECT .+ FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE TABLE)""", re.IGNORECASE)
    found = {str(path.relative_to(SOURCE)) for path in MODULES if sql.search(path.read_text())}
    assert found == {
        "docs/schema_script.py"
    }  # reads SQLite's own tables when the reference is written, not in the server


def test_broad_excepts_are_few_and_named() -> None:
    found = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ExceptHandler) and (
                node.type is None or getattr(node.type, "id", "") == "Exception"
            ):
                found.append(str(path.relative_to(SOURCE)))
    # The writer (an error belongs to its caller) and its thread, last handlers of surfaces, of upkeep and of processes, a server
    # scripted by tests.
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


def test_the_error_tree_in_the_docstring_is_the_real_one() -> None:
    drawn = set(re.findall(r"[├└]── (\w+)", errors.__doc__ or "")) | {"MaestroError"}
    assert drawn == {kind.__name__ for kind in errors.errors_by_code().values()}


def test_the_version_is_said_once() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == maestro.__version__


def test_the_readme_is_not_the_manual() -> None:
    assert (ROOT / "README.md").read_text().count("\n") < 200
