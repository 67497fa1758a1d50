"""Generate the OpenAPI 3.1 document from the registry of operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from maestro.core import errors
from maestro.operations.base import Effect
from maestro.operations.server import EVENTS
from maestro.surfaces.rest.shapes import RequestShape
from maestro.surfaces.rest.statuses import status_of

_SCHEMA_REF = "#/components/schemas/{name}"
_COMMON_ERRORS = (errors.Invalid, errors.NotAuthenticated, errors.NotPermitted, errors.StorageFailed)
_WRITE_ERRORS = (errors.TooLarge, errors.KeyReused, errors.StorageFull)


class Error(msgspec.Struct, frozen=True, kw_only=True):
    """An error: its code, its message, and a hint for the next step."""

    code: str
    message: str
    hint: str
    retryable: bool
    data: dict[str, Any]


def build_document(shapes: Sequence[RequestShape], *, version: str) -> dict[str, Any]:
    """Return the OpenAPI document."""
    types: list[Any] = [Error]
    for shape in shapes:
        types += [shape.operation.response, shape.path_type, shape.rest_type]
    schemas, components = msgspec.json.schema_components(types, ref_template=_SCHEMA_REF)
    by_type = dict(zip(types, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for shape in shapes:
        route = shape.operation.http
        paths.setdefault(route.path, {})[route.verb.lower()] = _describe_operation(shape, by_type, components)
    used_schemas = {name: schema for name, schema in components.items() if not name.endswith("Path")}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Maestro",
            "version": version,
            "description": "The coordination layer for coding agents.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {"schemas": used_schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _describe_operation(shape: RequestShape, by_type: dict[Any, Any], components: dict[str, Any]) -> dict[str, Any]:
    operation = shape.operation
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.group_name],
        "parameters": _parameters(shape.path_type, components, "path"),
        "responses": _responses(shape, by_type[operation.response]),
    }
    if shape.has_body:
        described["requestBody"] = {
            "required": any(field.required for field in msgspec.structs.fields(shape.rest_type)),
            "content": {"application/json": {"schema": by_type[shape.rest_type]}},
        }
    else:
        described["parameters"] += _parameters(shape.rest_type, components, "query")
    if operation.effect is Effect.WRITE:
        described["parameters"].append(_KEY_PARAMETER)
    return described


_KEY_PARAMETER = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same key answers with the first result, for a week.",
    "schema": {"type": "string", "maxLength": 200, "pattern": "^[ -~]*$"},
}


def _parameters(struct: type[msgspec.Struct], components: dict[str, Any], location: str) -> list[dict[str, Any]]:
    schema = components.get(struct.__name__, {})
    required = set(schema.get("required", ()))
    return [
        {
            "name": name,
            "in": location,
            "required": location == "path" or name in required,
            "schema": _without_null(described),
        }
        for name, described in schema.get("properties", {}).items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a parameter's schema without null: a client omits an optional parameter instead of sending null."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1:
        return {**choices[0], **({"description": schema["description"]} if "description" in schema else {})}
    return schema


def _responses(shape: RequestShape, success: dict[str, Any]) -> dict[str, Any]:
    operation = shape.operation
    success_content: dict[str, Any] = {"application/json": {"schema": success}}
    if operation is EVENTS:
        success_content["text/event-stream"] = {"schema": {"type": "string"}}
    kinds = [*_COMMON_ERRORS, *operation.errors, *(_WRITE_ERRORS if shape.has_body else ())]
    if operation.effect is Effect.ACTION:
        kinds.append(errors.TimedOut)
    failures: dict[str, list[str]] = {}
    for kind in kinds:
        failures.setdefault(str(status_of(kind)), []).append(kind.code)
    described = {"200": {"description": "Done.", "content": success_content}}
    for status, codes in sorted(failures.items()):
        described[status] = {
            "description": ", ".join(sorted(set(codes))),
            "content": {"application/json": {"schema": {"$ref": _SCHEMA_REF.format(name="Error")}}},
        }
    return described
