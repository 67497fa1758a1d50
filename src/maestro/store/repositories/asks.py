"""The repository of asks: questions and permission requests of agents and of the server to the person."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from maestro.core.clock import to_micros
from maestro.domain.asks import Ask, AskStatus
from maestro.domain.callers import SERVER_NAME
from maestro.store.decoding import Decoder
from maestro.store.rows import Rows

_encode = msgspec.json.Encoder().encode
_decode_codes = msgspec.json.Decoder(list[str]).decode


def _asker_name(session_id: str | None, session_name: str | None) -> str:
    return session_name or (SERVER_NAME if session_id is None else "")


def _window_text(terminal: str | None, directory: str | None) -> str:
    return ", in ".join(filter(None, (terminal, directory)))


class WindowAskRecord(msgspec.Struct, frozen=True):
    """An open ask in a session's own window, and the file that changes when the person has answered."""

    ask_id: str
    session_id: str
    tool: str | None
    record_file: str
    record_since: datetime  # a change of the file after this time shows the answer


_ASK = Decoder(Ask, asked_by=_asker_name, window=_window_text)
_WINDOW_RECORD = Decoder(WindowAskRecord)


class AskRepository:
    """Asks by id, project and session."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def insert(self, ask: Ask, *, choice_codes: Sequence[str] = ()) -> None:
        """Insert an ask. `choice_codes` has a code for each choice if the server acts on the answer."""
        self._rows.execute(
            "ask_insert",
            id=ask.id,
            project_id=ask.project_id,
            session_id=ask.session_id,
            kind=ask.kind.value,
            title=ask.title,
            text=ask.text,
            choices=_encode(ask.choices).decode(),
            choice_codes=_encode(choice_codes).decode(),
            task_id=ask.task_id,
            message_id=ask.message_id,
            status=ask.status.value,
            created_at=to_micros(ask.created_at),
        )

    def get(self, ask_id: str) -> Ask | None:
        return self._rows.fetch_first("ask_get", _ASK, id=ask_id)

    def of_message(self, message_id: str) -> Ask | None:
        """Return the open ask that a message opened."""
        return self._rows.fetch_first("ask_of_message", _ASK, message_id=message_id)

    def list_open(self, *, after: str, limit: int) -> list[Ask]:
        """Return the open asks of all projects, oldest first."""
        return self._fetch_asks("asks_open", after=after, limit=limit)

    def list_page(self, project_id: str, *, after: str, limit: int, only_open: bool = False) -> list[Ask]:
        """Return a page of a project's asks, open and closed. `only_open`: leave out closed asks."""
        name = "asks_page_open" if only_open else "asks_page"
        return self._fetch_asks(name, project_id=project_id, after=after, limit=limit)

    def open_of_session(self, session_id: str, *, limit: int) -> list[Ask]:
        return self._fetch_asks("asks_of_session", session_id=session_id, limit=limit)

    def count_open(self, session_id: str) -> int:
        """Return the number of open asks of a session."""
        return int(self._rows.fetch_value("asks_count_of_session", session_id=session_id))

    def count_open_below(self, parent_id: str) -> int:
        """Return the number of open asks of all sessions with the same parent."""
        return int(self._rows.fetch_value("asks_count_below", parent_id=parent_id))

    def set_call(self, ask_id: str, digest: str) -> None:
        """Record the tool call that an ask is about."""
        self._rows.execute("ask_set_call", id=ask_id, digest=digest)

    def asks_of_call(self, session_id: str, digest: str, *, limit: int) -> list[Ask]:
        """Return the open and answered asks about a tool call, newest first."""
        return self._fetch_asks("asks_of_call", session_id=session_id, digest=digest, limit=limit)

    def open_asks_of_calls(self, session_id: str, *, limit: int) -> list[Ask]:
        """Return the open asks about tool calls of a session."""
        return self._fetch_asks("asks_of_calls_open", session_id=session_id, limit=limit)

    def leave_to_window(self, ask_id: str, *, record_since: datetime) -> None:
        """Let the person answer an open ask only in the session's own window.

        A change of the record file after `record_since` shows that the person has answered.
        """
        self._rows.execute("ask_leave_to_window", id=ask_id, record_since=to_micros(record_since))

    def leave_calls_to_windows(self) -> int:
        """Leave the open asks about calls of hand-started sessions to their windows; return their number."""
        return self._rows.execute("asks_of_calls_leave_to_window")

    def set_record(self, ask_id: str, record_file: str, *, record_since: datetime) -> None:
        """Set the file in which the asking program records its conversation."""
        values = {"id": ask_id, "record_file": record_file}
        self._rows.execute("ask_set_record", record_since=to_micros(record_since), **values)

    def in_window_of(self, session_id: str, *, limit: int) -> list[Ask]:
        """Return the open asks that the person answers in the session's own window."""
        return self._fetch_asks("asks_in_window", session_id=session_id, limit=limit)

    def list_with_record(self, *, limit: int) -> list[WindowAskRecord]:
        """Return the open asks in windows that have a record file."""
        return self._rows.fetch_all("asks_with_record", _WINDOW_RECORD, limit=limit)

    def set_answer_message(self, ask_id: str, message_id: str) -> None:
        self._rows.execute("ask_set_answer_message", id=ask_id, message_id=message_id)

    def answer_message(self, ask_id: str) -> str | None:
        """Return the id of the message that carries an ask's answer."""
        message_id: str | None = self._rows.fetch_value("ask_answer_message", id=ask_id)
        return message_id

    def choice_codes(self, ask_id: str) -> list[str]:
        """Return the codes of an ask's choices, in the order of the choices."""
        return _decode_codes(self._rows.fetch_value("ask_choice_codes", id=ask_id))

    def answer_code(self, ask_id: str) -> str | None:
        """Return the code of the choice that the person took."""
        code: str | None = self._rows.fetch_value("ask_answer_code", id=ask_id)
        return code

    def close(
        self,
        ask_id: str,
        *,
        status: AskStatus,
        answer: str | None,
        answer_code: str | None = None,
        by: str,
        at: datetime,
    ) -> bool:
        """Close an ask; return whether the ask was open until now."""
        values = {"id": ask_id, "status": status.value, "answer": answer, "by": by, "at": to_micros(at)}
        return self._rows.execute("ask_close", answer_code=answer_code, **values) == 1

    def _fetch_asks(self, name: str, **values: object) -> list[Ask]:
        return self._rows.fetch_page(name, _ASK, **values)
