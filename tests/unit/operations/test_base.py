"""The declaration of an operation defines its route, its group and the fields of its request."""

from __future__ import annotations

import msgspec
import pytest

from maestro.domain.callers import Callers
from maestro.operations import base


class ShowThing(base.InProject, frozen=True, kw_only=True):
    id: str


SHOW = base.Operation(
    "thing.show",
    ShowThing,
    dict,
    callers=Callers.PERSON,
    http=base.GET("/api/things/{id}/parts/{part}"),
    summary="Show a thing.",
    effect=base.Effect.READ,
)


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("/api/tasks", []),
        ("/api/tasks/{id}/complete", ["id"]),
        ("/api/tasks/{id}/documents/{document}", ["id", "document"]),
    ],
)
def test_a_route_lists_the_parameters_of_its_path_in_order(path: str, parameters: list[str]) -> None:
    assert base.GET(path).path_parameters == parameters


def test_each_route_function_sets_its_verb() -> None:
    routes = [function("/x") for function in (base.GET, base.POST, base.PATCH, base.DELETE)]
    assert [(route.verb, route.path) for route in routes] == [
        ("GET", "/x"),
        ("POST", "/x"),
        ("PATCH", "/x"),
        ("DELETE", "/x"),
    ]


def test_the_group_of_an_operation_is_the_first_part_of_its_name() -> None:
    assert SHOW.group_name == "thing"


def test_an_operation_has_no_command_and_no_errors_by_default() -> None:
    assert (SHOW.command, SHOW.examples, SHOW.errors) == (None, (), ())


def test_a_request_refuses_unknown_fields() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field `colour`"):
        msgspec.convert({"id": "1", "colour": "red"}, ShowThing)
    assert msgspec.convert({"id": "1"}, ShowThing).project == ""


def test_a_list_page_without_a_cursor_is_the_last_page() -> None:
    assert msgspec.json.encode(base.ListPage()) == b'{"cursor":null}'
