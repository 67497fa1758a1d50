"""Tests that the conformance suite of stores has a test file for each repository, and calls each method."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import maestro

REPOSITORIES = sorted((Path(maestro.__file__).parent / "store" / "repositories").glob("[a-z]*.py"))
SUITE = Path(__file__).parents[1] / "contract" / "store" / "repositories"
# The writer calls these methods: at a rollback, and with the events of a transaction.
CALLED_BY_THE_WRITER = {"clear_cache", "append"}


def public_methods(module: Path) -> Iterator[str]:
    for node in ast.parse(module.read_text()).body:
        if isinstance(node, ast.ClassDef) and node.name.endswith(("Repository", "Graph")):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                    yield method.name


@pytest.mark.parametrize("module", REPOSITORIES, ids=lambda module: module.stem)
def test_each_repository_has_a_test_file_and_a_call_of_each_public_method(module: Path) -> None:
    assert (SUITE / f"test_{module.stem}.py").exists()
    suite = "\n".join(path.read_text() for path in SUITE.glob("*.py"))
    called = set(re.findall(r"\.(\w+)\(", suite)) | CALLED_BY_THE_WRITER
    assert [name for name in public_methods(module) if name not in called] == []
