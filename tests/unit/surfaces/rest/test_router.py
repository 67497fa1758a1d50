"""The router finds the operation for a verb and a path."""

from __future__ import annotations

import pytest

from maestro.core import errors
from maestro.operations.registry import REGISTRY
from maestro.surfaces.rest.router import Router, WrongVerb
from maestro.surfaces.rest.shapes import shape_of

ROUTER = Router([shape_of(operation) for operation in REGISTRY.values()])


@pytest.mark.parametrize("operation", REGISTRY.values(), ids=lambda operation: operation.name)
def test_every_operation_is_found_by_its_verb_and_path(operation) -> None:
    path = operation.http.path
    for name in operation.http.path_parameters:
        path = path.replace("{" + name + "}", f"value-{name}")
    shape, values = ROUTER.find_operation(operation.http.verb, path)
    assert shape.operation is operation
    assert values == {name: f"value-{name}" for name in operation.http.path_parameters}


def test_values_in_a_path_are_decoded() -> None:
    shape, values = ROUTER.find_operation("GET", "/api/tasks/vc%2312")
    assert shape.operation.name == "task.show" and values == {"id": "vc#12"}
    with pytest.raises(errors.Invalid, match="not valid UTF-8"):
        ROUTER.find_operation("GET", "/api/tasks/%ff")


@pytest.mark.parametrize("path", ["/api/nothing", "/api", "/", "/api/tasks/1/2/3/4"])
def test_an_unknown_path_is_not_found(path: str) -> None:
    with pytest.raises(errors.NotFound, match="No operation has the path"):
        ROUTER.find_operation("GET", path)


def test_a_wrong_verb_is_refused_with_the_allowed_verbs() -> None:
    with pytest.raises(WrongVerb) as refused:
        ROUTER.find_operation("DELETE", "/api/tasks")
    assert refused.value.allowed == ["GET", "POST"] and str(refused.value) == "GET, POST"
