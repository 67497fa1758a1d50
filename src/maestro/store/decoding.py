"""Decode rows into values by column name. Knows no driver and no SQL.

A `Decoder` belongs to one type of value: a Struct or a NamedTuple. A field takes the column of the same name, and
the type of the field decides how the column is converted. A driver calls `for_columns` once for each statement. The
result is a generated function that unpacks a row into local variables, one for each column of the statement.
Therefore the names cost nothing per row.
"""

from __future__ import annotations

import enum
import inspect
import types
import typing
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

import msgspec

from maestro.core.clock import UNIX_EPOCH
from maestro.domain.priorities import RankedEnum

Row = Sequence[Any]
T = TypeVar("T")
_PLAIN = (str, int, float, bytes, Any)


class Decoder(Generic[T]):
    """The decoder of one type of value.

    `converters` gives functions for fields that are not a single column. The parameters of a function name the
    columns that the function gets.
    """

    def __init__(self, shape: type[T], /, **converters: Callable[..., Any]) -> None:
        self.shape = shape
        self._converters = converters
        self._fields: tuple[tuple[str, Any, bool], ...] = ()
        self._functions: dict[tuple[str, ...], Callable[[Row], T]] = {}

    def for_columns(self, columns: Sequence[str]) -> Callable[[Row], T]:
        """Return the function that decodes a row with these columns.

        Refuse columns that no field uses, and columns without which a field has no value.
        """
        key = tuple(columns)
        if key not in self._functions:  # most statements about a table have the same columns
            self._require_matching(columns)
            self._functions[key] = self._generate_function(columns)
        return self._functions[key]

    def _generate_function(self, columns: Sequence[str]) -> Callable[[Row], T]:
        namespace: dict[str, Any] = {"_shape": self.shape, "_EPOCH": UNIX_EPOCH, "_timedelta": timedelta}
        arguments = [
            f"{name}={self._expression(name, kind, namespace)}"
            for name, kind, _ in self._shape_fields()
            if name in self._converters or name in columns
        ]
        source = f"def decode(row):\n    {', '.join(columns)}, = row\n    return _shape({', '.join(arguments)})"
        exec(compile(source, f"<decoder of {self.shape.__name__}>", "exec"), namespace)
        return typing.cast("Callable[[Row], T]", namespace["decode"])

    def _require_matching(self, columns: Sequence[str]) -> None:
        used = {name for name, _, _ in self._shape_fields() if name not in self._converters}
        needed = {name for name, _, is_required in self._shape_fields() if is_required and name in used}
        for converter in self._converters.values():
            needed.update(inspect.signature(converter).parameters)
        unused, missing = set(columns) - used - needed, needed - set(columns)
        if unused or missing or len(set(columns)) != len(columns):
            raise TypeError(
                f"The columns {', '.join(columns)} do not fit {self.shape.__name__}: "
                f"without use: {sorted(unused)}; missing: {sorted(missing)}. Name each column once, after its field."
            )

    def _shape_fields(self) -> tuple[tuple[str, Any, bool], ...]:
        """Return name and type of each field, and whether the field has no default."""
        if not self._fields:
            self._fields = _fields_of(self.shape)
        return self._fields

    def _expression(self, name: str, kind: Any, namespace: dict[str, Any]) -> str:
        """Return the expression for a field, and put its helpers into the namespace."""
        helper = f"_{name}"
        converter = self._converters.get(name)
        if converter is None:
            return _column_expression(name, kind, helper, namespace)
        namespace[helper] = converter
        return f"{helper}({', '.join(inspect.signature(converter).parameters)})"


def _fields_of(shape: type) -> tuple[tuple[str, Any, bool], ...]:
    if issubclass(shape, msgspec.Struct):
        return tuple((field.name, field.type, field.required) for field in msgspec.structs.fields(shape))
    defaults: dict[str, Any] = getattr(shape, "_field_defaults", {})
    return tuple((name, kind, name not in defaults) for name, kind in typing.get_type_hints(shape).items())


def _column_expression(column: str, kind: Any, helper: str, namespace: dict[str, Any]) -> str:
    """Return the expression that converts a column into a value of a field's type."""
    kind, is_optional = _split_optional(kind)
    if kind in _PLAIN:
        return column
    if kind is bool:
        return f"True if {column} else False"
    if kind is datetime:
        expression = f"_EPOCH + _timedelta(microseconds={column})"
        return f"None if {column} is None else {expression}" if is_optional else expression
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        namespace[helper] = _enum_members(kind)
        expression = f"{helper}[{column}]"
    else:
        namespace[helper] = msgspec.json.Decoder(kind).decode
        expression = f"{helper}({column})"
    return f"{expression} if {column} else None" if is_optional else expression


def _enum_members(kind: type[enum.Enum]) -> dict[Any, enum.Enum]:
    """Return the members of an enum by their stored value: the rank, or the name."""
    if issubclass(kind, RankedEnum):
        return {member.rank: member for member in kind}
    return {member.value: member for member in kind}


def _split_optional(kind: Any) -> tuple[Any, bool]:
    """Return a type without None, and whether None was part of the type."""
    if not isinstance(kind, types.UnionType) and typing.get_origin(kind) is not typing.Union:
        return kind, False
    (rest,) = (part for part in typing.get_args(kind) if part is not type(None))
    return rest, True
