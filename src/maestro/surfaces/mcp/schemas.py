"""Tools' schemas, derived from the operations' requests and cut to what a model needs to write a call.

No titles, defaults, lengths or patterns: the server checks those anyway, and says in words what is wrong.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec
from msgspec import inspect

from maestro.domain.callers import Caller, Role
from maestro.surfaces.mcp.tools import ALL, Tool, Use

PROJECT = "project"
_TYPES: tuple[tuple[type[inspect.Type], str], ...] = (
    (inspect.BoolType, "boolean"),
    (inspect.IntType, "integer"),
    (inspect.StrType, "string"),
    (inspect.BytesType, "string"),
    (inspect.EnumType, "string"),
)


class Field(msgspec.Struct, frozen=True):
    """A field of a request, as far as a tool needs to know it."""

    name: str
    type: str  # JSON's
    many: bool  # a list of these
    choices: tuple[str, ...]
    required: bool
    is_duration: bool
    is_bytes: bool
    splits: bool  # commas separate its values
    parts: tuple[Field, ...] = ()  # of an object


def listed(caller: Caller) -> list[dict[str, Any]]:
    """The tools that a caller sees, as `tools/list` says them."""
    shown = [(tool, tool.uses_for(caller)) for tool in ALL]
    return [described(tool, uses, caller) for tool, uses in shown if uses]


Offer = tuple[tuple[Use, ...], ...]  # of each tool, what of it a caller may


def offer(caller: Caller) -> Offer:
    """What makes one caller's list another than another's."""
    return tuple(tool.uses_for(caller) for tool in ALL)


def described(tool: Tool, uses: tuple[Use, ...], caller: Caller) -> dict[str, Any]:
    """One tool, with those of its uses that the caller may."""
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": _schema(tool, uses, caller.role is Role.PERSON),
    }


@lru_cache(256)
def _schema(tool: Tool, uses: tuple[Use, ...], with_project: bool) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    actions = [use.action for use in uses if use.action]
    if actions:
        properties["action"] = {"type": "string", "enum": actions}
    for use in uses:
        for argument in arguments(use, with_project=with_project):
            # The first use counts: where another takes a list, one value is as good as a list of one.
            properties.setdefault(argument, _property(tool, use, argument))
    required = [name for name in properties if name == "action" or _everywhere(uses, name)]
    found: dict[str, Any] = {"type": "object", "properties": properties}
    return found | {"required": required} if required else found


def arguments(use: Use, *, with_project: bool) -> tuple[str, ...]:
    """The arguments of a use. A session is in its project; only the person must say which one."""
    named = with_project and PROJECT in fields(use.operation.request)
    return (*use.shows, PROJECT) if named else use.shows


def _everywhere(uses: tuple[Use, ...], argument: str) -> bool:
    """Whether no use can do without an argument."""
    return all(argument in use.shows and _field(use, argument).required for use in uses)


def _property(tool: Tool, use: Use, argument: str) -> dict[str, Any]:
    found = _field(use, argument)
    one: dict[str, Any] = {"type": found.type}
    if found.parts:
        one["properties"] = {part.name: {"type": part.type} for part in found.parts}
    if found.choices and argument in tool.lists:
        one["enum"] = list(found.choices)
    if found.many and argument != "id":
        one = {"type": "array", "items": one}
    said = tool.says.get(argument)
    return one | {"description": said} if said else one


def _field(use: Use, argument: str) -> Field:
    return fields(use.operation.request)[use.field_of(argument)]


@lru_cache(256)
def fields(request: type[msgspec.Struct]) -> dict[str, Field]:
    """A request's fields by name."""
    found = inspect.type_info(request)
    assert isinstance(found, inspect.StructType)
    return {one.name: _told(one) for one in found.fields}


def _parts(kind: inspect.Type) -> tuple[Field, ...]:
    return tuple(map(_told, kind.fields)) if isinstance(kind, inspect.StructType) else ()


def _told(one: inspect.Field) -> Field:
    kind, extra = _bare(one.type)
    many = isinstance(kind, inspect.ListType)
    if isinstance(kind, inspect.ListType):
        kind, _ = _bare(kind.item_type)
    return Field(
        name=one.name,
        type=next((name for type_, name in _TYPES if isinstance(kind, type_)), "object"),
        many=many,
        choices=tuple(str(member.value) for member in kind.cls) if isinstance(kind, inspect.EnumType) else (),
        required=one.required,
        is_duration=bool(extra.get("duration")),
        is_bytes=isinstance(kind, inspect.BytesType),
        splits=many and not extra.get("repeat"),
        parts=_parts(kind),
    )


def _bare(kind: inspect.Type) -> tuple[inspect.Type, dict[str, Any]]:
    """A type without what wraps it, and what was said beside it."""
    extra: dict[str, Any] = {}
    while isinstance(kind, inspect.Metadata | inspect.UnionType):
        if isinstance(kind, inspect.Metadata):
            extra = extra | (kind.extra or {})
            kind = kind.type
        else:
            kind = next(one for one in kind.types if not isinstance(one, inspect.NoneType))
    return kind, extra
