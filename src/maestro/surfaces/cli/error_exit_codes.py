"""Exit codes of commands. Only this module maps errors to exit codes."""

from __future__ import annotations

from maestro.core import errors
from maestro.wire import exit_codes

_OF_ERRORS: dict[type[errors.MaestroError], int] = {
    errors.MaestroError: exit_codes.FAILED,
    errors.Invalid: exit_codes.USAGE,
    errors.TimedOut: exit_codes.TIMED_OUT,
    errors.NotAuthenticated: exit_codes.NOT_PERMITTED,
    errors.NotPermitted: exit_codes.NOT_PERMITTED,
    errors.Conflict: exit_codes.CONFLICT,
    errors.NotFound: exit_codes.NOT_FOUND,
    errors.NotConfirmed: exit_codes.NOT_CONFIRMED,
    errors.NoServer: exit_codes.NO_SERVER,
}

# For help and the reference.
MEANINGS = {
    exit_codes.DONE: "done",
    exit_codes.FAILED: "failed",
    exit_codes.USAGE: "usage",
    exit_codes.TIMED_OUT: "timed out",
    exit_codes.NOT_PERMITTED: "not permitted",
    exit_codes.CONFLICT: "conflict",
    exit_codes.NOT_FOUND: "not found",
    exit_codes.NOT_CONFIRMED: "accepted but not confirmed",
    exit_codes.NO_SERVER: "no server",
}


def exit_code_of(kind: type[errors.MaestroError]) -> int:
    """Return the exit code of an error class: its own code, or the code of its nearest base class."""
    return next(_OF_ERRORS[above] for above in kind.__mro__ if above in _OF_ERRORS)
