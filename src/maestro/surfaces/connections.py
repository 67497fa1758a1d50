"""What an HTTP surface tells the listener about a connection."""

from __future__ import annotations

from starlette.types import Scope

ADMIT = "maestro.admit"  # where the listener puts a function into a request's scope


def admit(scope: Scope) -> None:
    """Tell the listener that the connection has shown a caller, so that it no longer counts as a stranger's."""
    admits = scope.get(ADMIT)
    if admits is not None:
        admits()
