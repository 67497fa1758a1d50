"""Hide tokens in requests and reports before services store their texts."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from maestro.text import redaction

T = TypeVar("T", bound=msgspec.Struct)
_PREFIX_BYTES = redaction.TOKEN_PREFIX.encode()
_encode = msgspec.msgpack.Encoder().encode


def hide_tokens(struct: T) -> T:
    """Return a request or report with the tokens in all its texts replaced; the same object if it has no token."""
    if not _may_hold_token(struct):
        return struct  # the usual case, and it must be fast, because every write calls this function
    changed = {name: _hide_in_value(getattr(struct, name)) for name in struct.__struct_fields__}
    return msgspec.structs.replace(struct, **changed)


def _may_hold_token(struct: msgspec.Struct) -> bool:
    """Return whether a text may contain a token. MessagePack is fast, and keeps texts and bytes unchanged."""
    return _PREFIX_BYTES in _encode(struct)


def _hide_in_value(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        return redaction.hide_tokens(value)
    if kind is bytes:
        return redaction.hide_tokens_in_bytes(value) if _is_text(value) else value
    if isinstance(value, msgspec.Struct):
        return hide_tokens(value)
    if kind is list or kind is tuple:
        return kind(_hide_in_value(item) for item in value)
    return {key: _hide_in_value(item) for key, item in value.items()} if kind is dict else value


def _is_text(data: bytes) -> bool:
    """Return whether the data is text. A replacement in binary data would damage the data."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
