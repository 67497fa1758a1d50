"""Every answer has a renderer and a JSON form, and no renderer passes on control characters."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from maestro.domain.events import Event
from maestro.operations.base import Effect
from maestro.operations.registry import REGISTRY
from maestro.operations.server import Resync
from maestro.surfaces.cli.render import answers
from maestro.surfaces.cli.render.style import View, finish_text

HOSTILE = "a\x1b]0;evil\x07\x1b[2J\r\nmaestro: \u202efake\x9b1m\x7f"
VIEWS = [View(), View(tty=True, columns=40), View(tty=True, columns=200, color=True), View(tty=True, columns=5)]
KINDS = sorted(
    {operation.response for operation in REGISTRY.values()} | {Event, Resync} | set(answers.RENDERERS),
    key=lambda kind: kind.__name__,
)


def hostile(declared: inspect.Type) -> Any:
    """Return a value of a type with hostile text in each field that can hold a text."""
    match declared:
        case inspect.Metadata(type=inner):
            return hostile(inner)
        case inspect.UnionType(types=types):
            return hostile(next(one for one in types if not isinstance(one, inspect.NoneType)))
        case inspect.StructType(cls=cls, fields=fields):
            return cls(**{field.name: hostile(field.type) for field in fields})
        case inspect.ListType(item_type=item):
            return [hostile(item), hostile(item)]
        case inspect.VarTupleType(item_type=item):
            return (hostile(item), hostile(item))
        case inspect.DictType(key_type=key, value_type=value):
            return {hostile(key): hostile(value), "ref": hostile(value)}
        case inspect.EnumType(cls=cls):
            return next(iter(cls))
        case inspect.BoolType():
            return True
        case inspect.IntType():
            return 3
        case inspect.BytesType():
            return HOSTILE.encode()
        case inspect.DateTimeType():
            return datetime(2026, 1, 1, 12, tzinfo=UTC)
        case inspect.FloatType():
            return 1.5
        case inspect.StrType() | inspect.AnyType():
            return HOSTILE
    raise TypeError(declared)


def shown(value: Any, view: View) -> str:
    rendered = answers.render_answer(value, view)
    assert isinstance(rendered.out, str)
    return "".join(finish_text(part, color=view.color) for part in [rendered.out, *rendered.notes])


@pytest.mark.parametrize("operation", REGISTRY.values(), ids=lambda operation: operation.name)
def test_the_answer_of_every_operation_has_its_own_renderer(operation: Any) -> None:
    assert operation.response in answers.RENDERERS
    assert operation.effect is not Effect.STREAM or Event in answers.RENDERERS


@pytest.mark.parametrize("view", VIEWS, ids=str)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_hostile_text_in_an_answer_is_shown_without_control_characters(kind: type, view: View) -> None:
    value = hostile(inspect.type_info(kind))
    if kind.__name__ in ("DocumentContent", "AttachmentContent", "GateOutput") and not view.tty:
        assert answers.render_answer(value, view).out == HOSTILE.encode()  # a program gets the unchanged bytes
        return
    text = shown(value, view)
    assert text
    text = re.sub(r"\x1b\[\d+m", "", text) if view.color else text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_answer_is_encoded_as_a_single_line_of_json(kind: type) -> None:
    value = hostile(inspect.type_info(kind))
    line = answers.encode_json(value)
    assert line.count(b"\n") == 1 and not re.search(rb"[\x00-\x09\x0b-\x1f]", line)
    assert msgspec.json.decode(line) == msgspec.json.decode(answers.encode_json(value, pretty=True))


def test_an_answer_without_a_renderer_is_shown_by_its_fields() -> None:
    class New(msgspec.Struct):
        name: str
        many: list[int]

    assert finish_text(str(answers.render_answer(New("x\x1b", [1, 2]), View()).out)) == "name  x\\x1b\nmany  [1,2]\n"
    assert answers.render_answer(7, View()).out == "7\n"
