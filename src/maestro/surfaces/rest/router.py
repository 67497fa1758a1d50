"""Find the operation for a verb and a path, in a tree of path segments.

The routes come from the declarations in `operations/`.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from maestro.core import errors
from maestro.surfaces.rest.shapes import RequestShape

_PARAMETER = "{}"


class _PathNode:
    def __init__(self) -> None:
        self.below: dict[str, _PathNode] = {}
        self.shapes: dict[str, RequestShape] = {}


class Router:
    """The routes of all operations."""

    def __init__(self, shapes: Iterable[RequestShape]) -> None:
        self._root = _PathNode()
        for shape in shapes:
            node = self._root
            for part in shape.operation.http.path.strip("/").split("/"):
                node = node.below.setdefault(_PARAMETER if part.startswith("{") else part, _PathNode())
            assert shape.operation.http.verb not in node.shapes, f"two operations at {shape.operation.http}"
            node.shapes[shape.operation.http.verb] = shape

    def find_operation(self, verb: str, raw_path: str) -> tuple[RequestShape, dict[str, str]]:
        """Return the operation's shape, and the values in the path."""
        node, values = self._find_node(raw_path)
        shape = node.shapes.get(verb)
        if shape is None:
            raise WrongVerb(sorted(node.shapes))
        names = shape.operation.http.path_parameters
        return shape, dict(zip(names, values, strict=True))

    def _find_node(self, raw_path: str) -> tuple[_PathNode, list[str]]:
        node, values = self._root, []
        for part in raw_path.strip("/").split("/"):
            below = node.below.get(part)
            if below is None:
                below = node.below.get(_PARAMETER)
                values.append(_decode_segment(part))
            if below is None:
                raise errors.NotFound(
                    f"No operation has the path {raw_path}.", hint="/api/openapi.json lists the paths."
                )
            node = below
        if not node.shapes:
            raise errors.NotFound(f"No operation has the path {raw_path}.", hint="/api/openapi.json lists the paths.")
        return node, values


class WrongVerb(Exception):
    """The path has operations, but not for the verb of the request."""

    def __init__(self, allowed: list[str]) -> None:
        self.allowed = allowed
        super().__init__(", ".join(allowed))


def _decode_segment(part: str) -> str:
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise errors.Invalid("The path is not valid UTF-8.") from None
