"""Report facts about a connection from an HTTP surface to the listener."""

from __future__ import annotations

from starlette.types import Scope

MARK_IDENTIFIED_KEY = "maestro.admit"  # the scope's key of the listener's function


def mark_identified(scope: Scope) -> None:
    """Tell the listener that the connection's caller is known. The listener no longer closes the connection early."""
    callback = scope.get(MARK_IDENTIFIED_KEY)
    if callback is not None:
        callback()
