"""Tests that the columns of each SQL statement fit the type into which the store decodes the rows."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import maestro
from maestro.store import statements
from maestro.store.decoding import Decoder
from maestro.store.sqlite.connection import column_names

SOURCE = Path(maestro.__file__).parent
REPOSITORIES = sorted((SOURCE / "store" / "repositories").glob("*.py"))
DECODING = {"fetch_first", "fetch_all", "fetch_page"}
PLAIN = {"fetch_value", "fetch_values", "has_row", "execute", "execute_many"}
# Modules of store/sqlite run these statements on a connection of their own.
WITHOUT_REPOSITORY = {"blobs_named", "tables_stored"}
KNOWN = statements.load("sqlite")


def methods(module: Path) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.FunctionDef)]


def calls(method: ast.AST, names: set[str]) -> Iterator[ast.Call]:
    for node in ast.walk(method):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names:
            yield node


def statements_named_in(node: ast.AST) -> set[str]:
    texts = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
    return {text for text in texts if isinstance(text, str) and text in KNOWN}


def statements_of_call(call: ast.Call, method: ast.FunctionDef, module: Path) -> set[str]:
    """Return the statements that a call may run: named in the call, in its method, or by the callers of the method."""
    if found := statements_named_in(call.args[0]):
        return found
    if found := statements_named_in(method):
        return found
    named: set[str] = set()
    for caller in methods(module):
        for outer in calls(caller, {method.name}):
            named |= statements_of_call(outer, caller, module)
    return named


def decoded_statements() -> list[tuple[str, str, str]]:
    """Return module, statement and name of the decoder, for each statement that a repository decodes."""
    return sorted(
        {
            (module.stem, statement, ast.unparse(call.args[1]))
            for module in REPOSITORIES
            for method in methods(module)
            for call in calls(method, DECODING)
            for statement in statements_of_call(call, method, module)
        }
    )


@pytest.mark.parametrize(("module", "statement", "name"), decoded_statements())
def test_the_columns_of_a_statement_fit_the_type_of_the_rows(module: str, statement: str, name: str) -> None:
    decoder = getattr(importlib.import_module(f"maestro.store.repositories.{module}"), name)
    assert isinstance(decoder, Decoder)
    decoder.for_columns(column_names(statement))  # refuses a column without a field, and a field without a column


def test_each_statement_is_decoded_by_column_name_or_has_a_single_column() -> None:
    plain = {
        statement
        for module in REPOSITORIES
        for method in methods(module)
        for call in calls(method, PLAIN)
        for statement in statements_of_call(call, method, module)
    }
    decoded = {statement for _, statement, _ in decoded_statements()}
    assert set(KNOWN) - plain - decoded == WITHOUT_REPOSITORY
    queries = {name for name in plain - decoded if KNOWN[name].lstrip().startswith(("SELECT", "WITH"))}
    assert {name for name in queries if len(column_names(name)) > 1} == set()


def test_no_module_of_the_store_reads_a_column_by_its_position() -> None:
    position = re.compile(r"\brows?\[\d+\]\[|\brow\[\d+\]")
    assert [path.name for path in sorted((SOURCE / "store").rglob("*.py")) if position.search(path.read_text())] == []
