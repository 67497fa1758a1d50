"""A request's fields as HTTP carries them: some in the path, the rest in the query or the body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from maestro.core import errors
from maestro.operations.base import Operation


@dataclass(frozen=True)
class Shape:
    """How one operation is read from a request."""

    operation: Operation
    path: type[msgspec.Struct]
    rest: type[msgspec.Struct]
    has_body: bool
    lists: frozenset[str]  # query fields that may be repeated or separated by commas

    def read(self, params: dict[str, str], query: bytes, body: bytes) -> msgspec.Struct:
        """The request, checked field by field."""
        try:
            if self.has_body and not params:
                return msgspec.json.decode(body or b"{}", type=self.operation.request)
            rest = self._from_body(body) if self.has_body else self._from_query(query)
            return self.operation.request(**_fields(msgspec.convert(params, self.path)), **rest)
        except msgspec.ValidationError as error:
            raise errors.Invalid(f"The request is not valid: {error}.") from None
        except (msgspec.DecodeError, ValueError) as error:  # no JSON, no UTF-8, too many fields
            raise errors.Invalid(f"The request is not JSON that can be read: {error}.") from None

    def _from_body(self, body: bytes) -> dict[str, Any]:
        return _fields(msgspec.json.decode(body or b"{}", type=self.rest))

    def _from_query(self, query: bytes) -> dict[str, Any]:
        given: dict[str, Any] = {}
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=200)
        for name, value in pairs:
            if name in self.lists:
                given.setdefault(name, []).extend(part for part in value.split(",") if part)
            elif name in given:
                raise errors.Invalid(f"{name} is given twice.")
            else:
                given[name] = value
        return _fields(msgspec.convert(given, self.rest, strict=False))


def shape_of(operation: Operation) -> Shape:
    """Split an operation's request between path and rest."""
    in_path = operation.http.parameters
    fields = msgspec.structs.fields(operation.request)
    name = "".join(word.capitalize() for word in operation.name.split("."))
    path = _struct(f"{name}Path", [field for field in fields if field.name in in_path])
    rest = _struct(f"{name}Request", [field for field in fields if field.name not in in_path])
    lists = frozenset(field.name for field in fields if _is_list(field.type))
    has_body = operation.http.verb in ("POST", "PATCH", "PUT")
    return Shape(operation, path, rest, has_body, lists)


def _fields(struct: msgspec.Struct) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def _struct(name: str, fields: list[msgspec.structs.FieldInfo]) -> type[msgspec.Struct]:
    definitions: list[Any] = []
    for field in fields:
        if field.required:
            definitions.append((field.name, field.type))
        elif field.default_factory is not msgspec.NODEFAULT:
            definitions.append((field.name, field.type, msgspec.field(default_factory=field.default_factory)))
        else:
            definitions.append((field.name, field.type, field.default))
    return msgspec.defstruct(name, definitions, kw_only=True, forbid_unknown_fields=True, module=__name__)


def _is_list(kind: Any) -> bool:
    def holds_list(found: msgspec.inspect.Type) -> bool:
        if isinstance(found, msgspec.inspect.UnionType):
            return any(holds_list(part) for part in found.types)
        if isinstance(found, msgspec.inspect.Metadata):
            return holds_list(found.type)
        return isinstance(found, msgspec.inspect.ListType)

    return holds_list(msgspec.inspect.type_info(kind))
