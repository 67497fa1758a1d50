"""Families of sessions: a session and all those below it count as one where a bound must not grow with children."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.store.base import Tx


class Families:
    """Find the top-most session above a caller. The answer is remembered, because every message asks for it."""

    def __init__(self) -> None:
        self._tops: dict[str, str] = {}

    def forget(self) -> None:
        """Look again: a session has another parent."""
        self._tops.clear()

    def top_of(self, tx: Tx, caller: Caller) -> str:
        """Return the id of the session at the top of the caller's parents: its own, if it has none."""
        known = self._tops.get(caller.name)
        if known is not None:
            return known
        path, above = [caller.name], caller.parent_id
        while above is not None and above not in self._tops and above not in path:
            path.append(above)
            route = tx.sessions.route(above)
            above = route.parent_id if route is not None else None
        top = self._tops.get(above, path[-1]) if above is not None else path[-1]
        if len(self._tops) + len(path) > limits.families_remembered_max:
            self._tops.clear()
        self._tops.update(dict.fromkeys(path, top))
        return top
