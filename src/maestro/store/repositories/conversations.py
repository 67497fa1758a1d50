"""The repository of conversations: their state, the open asks of tools, pending pushes, and usage."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from maestro.core.clock import from_micros, from_micros_or_none, to_micros, to_micros_or_none
from maestro.domain.conversations import (
    AskPolicy,
    DriverKind,
    PendingPush,
    ReminderState,
    SessionConversation,
    SessionUsage,
    StateReporter,
    ToolAsk,
    TurnState,
)
from maestro.store.rows import Row, Rows

_encode = msgspec.json.Encoder().encode
_decode_texts = msgspec.json.Decoder(list[str]).decode
_MICROS = 1_000_000


class ConversationRepository:
    """Conversations by session, with the tool asks, the pending push and the usage of each session."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def insert(
        self, session_id: str, *, driver: DriverKind, teller: StateReporter, allow: Sequence[str], rest: AskPolicy
    ) -> None:
        self._rows.execute(
            "talk_insert",
            session_id=session_id,
            allow=_encode(list(allow)).decode(),
            rest=rest.value,
            turn=TurnState.NONE.value,
            driver=driver.value,
            teller=teller.value,
        )

    def get(self, session_id: str) -> SessionConversation | None:
        row = self._rows.fetch_first("talk_get", session_id=session_id)
        return _decode_conversation(row) if row else None

    def record_event(self, session_id: str, *, epoch: int, number: int) -> bool:
        """Record the number of a runner's event; return False if the event was recorded before."""
        return self._rows.execute("talk_hear", session_id=session_id, epoch=epoch, heard=number) == 1

    def set_read_position(self, session_id: str, heard: int, *, record: str) -> None:
        self._rows.execute("talk_heard", session_id=session_id, heard=heard, record=record)

    def set_turn(self, session_id: str, turn: TurnState, *, at: datetime) -> None:
        self._rows.execute("talk_turn", session_id=session_id, turn=turn.value, at=to_micros(at))

    def set_turn_at(self, session_id: str, at: datetime) -> None:
        self._rows.execute("talk_turn_at", session_id=session_id, at=to_micros(at))

    def set_conversation(self, session_id: str, conversation: str | None) -> None:
        self._rows.execute("talk_began", session_id=session_id, conversation=conversation)

    def park_until(self, session_id: str, until: datetime | None) -> None:
        self._rows.execute("talk_park", session_id=session_id, until=to_micros_or_none(until))

    def set_reminded(self, session_id: str, reminded: ReminderState) -> None:
        self._rows.execute("talk_reminded", session_id=session_id, reminded=int(reminded))

    def list_idle(self, *, after: str, limit: int) -> list[SessionConversation]:
        """Return the conversations of live sessions that are idle between two turns."""
        return [_decode_conversation(row) for row in self._rows.fetch_all("talks_idle", after=after, limit=limit)]

    def next_parking_end(self) -> datetime | None:
        row = self._rows.fetch_first("talk_next_unparked")
        return from_micros(row[0]) if row and row[0] is not None else None

    # Asks of tools

    def insert_ask(self, ask: ToolAsk) -> None:
        self._rows.execute(
            "tool_ask_insert",
            ask_id=ask.ask_id,
            session_id=ask.session_id,
            epoch=ask.epoch,
            asked_as=ask.asked_as,
        )

    def get_ask(self, ask_id: str) -> ToolAsk | None:
        row = self._rows.fetch_first("tool_ask_get", ask_id=ask_id)
        return ToolAsk(*row) if row else None

    def find_ask(self, session_id: str, *, epoch: int, asked_as: str) -> ToolAsk | None:
        row = self._rows.fetch_first("tool_ask_named", session_id=session_id, epoch=epoch, asked_as=asked_as)
        return ToolAsk(*row) if row else None

    def decided_asks(self, *, limit: int) -> list[ToolAsk]:
        """Return the tool asks that are decided in Maestro, and whose tool does not have the decision yet."""
        return [ToolAsk(*row) for row in self._rows.fetch_all("tool_asks_decided", limit=limit)]

    def delete_ask(self, ask_id: str) -> None:
        self._rows.execute("tool_ask_delete", ask_id=ask_id)

    # Pushes

    def get_push(self, session_id: str) -> PendingPush | None:
        row = self._rows.fetch_first("wake_get", session_id=session_id)
        return _decode_push(row) if row else None

    def put_push(self, push: PendingPush) -> None:
        self._rows.execute(
            "wake_put",
            session_id=push.session_id,
            id=push.id,
            receipt=push.receipt,
            tries=push.tries,
            pushed_at=to_micros(push.pushed_at),
            given_up=int(push.given_up),
        )

    def delete_push(self, session_id: str) -> None:
        self._rows.execute("wake_delete", session_id=session_id)

    # Usage

    def add_usage(self, usage: SessionUsage) -> None:
        cost = usage.cost_usd
        self._rows.execute(
            "usage_add",
            session_id=usage.session_id,
            task_id=usage.task_id or "",
            turns=usage.turns,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_tokens=usage.cached_tokens,
            cost_micros=round(cost * _MICROS) if cost is not None else None,
        )

    def usage_of_session(self, session_id: str, *, limit: int) -> list[SessionUsage]:
        return [
            _decode_usage(row) for row in self._rows.fetch_all("usage_of_session", session_id=session_id, limit=limit)
        ]

    def usage_of_task(self, task_id: str, *, limit: int) -> list[SessionUsage]:
        return [_decode_usage(row) for row in self._rows.fetch_all("usage_of_task", task_id=task_id, limit=limit)]


def _decode_conversation(row: Row) -> SessionConversation:
    return SessionConversation(
        session_id=row[0],
        allow=_decode_texts(row[1]),
        rest=AskPolicy(row[2]),
        conversation=row[3],
        turn=TurnState(row[4]),
        epoch=row[5],
        heard=row[6],
        parked_until=from_micros_or_none(row[7]),
        reminded=ReminderState(row[8]),
        driver=DriverKind(row[9]),
        teller=StateReporter(row[10]),
        record=row[11],
        turn_at=from_micros(row[12]),
    )


def _decode_push(row: Row) -> PendingPush:
    return PendingPush(
        session_id=row[0],
        id=row[1],
        receipt=row[2],
        tries=row[3],
        pushed_at=from_micros(row[4]),
        given_up=bool(row[5]),
    )


def _decode_usage(row: Row) -> SessionUsage:
    return SessionUsage(
        session_id=row[0],
        task_id=row[1] or None,
        turns=row[2],
        input_tokens=row[3],
        output_tokens=row[4],
        cached_tokens=row[5],
        cost_usd=row[6] / _MICROS if row[6] is not None else None,
    )
