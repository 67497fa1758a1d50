"""The decoder assigns columns to fields by name, converts values by the field's type, and refuses other columns."""

from __future__ import annotations

import enum
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec
import pytest

from maestro.domain.priorities import Priority
from maestro.store.decoding import Decoder


class Colour(enum.StrEnum):
    RED = "red"


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    size: int | None = None
    colour: Colour | None = None
    priority: Priority = Priority.LOW
    ready: bool = False
    texts: list[str] = []
    marks: frozenset[str] | None = None
    at: datetime | None = None
    data: dict[str, Any] = {}


class Pair(NamedTuple):
    first: str
    second: datetime
    third: int = 3


SAMPLE = Decoder(Sample)


def decode(columns: dict[str, Any], decoder: Decoder[Any] = SAMPLE) -> Any:
    return decoder.for_columns(list(columns))(list(columns.values()))


def test_columns_are_assigned_to_fields_by_name_in_any_order() -> None:
    assert decode({"size": 3, "name": "a"}) == decode({"name": "a", "size": 3}) == Sample(name="a", size=3)


@pytest.mark.parametrize(
    ("column", "stored", "value"),
    [
        ("colour", "red", Colour.RED),
        ("colour", None, None),
        ("priority", 0, Priority.CRITICAL),
        ("ready", 1, True),
        ("ready", 0, False),
        ("texts", '["a,b"]', ["a,b"]),
        ("marks", '["a"]', frozenset({"a"})),
        ("marks", None, None),
        ("at", 0, datetime(1970, 1, 1, tzinfo=UTC)),
        ("at", 1_500_000, datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)),
        ("at", None, None),
        ("data", '{"a":[1]}', {"a": [1]}),
    ],
)
def test_the_type_of_a_field_decides_the_conversion(column: str, stored: Any, value: Any) -> None:
    assert getattr(decode({"name": "a", column: stored}), column) == value


def test_a_converter_gets_the_columns_with_the_names_of_its_parameters() -> None:
    decoder = Decoder(Sample, size=lambda width, height: width * height)
    assert decode({"height": 2, "name": "a", "width": 3}, decoder).size == 6


def test_a_named_tuple_is_decoded_like_a_struct() -> None:
    pair = decode({"second": 0, "first": "a"}, Decoder(Pair))
    assert pair == ("a", datetime(1970, 1, 1, tzinfo=UTC), 3) and isinstance(pair, Pair)


@pytest.mark.parametrize("columns", [["name", "unknown"], ["size"], ["name", "name"], []])
def test_columns_that_do_not_fit_the_type_are_refused(columns: list[str]) -> None:
    with pytest.raises(TypeError, match="do not fit Sample"):
        Decoder(Sample).for_columns(columns)


def test_decoding_a_damaged_value_is_refused() -> None:
    with pytest.raises(msgspec.DecodeError):
        decode({"name": "a", "texts": "[1"})
