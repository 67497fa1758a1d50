"""Finds the operation for a verb and path: a walk down a tree, its length that of the path."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from maestro.core import errors
from maestro.surfaces.rest.shapes import Shape

_ANY = "{}"


class _Node:
    def __init__(self) -> None:
        self.below: dict[str, _Node] = {}
        self.shapes: dict[str, Shape] = {}


class Router:
    """Every route there is."""

    def __init__(self, shapes: Iterable[Shape]) -> None:
        self._root = _Node()
        for shape in shapes:
            node = self._root
            for part in shape.operation.http.path.strip("/").split("/"):
                node = node.below.setdefault(_ANY if part.startswith("{") else part, _Node())
            assert shape.operation.http.verb not in node.shapes, f"two operations at {shape.operation.http}"
            node.shapes[shape.operation.http.verb] = shape

    def find(self, verb: str, raw_path: str) -> tuple[Shape, dict[str, str]]:
        """The operation, and the values in its path."""
        node, values = self._walk(raw_path)
        shape = node.shapes.get(verb)
        if shape is None:
            raise WrongVerb(sorted(node.shapes))
        names = shape.operation.http.parameters
        return shape, dict(zip(names, values, strict=True))

    def _walk(self, raw_path: str) -> tuple[_Node, list[str]]:
        node, values = self._root, []
        for part in raw_path.strip("/").split("/"):
            below = node.below.get(part)
            if below is None:
                below = node.below.get(_ANY)
                values.append(_decoded(part))
            if below is None:
                raise errors.NotFound(f"There is nothing at {raw_path}.", hint="See /api/openapi.json.")
            node = below
        if not node.shapes:
            raise errors.NotFound(f"There is nothing at {raw_path}.", hint="See /api/openapi.json.")
        return node, values


class WrongVerb(Exception):
    """The path is known, but not with this verb."""

    def __init__(self, allowed: list[str]) -> None:
        self.allowed = allowed
        super().__init__(", ".join(allowed))


def _decoded(part: str) -> str:
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise errors.Invalid("The path is not valid UTF-8.") from None
