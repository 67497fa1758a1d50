"""The repository of conversations: their state, the open asks of tools, pending pushes, and usage."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from maestro.core.clock import to_micros, to_micros_or_none
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
from maestro.store.decoding import Decoder
from maestro.store.rows import Rows

_encode = msgspec.json.Encoder().encode
_MICROS = 1_000_000


def _dollars(cost_micros: int | None) -> float | None:
    return cost_micros / _MICROS if cost_micros is not None else None


_CONVERSATION = Decoder(SessionConversation)
_TOOL_ASK = Decoder(ToolAsk)
_PUSH = Decoder(PendingPush)
_USAGE = Decoder(SessionUsage, cost_usd=_dollars)


class ConversationRepository:
    """Conversations by session, with the tool asks, the pending push and the usage of each session."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def insert(
        self,
        session_id: str,
        *,
        driver: DriverKind,
        state_reporter: StateReporter,
        allow: Sequence[str],
        ask_policy: AskPolicy,
    ) -> None:
        self._rows.execute(
            "conversation_insert",
            session_id=session_id,
            allow=_encode(list(allow)).decode(),
            ask_policy=ask_policy.value,
            turn=TurnState.NONE.value,
            driver=driver.value,
            state_reporter=state_reporter.value,
        )

    def get(self, session_id: str) -> SessionConversation | None:
        return self._rows.fetch_first("conversation_get", _CONVERSATION, session_id=session_id)

    def record_event(self, session_id: str, *, epoch: int, number: int) -> bool:
        """Record the number of a runner's event; return False if the event was recorded before."""
        return (
            self._rows.execute(
                "conversation_apply_event", session_id=session_id, epoch=epoch, last_event_number=number
            )
            == 1
        )

    def set_read_position(self, session_id: str, last_event_number: int, *, record_file: str) -> None:
        self._rows.execute(
            "conversation_read_position",
            session_id=session_id,
            last_event_number=last_event_number,
            record_file=record_file,
        )

    def set_turn(self, session_id: str, turn: TurnState, *, at: datetime) -> None:
        self._rows.execute("conversation_turn", session_id=session_id, turn=turn.value, at=to_micros(at))

    def set_turn_at(self, session_id: str, at: datetime) -> None:
        self._rows.execute("conversation_turn_at", session_id=session_id, at=to_micros(at))

    def set_conversation(self, session_id: str, conversation: str | None) -> None:
        self._rows.execute("conversation_tool_id", session_id=session_id, tool_conversation_id=conversation)

    def park_until(self, session_id: str, until: datetime | None) -> None:
        self._rows.execute("conversation_park", session_id=session_id, until=to_micros_or_none(until))

    def set_reminded(self, session_id: str, reminded: ReminderState) -> None:
        self._rows.execute("conversation_reminded", session_id=session_id, reminded=int(reminded))

    def list_idle(self, *, after: str, limit: int) -> list[SessionConversation]:
        """Return the conversations of live sessions that are idle between two turns."""
        return self._rows.fetch_all("conversations_idle", _CONVERSATION, after=after, limit=limit)

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
        return self._rows.fetch_first("tool_ask_get", _TOOL_ASK, ask_id=ask_id)

    def find_ask(self, session_id: str, *, epoch: int, asked_as: str) -> ToolAsk | None:
        values = {"session_id": session_id, "epoch": epoch, "asked_as": asked_as}
        return self._rows.fetch_first("tool_ask_named", _TOOL_ASK, **values)

    def decided_asks(self, *, limit: int) -> list[ToolAsk]:
        """Return the tool asks that are decided in Maestro, and whose tool does not have the decision yet."""
        return self._rows.fetch_all("tool_asks_decided", _TOOL_ASK, limit=limit)

    def delete_ask(self, ask_id: str) -> None:
        self._rows.execute("tool_ask_delete", ask_id=ask_id)

    # Pushes

    def get_push(self, session_id: str) -> PendingPush | None:
        return self._rows.fetch_first("push_get", _PUSH, session_id=session_id)

    def put_push(self, push: PendingPush) -> None:
        self._rows.execute(
            "push_put",
            session_id=push.session_id,
            id=push.id,
            receipt=push.receipt,
            attempts=push.attempts,
            pushed_at=to_micros(push.pushed_at),
            given_up=int(push.given_up),
        )

    def delete_push(self, session_id: str) -> None:
        self._rows.execute("push_delete", session_id=session_id)

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
        return self._rows.fetch_all("usage_of_session", _USAGE, session_id=session_id, limit=limit)

    def usage_of_task(self, task_id: str, *, limit: int) -> list[SessionUsage]:
        return self._rows.fetch_all("usage_of_task", _USAGE, task_id=task_id, limit=limit)
