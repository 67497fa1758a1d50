"""Report facts about a connection from an HTTP surface to the listener."""

from __future__ import annotations

from starlette.types import Scope

ADMIT = "maestro.admit"  # the scope's key of the listener's function


def admit(scope: Scope) -> None:
    """Tell the listener that the connection's caller is known. The listener no longer closes the connection early."""
    callback = scope.get(ADMIT)
    if callback is not None:
        callback()
