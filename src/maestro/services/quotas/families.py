"""Families of sessions: a top-level session and all sessions below the top count together against a limit.

A session must not raise its limits by starting child sessions.
"""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.store.base import Tx


class Families:
    """Finds the top-level session above a caller. Results are cached, because every message needs the family."""

    def __init__(self) -> None:
        self._top_by_session: dict[str, str] = {}

    def forget_families(self) -> None:
        """Clear the cache, because a session has got another parent."""
        self._top_by_session.clear()

    def top_of(self, tx: Tx, caller: Caller) -> str:
        """Return the id of the top-level session above the caller; without a parent, the caller's own id."""
        remembered = self._top_by_session.get(caller.name)
        if remembered is not None:
            return remembered
        path, parent_id = [caller.name], caller.parent_id
        while parent_id is not None and parent_id not in self._top_by_session and parent_id not in path:
            path.append(parent_id)
            route = tx.sessions.mail_route(parent_id)
            parent_id = route.parent_id if route is not None else None
        top = self._top_by_session.get(parent_id, path[-1]) if parent_id is not None else path[-1]
        if len(self._top_by_session) + len(path) > limits.families_remembered_max:
            self._top_by_session.clear()
        self._top_by_session.update(dict.fromkeys(path, top))
        return top
