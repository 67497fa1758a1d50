"""The folders of tools follow the rules of docs/adding-a-tool.md."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import maestro.tools
from maestro.tools import registry, tool_folders

FOLDERS = {
    tool: Path(importlib.import_module(f"maestro.tools.{tool}").__path__[0]) for tool in tool_folders.TOOL_FOLDERS
}


def imported_names(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_every_folder_of_a_tool_is_listed() -> None:
    present = {file.parent.name for path in maestro.tools.__path__ for file in Path(path).glob("*/descriptor.py")}
    assert present == set(tool_folders.TOOL_FOLDERS)


@pytest.mark.parametrize("tool", FOLDERS)
def test_the_folder_of_a_tool_has_the_name_of_the_tool(tool: str) -> None:
    descriptor = registry.TOOLS[tool]
    assert descriptor.name == tool
    assert descriptor.hooks is None or descriptor.hooks.tool == tool
    assert registry.find_tool(tool) is descriptor
    assert all(registry.find_tool(alias) is descriptor for alias in descriptor.aliases)


@pytest.mark.parametrize("tool", FOLDERS)
def test_the_folder_of_a_tool_imports_neither_the_registry_nor_another_tool(tool: str) -> None:
    others = [other for other in FOLDERS if other != tool]
    refused = tuple(f"maestro.tools.{name}" for name in ("registry", "tool_folders", "environments", *others))
    names = [name for module in FOLDERS[tool].glob("*.py") for name in imported_names(module)]
    assert [name for name in names if f"{name}.".startswith(tuple(f"{module}." for module in refused))] == []


@pytest.mark.parametrize("tool", FOLDERS)
def test_the_package_of_a_tool_contains_only_a_docstring(tool: str) -> None:
    body = ast.parse((FOLDERS[tool] / "__init__.py").read_text()).body
    assert len(body) == 1 and isinstance(body[0], ast.Expr)
