"""The interface of every way to call an operation, and the conversion of values and errors."""

from __future__ import annotations

import base64
from typing import Any, Protocol

from maestro.core import errors
from maestro.operations.base import Operation


class Way(Protocol):
    """A way to call an operation with a token."""

    person: str  # the token of the person
    shows_as: str  # the status of a delivery after the mail was shown and before any confirmation
    is_out_at_once: bool  # whether the delivery has this status as soon as the call returns
    offers_again: bool  # whether the next call shows the mail again if the caller does not confirm the mail

    async def call(self, operation: Operation, token: str, fields: dict[str, Any], key: str) -> Any: ...


def plain(value: Any) -> Any:
    """Return the value as JSON has it: bytes become base64."""
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
    """Return the error that came over the wire. Check that the exit code of a command fits the error."""
    kind = errors.errors_by_code()[body["code"]]
    assert is_error(body)
    if exit_code is not None:
        wanted = next(EXITS[above.__name__] for above in kind.__mro__ if above.__name__ in EXITS)
        assert exit_code == wanted, f"exit {exit_code} for {body['code']}"
    return kind(body["message"], hint=body["hint"], data=body["data"])
