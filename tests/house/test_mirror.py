"""Tests that tests mirror the source: a reader finds the test of `a/b.py` at `tests/<tier>/a/test_b.py`."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE, TESTS = ROOT / "src/maestro", ROOT / "tests"

TIERS = ["unit", "integration", "contract", "security"]
MIRRORED_SHARE_MIN = 0.90
# A test runs the demo as a whole. The tests that use the test helpers test them.
UNMIRRORED_FOLDERS = {"demo", "testing"}

BRANCHES = (
    ast.If,
    ast.IfExp,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.Try,
    ast.Match,
    ast.comprehension,
    ast.BoolOp,
    ast.Compare,
)


def has_logic(module: Path) -> bool:
    """Return whether a function of the module contains a branch, a loop or a comparison."""
    functions = (
        node
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return any(isinstance(node, BRANCHES) for function in functions for node in ast.walk(function))


def modules_with_logic() -> list[Path]:
    return [
        path.relative_to(SOURCE)
        for path in sorted(SOURCE.rglob("*.py"))
        if not UNMIRRORED_FOLDERS & set(path.relative_to(SOURCE).parts) and has_logic(path)
    ]


def is_mirrored(module: Path) -> bool:
    name = module.parent.name if module.stem == "__init__" else module.stem
    return any((TESTS / tier / module.parent / f"test_{name}.py").exists() for tier in TIERS)


def test_most_modules_with_logic_have_a_test_at_the_same_path():
    modules = modules_with_logic()
    missing = [str(module) for module in modules if not is_mirrored(module)]
    share = 1 - len(missing) / len(modules)
    assert share >= MIRRORED_SHARE_MIN, f"{share:.1%} of {len(modules)} modules have a test; without one: {missing}"
