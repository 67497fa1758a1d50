"""Derive the schemas of tools from the requests of operations, with only the parts that a model needs for a call.

The schemas have no titles, defaults, lengths or patterns: the server checks these, and its errors explain them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec
from msgspec import inspect

from maestro.domain.callers import Caller, Role
from maestro.surfaces.mcp.tools.tool_list import ALL_TOOLS, McpTool, ToolUse

PROJECT = "project"
_TYPES: tuple[tuple[type[inspect.Type], str], ...] = (
    (inspect.BoolType, "boolean"),
    (inspect.IntType, "integer"),
    (inspect.StrType, "string"),
    (inspect.BytesType, "string"),
    (inspect.EnumType, "string"),
)


class RequestField(msgspec.Struct, frozen=True):
    """A field of a request, as far as a tool needs it."""

    name: str
    json_type: str  # the JSON type
    is_list: bool  # the field is a list of this type
    choices: tuple[str, ...]
    is_required: bool
    is_duration: bool
    is_bytes: bool
    is_comma_separated: bool  # commas separate the values in a text
    parts: tuple[RequestField, ...] = ()  # the fields of an object


def list_tools(caller: Caller) -> list[dict[str, Any]]:
    """Return the tools of a caller, in the format of `tools/list`."""
    tools = [(tool, tool.uses_for(caller)) for tool in ALL_TOOLS]
    return [describe_tool(tool, uses, caller) for tool, uses in tools if uses]


OfferedUses = tuple[tuple[ToolUse, ...], ...]  # for each tool, the uses that a caller may call


def offered_uses(caller: Caller) -> OfferedUses:
    """Return the uses that a caller may call. Callers with the same uses get the same list of tools."""
    return tuple(tool.uses_for(caller) for tool in ALL_TOOLS)


def describe_tool(tool: McpTool, uses: tuple[ToolUse, ...], caller: Caller) -> dict[str, Any]:
    """Return one tool with the uses that the caller may call."""
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": _input_schema(tool, uses, caller.role is Role.PERSON),
    }


@lru_cache(256)
def _input_schema(tool: McpTool, uses: tuple[ToolUse, ...], with_project: bool) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    actions = [use.action for use in uses if use.action]
    if actions:
        properties["action"] = {"type": "string", "enum": actions}
    for use in uses:
        for argument in argument_names(use, with_project=with_project):
            # The first use decides the type: where another use takes a list, a single value is accepted too.
            properties.setdefault(argument, _argument_schema(tool, use, argument))
    required = [name for name in properties if name == "action" or _is_required(uses, name)]
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return schema | {"required": required} if required else schema


def argument_names(use: ToolUse, *, with_project: bool) -> tuple[str, ...]:
    """Return the arguments of a use. Only the person names a project; a session always works in its own project."""
    has_project = with_project and PROJECT in request_fields(use.operation.request)
    return (*use.arguments, PROJECT) if has_project else use.arguments


def _is_required(uses: tuple[ToolUse, ...], argument: str) -> bool:
    """Return whether every use requires an argument."""
    return all(argument in use.arguments and _field_of(use, argument).is_required for use in uses)


def _argument_schema(tool: McpTool, use: ToolUse, argument: str) -> dict[str, Any]:
    field = _field_of(use, argument)
    schema: dict[str, Any] = {"type": field.json_type}
    if field.parts:
        schema["properties"] = {part.name: {"type": part.json_type} for part in field.parts}
    if field.choices and argument in tool.enum_arguments:
        schema["enum"] = list(field.choices)
    if field.is_list and argument != "id":
        schema = {"type": "array", "items": schema}
    description = tool.argument_texts.get(argument)
    return schema | {"description": description} if description else schema


def _field_of(use: ToolUse, argument: str) -> RequestField:
    return request_fields(use.operation.request)[use.field_of(argument)]


@lru_cache(256)
def request_fields(request: type[msgspec.Struct]) -> dict[str, RequestField]:
    """Return the fields of a request type, by name."""
    struct = inspect.type_info(request)
    assert isinstance(struct, inspect.StructType)
    return {field.name: _describe_field(field) for field in struct.fields}


def _part_fields(kind: inspect.Type) -> tuple[RequestField, ...]:
    return tuple(map(_describe_field, kind.fields)) if isinstance(kind, inspect.StructType) else ()


def _describe_field(field: inspect.Field) -> RequestField:
    kind, extra = _unwrap_type(field.type)
    is_list = isinstance(kind, inspect.ListType)
    if isinstance(kind, inspect.ListType):
        kind, _ = _unwrap_type(kind.item_type)
    return RequestField(
        name=field.name,
        json_type=next((name for type_, name in _TYPES if isinstance(kind, type_)), "object"),
        is_list=is_list,
        choices=tuple(str(member.value) for member in kind.cls) if isinstance(kind, inspect.EnumType) else (),
        is_required=field.required,
        is_duration=bool(extra.get("duration")),
        is_bytes=isinstance(kind, inspect.BytesType),
        is_comma_separated=is_list and not extra.get("repeat"),
        parts=_part_fields(kind),
    )


def _unwrap_type(kind: inspect.Type) -> tuple[inspect.Type, dict[str, Any]]:
    """Return a type without its metadata and without None, and the extra data of its metadata."""
    extra: dict[str, Any] = {}
    while isinstance(kind, inspect.Metadata | inspect.UnionType):
        if isinstance(kind, inspect.Metadata):
            extra = extra | (kind.extra or {})
            kind = kind.type
        else:
            kind = next(part for part in kind.types if not isinstance(part, inspect.NoneType))
    return kind, extra
