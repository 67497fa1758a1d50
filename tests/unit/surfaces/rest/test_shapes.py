"""The fields of a request are read from path, query and body, and invalid fields are refused."""

from __future__ import annotations

import pytest

from maestro.core import errors
from maestro.operations import server, tasks
from maestro.operations.base import Operation
from maestro.surfaces.rest.shapes import shape_of


def read(operation: Operation, *, query: bytes = b"", body: bytes = b"", **params: str):
    return shape_of(operation).read_request(params, query, body)


def test_a_request_takes_fields_from_path_and_body() -> None:
    request = read(tasks.COMPLETE, id="vc#1", body=b'{"summary": "Done"}')
    assert (request.id, request.summary) == ("vc#1", "Done")
    assert read(tasks.COMPLETE, id="vc#1").id == "vc#1"  # without a body all other fields have their defaults


def test_a_request_takes_fields_from_the_query() -> None:
    request = read(tasks.LIST, query=b"project=vc&limit=3&mine=true")
    assert (request.project, request.limit, request.mine) == ("vc", 3, True)


def test_a_list_in_the_query_is_repeated_or_separated_by_commas() -> None:
    request = read(server.EVENTS, query=b"kind=mail.sent,task.ready&kind=task.started")
    assert request.kind == ["mail.sent", "task.ready", "task.started"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (b"limit=1&limit=2", "limit is given twice"),
        (b"nothing=1", "not valid"),
        (b"limit=many", "not valid"),
        (b"project=%ff", "not readable"),
        (b"&".join(b"a=%d" % number for number in range(300)), "not readable"),
    ],
)
def test_an_invalid_query_is_refused(query: bytes, message: str) -> None:
    with pytest.raises(errors.Invalid, match=message):
        read(tasks.LIST, query=query)


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"title": 3}', b'{"titel": "x"}', b"\xff"])
def test_an_invalid_body_is_refused(body: bytes) -> None:
    with pytest.raises(errors.Invalid):
        read(tasks.CREATE, body=body)
