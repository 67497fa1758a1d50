"""OpenAPI 3.1 from the registry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from maestro.core import errors
from maestro.operations.base import Effect
from maestro.operations.server import EVENTS
from maestro.surfaces.rest.shapes import Shape
from maestro.surfaces.rest.statuses import status_of

_REF = "#/components/schemas/{name}"
_ALWAYS = (errors.Invalid, errors.NotAuthenticated, errors.NotPermitted, errors.StorageFailed)
_WRITES = (errors.TooLarge, errors.KeyReused, errors.StorageFull)


class Error(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong, what is allowed, and what to do next."""

    code: str
    message: str
    hint: str
    retryable: bool
    data: dict[str, Any]


def document(shapes: Sequence[Shape], *, version: str) -> dict[str, Any]:
    """The whole description."""
    types: list[Any] = [Error]
    for shape in shapes:
        types += [shape.operation.response, shape.path, shape.rest]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    by_type = dict(zip(types, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for shape in shapes:
        route = shape.operation.http
        paths.setdefault(route.path, {})[route.verb.lower()] = _operation(shape, by_type, components)
    used = {name: schema for name, schema in components.items() if not name.endswith("Path")}
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
        "components": {"schemas": used, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(shape: Shape, by_type: dict[Any, Any], components: dict[str, Any]) -> dict[str, Any]:
    operation = shape.operation
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.group],
        "parameters": _parameters(shape.path, components, "path"),
        "responses": _responses(shape, by_type[operation.response]),
    }
    if shape.has_body:
        described["requestBody"] = {
            "required": any(field.required for field in msgspec.structs.fields(shape.rest)),
            "content": {"application/json": {"schema": by_type[shape.rest]}},
        }
    else:
        described["parameters"] += _parameters(shape.rest, components, "query")
    if operation.effect is Effect.WRITE:
        described["parameters"].append(_KEY)
    return described


_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same key answers with the first result, for a week.",
    "schema": {"type": "string", "maxLength": 200, "pattern": "^[ -~]*$"},
}


def _parameters(struct: type[msgspec.Struct], components: dict[str, Any], place: str) -> list[dict[str, Any]]:
    schema = components.get(struct.__name__, {})
    required = set(schema.get("required", ()))
    return [
        {
            "name": name,
            "in": place,
            "required": place == "path" or name in required,
            "schema": _without_null(described),
        }
        for name, described in schema.get("properties", {}).items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter that may be missing is left out, never sent as null."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1:
        return {**choices[0], **({"description": schema["description"]} if "description" in schema else {})}
    return schema


def _responses(shape: Shape, success: dict[str, Any]) -> dict[str, Any]:
    operation = shape.operation
    good: dict[str, Any] = {"application/json": {"schema": success}}
    if operation is EVENTS:
        good["text/event-stream"] = {"schema": {"type": "string"}}
    kinds = [*_ALWAYS, *operation.errors, *(_WRITES if shape.has_body else ())]
    if operation.effect is Effect.ACTION:
        kinds.append(errors.TimedOut)
    failures: dict[str, list[str]] = {}
    for kind in kinds:
        failures.setdefault(str(status_of(kind)), []).append(kind.code)
    described = {"200": {"description": "Done.", "content": good}}
    for status, codes in sorted(failures.items()):
        described[status] = {
            "description": ", ".join(sorted(set(codes))),
            "content": {"application/json": {"schema": {"$ref": _REF.format(name="Error")}}},
        }
    return described
