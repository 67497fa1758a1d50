"""The repository of session windows: where a person finds a session, and the session's last prompt."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from maestro.domain.sessions import SessionWindow
from maestro.store.decoding import Decoder
from maestro.store.rows import Rows

_encode = msgspec.json.Encoder().encode
_WINDOW = Decoder(SessionWindow)


class SessionWindowRepository:
    """Session windows by session."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, session_id: str, *, terminal: str, directory: str) -> None:
        """Record where a session runs. The last prompt stays."""
        self._rows.execute("session_window_put", session_id=session_id, terminal=terminal, directory=directory)

    def set_prompt(self, session_id: str, *, directory: str, last_prompt: str) -> None:
        """Record the directory and the last prompt of a session."""
        values = {"session_id": session_id, "directory": directory, "last_prompt": last_prompt}
        self._rows.execute("session_window_prompt", **values)

    def of_sessions(self, session_ids: Iterable[str]) -> dict[str, SessionWindow]:
        """Return the known windows of some sessions, by session."""
        ids = _encode(list(session_ids)).decode()
        windows = self._rows.fetch_all("session_windows_of", _WINDOW, session_ids=ids)
        return {window.session_id: window for window in windows}

    def get(self, session_id: str) -> SessionWindow:
        """Return the window of a session; an empty one if Maestro knows none."""
        return self.of_sessions([session_id]).get(session_id) or SessionWindow(session_id)
