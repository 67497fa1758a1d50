"""Exit codes of commands. Only this module maps errors to exit codes."""

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


def exit_code_of(kind: type[errors.MaestroError]) -> int:
    """Return the exit code of an error class: its own code, or the code of its nearest base class."""
    return next(_OF_ERRORS[above] for above in kind.__mro__ if above in _OF_ERRORS)
