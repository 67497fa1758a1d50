"""Tests that declarations and code agree: operations, SQL statements, event kinds and moves of tasks."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from maestro.domain.events import EventKind
from maestro.domain.tasks import MOVES, TRANSITIONS, TaskStatus
from maestro.operations.base import Effect
from maestro.operations.registry import REGISTRY
from maestro.server.app import Server
from maestro.server.composition import collect_bindings
from maestro.store import statements

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "maestro"


async def test_each_operation_is_bound_exactly_once(server: Server) -> None:
    bound = collect_bindings(server.parts.in_order())
    assert set(bound) == set(REGISTRY)
    sources = "".join(path.read_text() for path in (SOURCE / "server" / "parts").glob("*.py"))
    assert len(re.findall(r"\bops\.\w+\.name: |\w+_ops\.\w+\.name: ", sources)) == len(REGISTRY)
    for name, operation in REGISTRY.items():
        assert (bound[name].stream_answers is not None) == (operation.effect is Effect.STREAM)


def test_no_two_operations_share_a_route_or_a_command() -> None:
    routes = [(operation.http.verb, operation.http.path) for operation in REGISTRY.values()]
    assert len(set(routes)) == len(routes)
    commands = [
        words for o in REGISTRY.values() if o.command for words in (o.command.command_path, *o.command.aliases)
    ]
    assert len(set(commands)) == len(commands)


def test_every_operation_has_a_summary_examples_and_its_path_parameters() -> None:
    for operation in REGISTRY.values():
        assert operation.summary.endswith(".") and "\n" not in operation.summary
        if operation.command:
            assert operation.examples, f"{operation.name} has no example"
            assert all(example.startswith("maestro ") for example in operation.examples)
        for name in operation.http.path_parameters:
            assert name in operation.request.__struct_fields__


def test_every_sql_statement_is_named_in_the_store() -> None:
    python = "\n".join(path.read_text() for path in (SOURCE / "store").rglob("*.py"))
    for name in statements.load("sqlite"):
        assert f'"{name}"' in python, f"the store does not run {name}"


def test_every_sql_statement_that_the_store_names_exists() -> None:
    known = statements.load("sqlite")
    named = {name for path in (SOURCE / "store").rglob("*.py") for name in _named_statements(path)}
    assert not named - set(known), "no SQL file declares these statements"
    assert len(named) > 0.9 * len(known), "the test no longer finds the names that the store uses"


def _named_statements(path: Path) -> set[str]:
    """Return the names of statements that a module gives to `Rows` or to its own `_fetch_…`, directly or as `name`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="_rows")), args=[first, *_]):
                found |= _text_values(first)
            case ast.Call(func=ast.Attribute(attr=method), args=[first, *_]) if method.startswith("_fetch_"):
                found |= _text_values(first)
            case ast.Assign(targets=[ast.Name(id="name" | "dependent_rows")], value=value):
                found |= _text_values(value)
            case ast.For(target=ast.Name(id="name"), iter=values):
                found |= _text_values(values)
    return found


def _text_values(node: ast.expr) -> set[str]:
    """Return the texts that an expression may have as its value or as an item."""
    match node:
        case ast.Constant(value=str(text)):
            return {text}
        case ast.IfExp(body=one, orelse=other):
            return _text_values(one) | _text_values(other)
        case ast.Tuple(elts=items):
            return {text for item in items for text in _text_values(item)}
    return set()


def test_every_kind_of_event_is_logged_by_some_module() -> None:
    python = "\n".join(path.read_text() for path in SOURCE.rglob("*.py") if path.name != "events.py")
    for kind in EventKind:
        assert f"Kind.{kind.name}" in python, f"no module logs {kind.value}"


def test_the_transition_table_the_moves_and_the_docs_agree() -> None:
    assert set(MOVES) == set(TRANSITIONS)
    page = (ROOT / "docs" / "tasks.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| ([\w, ]+) \| ([\w, ]+) \|", page, re.MULTILINE)
    drawn = {
        (move, frozenset(origins.split(", ")), frozenset(targets.split(", "))) for move, origins, targets in rows
    }
    real = {
        (
            move,
            frozenset(status.value for status in table),
            frozenset(to.value for all_to in table.values() for to in all_to),
        )
        for move, table in TRANSITIONS.items()
    }
    assert drawn == real
    assert all(status.value in page for status in TaskStatus)
