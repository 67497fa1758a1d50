"""How a command ends, as a number. The one place where errors meet exit codes."""

from __future__ import annotations

from maestro.core import errors

DONE = 0
FAILED = 1

_OF_ERRORS: dict[type[errors.MaestroError], int] = {
    errors.MaestroError: FAILED,
    errors.Invalid: 2,
    errors.TimedOut: 3,
    errors.NotAuthenticated: 4,
    errors.NotPermitted: 4,
    errors.Conflict: 5,
    errors.NotFound: 6,
    errors.NotConfirmed: 7,
    errors.NoServer: 8,
}

# For help and the reference.
MEANINGS = {
    0: "done",
    1: "failed",
    2: "usage",
    3: "timed out",
    4: "not permitted",
    5: "conflict",
    6: "not found",
    7: "accepted but not confirmed",
    8: "no server",
}


def of_error(kind: type[errors.MaestroError]) -> int:
    """The code for an error's class: its own, or that of the nearest class above it."""
    return next(_OF_ERRORS[above] for above in kind.__mro__ if above in _OF_ERRORS)
