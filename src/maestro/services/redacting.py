"""Hides tokens in requests and reports before services store anything of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

import msgspec

from maestro import redaction

T = TypeVar("T", bound=msgspec.Struct)
_PREFIX = redaction.PREFIX
_PREFIX_BYTES = _PREFIX.encode()
_HOLD_TEXT = (str, bytes, list, tuple, dict, msgspec.Struct)


def hide_tokens(struct: T) -> T:
    """Return a request or report with the tokens in all its texts replaced; the same object if it holds none."""
    if not _may_hold_token(_values_of(type(struct))(struct)):
        return struct  # as nearly all: every write comes through here, so this much must be quick
    changed = {name: _hide(getattr(struct, name)) for name in struct.__struct_fields__}
    return msgspec.structs.replace(struct, **changed)


def _may_hold_token(values: Iterable[Any]) -> bool:
    for value in values:
        kind: type = type(value)
        if kind is str:
            if _PREFIX in value:
                return True
        elif not value or not _holds_text(kind):
            continue
        elif kind is bytes:
            if _PREFIX_BYTES in value:
                return True
        elif _may_hold_token(_parts_of(value)):
            return True
    return False


def _parts_of(value: Any) -> Iterable[Any]:
    if isinstance(value, msgspec.Struct):
        parts: Iterable[Any] = _values_of(type(value))(value)
        return parts
    return value.values() if isinstance(value, dict) else value


def _hide(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        return redaction.hide(value)
    if kind is bytes:
        return redaction.hide_bytes(value) if _is_text(value) else value
    if isinstance(value, msgspec.Struct):
        return hide_tokens(value)
    if kind is list or kind is tuple:
        return kind(_hide(one) for one in value)
    return {key: _hide(one) for key, one in value.items()} if kind is dict else value


def _is_text(data: bytes) -> bool:
    """Whether a replacement leaves the data readable: in a binary format it would not."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@cache
def _holds_text(kind: type) -> bool:
    return kind in _HOLD_TEXT or issubclass(kind, msgspec.Struct)


@cache
def _values_of(kind: type[msgspec.Struct]) -> Callable[[Any], Iterable[Any]]:
    """Return what reads all values of a struct at once."""
    names = kind.__struct_fields__
    return attrgetter(*names) if len(names) > 1 else lambda struct: [getattr(struct, name) for name in names]
