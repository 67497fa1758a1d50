"""Read a request's fields from HTTP: some from the path, the rest from the query or the body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from maestro.core import errors
from maestro.operations.base import Operation


@dataclass(frozen=True)
class RequestShape:
    """The parts of an HTTP request that hold the fields of one operation."""

    operation: Operation
    path_type: type[msgspec.Struct]
    rest_type: type[msgspec.Struct]
    has_body: bool
    list_fields: frozenset[str]  # query fields that may be repeated or separated by commas

    def read_request(self, params: dict[str, str], query: bytes, body: bytes) -> msgspec.Struct:
        """Return the request with all fields checked."""
        try:
            if self.has_body and not params:
                return msgspec.json.decode(body or b"{}", type=self.operation.request)
            rest = self._read_body(body) if self.has_body else self._read_query(query)
            return self.operation.request(**_field_values(msgspec.convert(params, self.path_type)), **rest)
        except msgspec.ValidationError as error:
            raise errors.Invalid(f"The request is not valid: {error}.") from None
        except (msgspec.DecodeError, ValueError) as error:  # not JSON, not UTF-8, or too many fields
            raise errors.Invalid(f"The request is not readable JSON: {error}.") from None

    def _read_body(self, body: bytes) -> dict[str, Any]:
        return _field_values(msgspec.json.decode(body or b"{}", type=self.rest_type))

    def _read_query(self, query: bytes) -> dict[str, Any]:
        values: dict[str, Any] = {}
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=200)
        for name, value in pairs:
            if name in self.list_fields:
                values.setdefault(name, []).extend(part for part in value.split(",") if part)
            elif name in values:
                raise errors.Invalid(f"{name} is given twice.")
            else:
                values[name] = value
        return _field_values(msgspec.convert(values, self.rest_type, strict=False))


def shape_of(operation: Operation) -> RequestShape:
    """Split an operation's request between the path and the rest."""
    in_path = operation.http.path_parameters
    fields = msgspec.structs.fields(operation.request)
    name = "".join(part.capitalize() for part in operation.name.split("."))
    path = _define_struct(f"{name}Path", [field for field in fields if field.name in in_path])
    rest = _define_struct(f"{name}Request", [field for field in fields if field.name not in in_path])
    lists = frozenset(field.name for field in fields if _holds_list(field.type))
    has_body = operation.http.verb in ("POST", "PATCH", "PUT")
    return RequestShape(operation, path, rest, has_body, lists)


def _field_values(struct: msgspec.Struct) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def _define_struct(name: str, fields: list[msgspec.structs.FieldInfo]) -> type[msgspec.Struct]:
    definitions: list[Any] = []
    for field in fields:
        if field.required:
            definitions.append((field.name, field.type))
        elif field.default_factory is not msgspec.NODEFAULT:
            definitions.append((field.name, field.type, msgspec.field(default_factory=field.default_factory)))
        else:
            definitions.append((field.name, field.type, field.default))
    return msgspec.defstruct(name, definitions, kw_only=True, forbid_unknown_fields=True, module=__name__)


def _holds_list(field_type: Any) -> bool:
    def holds_list(kind: msgspec.inspect.Type) -> bool:
        if isinstance(kind, msgspec.inspect.UnionType):
            return any(holds_list(part) for part in kind.types)
        if isinstance(kind, msgspec.inspect.Metadata):
            return holds_list(kind.type)
        return isinstance(kind, msgspec.inspect.ListType)

    return holds_list(msgspec.inspect.type_info(field_type))
