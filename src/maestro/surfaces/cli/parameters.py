"""Describe the fields of a request as parameters of a command. All facts come from the declaration."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import inspect

from maestro.domain import members, sessions
from maestro.tools import registry

# Old names of values, accepted in place of the new names.
ALIASES: dict[type[enum.Enum], Mapping[str, enum.Enum]] = {
    sessions.SessionMode: sessions.MODE_ALIASES,
    registry.Tool: registry.TOOL_ALIASES,
    members.Permission: members.PERMISSION_ALIASES,
}

choices_in_label_max = 4


class ValueKind(enum.Enum):
    """The syntax of a value."""

    TEXT = "text"
    NUMBER = "number"
    SWITCH = "switch"
    CHOICE = "choice"
    DURATION = "duration"
    FILE = "file"
    PATH = "path"


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A field of a request, written as a positional argument or as a flag."""

    field: str
    flag: str  # without the dashes
    label: str
    kind: ValueKind
    description: str
    required: bool
    default: Any
    nullable: bool = False
    is_list: bool = False
    is_comma_separated: bool = False  # a list that commas separate
    is_long_text: bool = False  # the value may come from a file or standard input
    name_field: str = ""  # the field that receives the file's name
    choices: tuple[str, ...] = ()
    is_clearable: bool = False  # '' clears the choice
    aliases: Mapping[str, str] = dataclasses.field(default_factory=dict)
    complete: str = ""
    other_flag: str = ""  # another spelling of the flag
    value_without_argument: str | None = None  # the value of the flag when it is written without a value

    @property
    def placeholder(self) -> str:
        """Return the placeholder of the value in a usage line."""
        if self.choices and len(self.choices) <= choices_in_label_max and not self.is_list:
            return "|".join(self.choices)
        return self.label


@dataclass(frozen=True)
class _BareType:
    """A declared type without `| None` and metadata, which are kept beside it."""

    type: inspect.Type
    nullable: bool
    schema: dict[str, Any]
    extra: dict[str, Any]


def parameters_of(request: type[msgspec.Struct]) -> dict[str, Parameter]:
    """Return the fields of a request by name: its own fields first, inherited fields last."""
    struct = inspect.type_info(request)
    assert isinstance(struct, inspect.StructType), f"{request} is not a Struct"
    fields = sorted(struct.fields, key=lambda field: _inheritance_distance(request, field.name))
    return {field.name: _build_parameter(field) for field in fields}


def _inheritance_distance(request: type[msgspec.Struct], name: str) -> int:
    """Return the distance to the base class that declares a field."""
    declaring = [name in vars(kind).get("__annotations__", {}) for kind in request.__mro__]
    return declaring.index(True)


def _build_parameter(declared: inspect.Field) -> Parameter:
    bare = _unwrap_type(declared.type)
    item = _unwrap_type(bare.type.item_type) if isinstance(bare.type, inspect.ListType) else bare
    extra = {**item.extra, **bare.extra}
    values = item.type.cls if isinstance(item.type, inspect.EnumType) else extra.get("choices")
    is_list = item is not bare
    return Parameter(
        field=declared.name,
        flag=extra.get("flag", declared.name.replace("_", "-")),
        label=extra.get("label", extra.get("flag", declared.name).replace("-", "_").upper()),
        kind=_value_kind(item.type, extra),
        description=_parameter_description(bare, item, values),
        required=declared.required,
        default=_default_value(declared),
        nullable=bare.nullable,
        is_list=is_list,
        is_comma_separated=is_list and not extra.get("repeat"),
        is_long_text=bool(extra.get("text")),
        name_field=extra.get("file", ""),
        choices=tuple(str(member.value) for member in values) if values else (),
        is_clearable="choices" in extra,
        aliases={old: str(new.value) for old, new in ALIASES.get(values, {}).items()} if values else {},
        complete=extra.get("complete", ""),
        other_flag=extra.get("also", ""),
        value_without_argument=extra.get("bare"),
    )


def _unwrap_type(declared: inspect.Type) -> _BareType:
    """Remove `| None` and the metadata from a type, in any order."""
    nullable, schema, extra = False, {}, {}  # type: ignore[var-annotated]
    while True:
        if isinstance(declared, inspect.Metadata):
            schema = {**(declared.extra_json_schema or {}), **schema}
            extra = {**(declared.extra or {}), **extra}
            declared = declared.type
        elif isinstance(declared, inspect.UnionType):
            (declared,) = [each for each in declared.types if not isinstance(each, inspect.NoneType)]
            nullable = True
        else:
            return _BareType(declared, nullable, schema, extra)


def _value_kind(declared: inspect.Type, extra: dict[str, Any]) -> ValueKind:
    kinds = {
        "duration": ValueKind.DURATION,
        "file": ValueKind.FILE,
        "path": ValueKind.PATH,
        "choices": ValueKind.CHOICE,
    }
    for name, kind in kinds.items():
        if extra.get(name):
            return kind
    match declared:
        case inspect.BoolType():
            return ValueKind.SWITCH
        case inspect.IntType():
            return ValueKind.NUMBER
        case inspect.EnumType():
            return ValueKind.CHOICE
        case inspect.StrType():
            return ValueKind.TEXT
    raise TypeError(f"the command line cannot read a {type(declared).__name__}")


def _parameter_description(bare: _BareType, item: _BareType, values: type[enum.Enum] | None) -> str:
    text = bare.schema.get("description") or item.schema.get("description")
    return str(text or (values.__doc__ if values else None) or "").strip()


def _default_value(declared: inspect.Field) -> Any:
    if declared.required or declared.default_factory is not msgspec.NODEFAULT:
        return None
    return declared.default
