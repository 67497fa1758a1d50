"""The OpenAPI document describes every operation with its parameters, body and responses."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.operations import mail, server, tasks
from maestro.operations.base import Effect, Operation
from maestro.operations.registry import REGISTRY
from maestro.surfaces.rest.openapi import build_document
from maestro.surfaces.rest.shapes import shape_of

DOCUMENT = build_document([shape_of(operation) for operation in REGISTRY.values()], version="1.2.3")


def described(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["paths"][operation.http.path][operation.http.verb.lower()]
    return found


@pytest.mark.parametrize("operation", REGISTRY.values(), ids=lambda operation: operation.name)
def test_every_operation_is_described_with_its_path_parameters(operation: Operation) -> None:
    found = described(operation)
    assert found["operationId"] == operation.name and found["summary"] == operation.summary
    in_path = {parameter["name"] for parameter in found["parameters"] if parameter["in"] == "path"}
    assert in_path == set(operation.http.path_parameters)
    assert all(parameter["required"] for parameter in found["parameters"] if parameter["in"] == "path")
    keys = [parameter["name"] for parameter in found["parameters"] if parameter["in"] == "header"]
    assert keys == (["Idempotency-Key"] if operation.effect is Effect.WRITE else [])


def test_a_body_is_required_only_with_required_fields() -> None:
    assert described(tasks.CREATE)["requestBody"]["required"] is True
    assert described(tasks.COMPLETE)["requestBody"]["required"] is False
    assert "requestBody" not in described(tasks.LIST)


def test_an_optional_query_parameter_is_not_nullable() -> None:
    parameters = {parameter["name"]: parameter for parameter in described(tasks.LIST)["parameters"]}
    assert not parameters["project"]["required"]
    assert {"type": "null"} not in parameters["project"]["schema"].get("anyOf", ())


def test_the_responses_of_an_operation_contain_the_statuses_of_its_errors() -> None:
    responses = described(tasks.COMPLETE)["responses"]
    assert {"200", "400", "401", "403", "404", "409", "413", "507"} <= set(responses)
    assert "408" in described(mail.WAIT)["responses"] and "408" not in responses
    assert "text/event-stream" in described(server.EVENTS)["responses"]["200"]["content"]


def test_every_reference_leads_to_a_schema() -> None:
    schemas = DOCUMENT["components"]["schemas"]

    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            return own + [ref for item in value.values() for ref in references(item)]
        return [ref for item in value for ref in references(item)] if isinstance(value, list) else []

    assert {ref.rpartition("/")[2] for ref in references(DOCUMENT)} <= set(schemas)
    assert DOCUMENT["info"]["version"] == "1.2.3" and "Error" in schemas
