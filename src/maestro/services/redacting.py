"""Hides tokens in requests and reports before services store anything of them."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from maestro.text import redaction

T = TypeVar("T", bound=msgspec.Struct)
_PREFIX_BYTES = redaction.PREFIX.encode()
_encode = msgspec.msgpack.Encoder().encode


def hide_tokens(struct: T) -> T:
    """Return a request or report with the tokens in all its texts replaced; the same object if it holds none."""
    if not _may_hold_token(struct):
        return struct  # as nearly all: every write comes through here, so this much must be quick
    changed = {name: _hide(getattr(struct, name)) for name in struct.__struct_fields__}
    return msgspec.structs.replace(struct, **changed)


def _may_hold_token(struct: msgspec.Struct) -> bool:
    """Return whether a token may stand in a text. MessagePack leaves texts and bytes as they are, and is quick."""
    return _PREFIX_BYTES in _encode(struct)


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
