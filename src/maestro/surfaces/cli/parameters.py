"""One field of a request, as the command line reads it. Everything here is learnt from the declaration."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import inspect

from maestro.domain import members, sessions

# Old names of values, accepted where the new ones are.
ALIASES: dict[type[enum.Enum], Mapping[str, enum.Enum]] = {
    sessions.Mode: sessions.MODE_ALIASES,
    members.Tool: members.TOOL_ALIASES,
    members.Permission: members.PERMISSION_ALIASES,
}

choices_in_label_max = 4


class Kind(enum.Enum):
    """How a value is written."""

    TEXT = "text"
    NUMBER = "number"
    SWITCH = "switch"
    CHOICE = "choice"
    DURATION = "duration"
    FILE = "file"
    PATH = "path"


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A field: as an argument by position, or as a flag."""

    field: str
    flag: str  # without the dashes
    label: str
    kind: Kind
    description: str
    required: bool
    default: Any
    nullable: bool = False
    many: bool = False
    splits: bool = False  # a list that commas separate
    long: bool = False  # may come from a file or standard input
    name_field: str = ""  # where a file's own name goes
    choices: tuple[str, ...] = ()
    or_none: bool = False  # a choice that '' takes back
    aliases: Mapping[str, str] = dataclasses.field(default_factory=dict)
    complete: str = ""
    also: str = ""  # another spelling of its flag
    bare: str | None = None  # what its flag means without a value

    @property
    def placeholder(self) -> str:
        """What stands for the value in a usage line."""
        if self.choices and len(self.choices) <= choices_in_label_max and not self.many:
            return "|".join(self.choices)
        return self.label


@dataclass(frozen=True)
class _Bare:
    """A declared type without what wraps it."""

    type: inspect.Type
    nullable: bool
    schema: dict[str, Any]
    extra: dict[str, Any]


def parameters(request: type[msgspec.Struct]) -> dict[str, Parameter]:
    """A request's fields by name: its own first, then those it shares with others."""
    described = inspect.type_info(request)
    assert isinstance(described, inspect.StructType), f"{request} is no Struct"
    fields = sorted(described.fields, key=lambda found: _distance(request, found.name))
    return {found.name: _parameter(found) for found in fields}


def _distance(request: type[msgspec.Struct], name: str) -> int:
    """How far up a field was declared."""
    declaring = [name in vars(kind).get("__annotations__", {}) for kind in request.__mro__]
    return declaring.index(True)


def _parameter(declared: inspect.Field) -> Parameter:
    bare = _bare(declared.type)
    item = _bare(bare.type.item_type) if isinstance(bare.type, inspect.ListType) else bare
    extra = {**item.extra, **bare.extra}
    values = item.type.cls if isinstance(item.type, inspect.EnumType) else extra.get("choices")
    many = item is not bare
    return Parameter(
        field=declared.name,
        flag=extra.get("flag", declared.name.replace("_", "-")),
        label=extra.get("label", extra.get("flag", declared.name).replace("-", "_").upper()),
        kind=_kind(item.type, extra),
        description=_description(bare, item, values),
        required=declared.required,
        default=_default(declared),
        nullable=bare.nullable,
        many=many,
        splits=many and not extra.get("repeat"),
        long=bool(extra.get("text")),
        name_field=extra.get("file", ""),
        choices=tuple(str(member.value) for member in values) if values else (),
        or_none="choices" in extra,
        aliases={old: str(new.value) for old, new in ALIASES.get(values, {}).items()} if values else {},
        complete=extra.get("complete", ""),
        also=extra.get("also", ""),
        bare=extra.get("bare"),
    )


def _bare(declared: inspect.Type) -> _Bare:
    """Take off `| None` and the metadata, in whatever order they came."""
    nullable, schema, extra = False, {}, {}  # type: ignore[var-annotated]
    while True:
        if isinstance(declared, inspect.Metadata):
            schema = {**(declared.extra_json_schema or {}), **schema}
            extra = {**(declared.extra or {}), **extra}
            declared = declared.type
        elif isinstance(declared, inspect.UnionType):
            (declared,) = [one for one in declared.types if not isinstance(one, inspect.NoneType)]
            nullable = True
        else:
            return _Bare(declared, nullable, schema, extra)


def _kind(declared: inspect.Type, extra: dict[str, Any]) -> Kind:
    said = {"duration": Kind.DURATION, "file": Kind.FILE, "path": Kind.PATH, "choices": Kind.CHOICE}
    for name, kind in said.items():
        if extra.get(name):
            return kind
    match declared:
        case inspect.BoolType():
            return Kind.SWITCH
        case inspect.IntType():
            return Kind.NUMBER
        case inspect.EnumType():
            return Kind.CHOICE
        case inspect.StrType():
            return Kind.TEXT
    raise TypeError(f"the command line cannot read a {type(declared).__name__}")


def _description(bare: _Bare, item: _Bare, values: type[enum.Enum] | None) -> str:
    own = bare.schema.get("description") or item.schema.get("description")
    return str(own or (values.__doc__ if values else None) or "").strip()


def _default(declared: inspect.Field) -> Any:
    if declared.required or declared.default_factory is not msgspec.NODEFAULT:
        return None
    return declared.default
