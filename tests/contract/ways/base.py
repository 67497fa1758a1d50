"""What every way in has in common: how it is called, and errors as they come back."""

from __future__ import annotations

import base64
from typing import Any, Protocol

from maestro.core import errors
from maestro.operations.base import Operation


class Way(Protocol):
    """A way to call an operation with a token."""

    person: str  # the token of whoever runs all this
    shows_as: str  # what mail is after it was shown, without another word
    is_out_at_once: bool  # whether that is so as soon as the call returns
    offers_again: bool  # whether what was shown comes with the next call too, if nobody said that it came out

    async def call(self, operation: Operation, token: str, fields: dict[str, Any], key: str) -> Any: ...


def plain(value: Any) -> Any:
    """As it goes over a wire."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


EXITS = {
    "Invalid": 2,
    "TimedOut": 3,
    "NotPermitted": 4,
    "NotAuthenticated": 4,
    "Conflict": 5,
    "NotFound": 6,
    "NotConfirmed": 7,
}


_ERROR = {"code", "message", "hint", "retryable", "data"}


def is_error(body: Any) -> bool:
    return isinstance(body, dict) and set(body) == _ERROR


def rebuilt(body: dict[str, Any], exit_code: int | None = None) -> errors.MaestroError:
    """An error as it came over the wire; a command's exit code must fit it."""
    kind = errors.errors_by_code()[body["code"]]
    assert is_error(body)
    if exit_code is not None:
        wanted = next(EXITS[above.__name__] for above in kind.__mro__ if above.__name__ in EXITS)
        assert exit_code == wanted, f"exit {exit_code} for {body['code']}"
    return kind(body["message"], hint=body["hint"], data=body["data"])
