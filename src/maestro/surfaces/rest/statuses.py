"""The mapping from errors to HTTP statuses."""

from __future__ import annotations

from maestro.core import errors

_STATUSES: dict[type[errors.MaestroError], int] = {
    errors.Invalid: 400,
    errors.NotAuthenticated: 401,
    errors.NotPermitted: 403,
    errors.NotFound: 404,
    errors.TimedOut: 408,
    errors.Conflict: 409,
    errors.NotStarted: 409,
    errors.TooLarge: 413,
    errors.StorageFailed: 503,
    errors.StorageFull: 507,
    errors.NotConfirmed: 202,
    errors.NoServer: 503,
    errors.Exhausted: 503,
    errors.MaestroError: 500,
}


def status_of(kind: type[errors.MaestroError]) -> int:
    """Return the status of an error class, or of its nearest base class with a status."""
    for ancestor in kind.__mro__:
        if ancestor in _STATUSES:
            return _STATUSES[ancestor]
    return 500
