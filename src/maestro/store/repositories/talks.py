"""The repository of conversations: their state, the open asks of tools, pending pushes, and usage."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from maestro.core.clock import from_micros, maybe_micros, maybe_time, to_micros
from maestro.domain.talks import Driver, Reminded, Rest, Talk, Teller, ToolAsk, Turn, Used, Wake
from maestro.store.rows import Row, Rows

_encode = msgspec.json.Encoder().encode
_decode_texts = msgspec.json.Decoder(list[str]).decode
_MICROS = 1_000_000


class Talks:
    """Conversations by session, with the tool asks, the pending push and the usage of each session."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def insert(self, session_id: str, *, driver: Driver, teller: Teller, allow: Sequence[str], rest: Rest) -> None:
        self._rows.run(
            "talk_insert",
            session_id=session_id,
            allow=_encode(list(allow)).decode(),
            rest=rest.value,
            turn=Turn.NONE.value,
            driver=driver.value,
            teller=teller.value,
        )

    def get(self, session_id: str) -> Talk | None:
        row = self._rows.one("talk_get", session_id=session_id)
        return _decode_conversation(row) if row else None

    def hear(self, session_id: str, *, epoch: int, number: int) -> bool:
        """Record the number of a runner's event; return False if the event was recorded before."""
        return self._rows.run("talk_hear", session_id=session_id, epoch=epoch, heard=number) == 1

    def set_heard(self, session_id: str, heard: int, *, record: str) -> None:
        self._rows.run("talk_heard", session_id=session_id, heard=heard, record=record)

    def set_turn(self, session_id: str, turn: Turn, *, at: datetime) -> None:
        self._rows.run("talk_turn", session_id=session_id, turn=turn.value, at=to_micros(at))

    def set_turn_at(self, session_id: str, at: datetime) -> None:
        self._rows.run("talk_turn_at", session_id=session_id, at=to_micros(at))

    def set_conversation(self, session_id: str, conversation: str | None) -> None:
        self._rows.run("talk_began", session_id=session_id, conversation=conversation)

    def park(self, session_id: str, until: datetime | None) -> None:
        self._rows.run("talk_park", session_id=session_id, until=maybe_micros(until))

    def set_reminded(self, session_id: str, reminded: Reminded) -> None:
        self._rows.run("talk_reminded", session_id=session_id, reminded=int(reminded))

    def idle(self, *, after: str, limit: int) -> list[Talk]:
        """Return the conversations of live sessions that are idle between two turns."""
        return [_decode_conversation(row) for row in self._rows.all("talks_idle", after=after, limit=limit)]

    def next_unparked(self) -> datetime | None:
        row = self._rows.one("talk_next_unparked")
        return from_micros(row[0]) if row and row[0] is not None else None

    # Asks of tools

    def insert_ask(self, ask: ToolAsk) -> None:
        self._rows.run(
            "tool_ask_insert",
            ask_id=ask.ask_id,
            session_id=ask.session_id,
            epoch=ask.epoch,
            asked_as=ask.asked_as,
        )

    def ask(self, ask_id: str) -> ToolAsk | None:
        row = self._rows.one("tool_ask_get", ask_id=ask_id)
        return ToolAsk(*row) if row else None

    def ask_named(self, session_id: str, *, epoch: int, asked_as: str) -> ToolAsk | None:
        row = self._rows.one("tool_ask_named", session_id=session_id, epoch=epoch, asked_as=asked_as)
        return ToolAsk(*row) if row else None

    def decided_asks(self, *, limit: int) -> list[ToolAsk]:
        """Return the tool asks that are decided in Maestro, and whose tool does not have the decision yet."""
        return [ToolAsk(*row) for row in self._rows.all("tool_asks_decided", limit=limit)]

    def forget_ask(self, ask_id: str) -> None:
        self._rows.run("tool_ask_delete", ask_id=ask_id)

    # Pushes

    def wake(self, session_id: str) -> Wake | None:
        row = self._rows.one("wake_get", session_id=session_id)
        return _decode_push(row) if row else None

    def put_wake(self, wake: Wake) -> None:
        self._rows.run(
            "wake_put",
            session_id=wake.session_id,
            id=wake.id,
            receipt=wake.receipt,
            tries=wake.tries,
            pushed_at=to_micros(wake.pushed_at),
            given_up=int(wake.given_up),
        )

    def forget_wake(self, session_id: str) -> None:
        self._rows.run("wake_delete", session_id=session_id)

    # Usage

    def add_usage(self, used: Used) -> None:
        cost = used.cost_usd
        self._rows.run(
            "usage_add",
            session_id=used.session_id,
            task_id=used.task_id or "",
            turns=used.turns,
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            cached_tokens=used.cached_tokens,
            cost_micros=round(cost * _MICROS) if cost is not None else None,
        )

    def usage_of_session(self, session_id: str, *, limit: int) -> list[Used]:
        return [_decode_usage(row) for row in self._rows.all("usage_of_session", session_id=session_id, limit=limit)]

    def usage_of_task(self, task_id: str, *, limit: int) -> list[Used]:
        return [_decode_usage(row) for row in self._rows.all("usage_of_task", task_id=task_id, limit=limit)]


def _decode_conversation(row: Row) -> Talk:
    return Talk(
        session_id=row[0],
        allow=_decode_texts(row[1]),
        rest=Rest(row[2]),
        conversation=row[3],
        turn=Turn(row[4]),
        epoch=row[5],
        heard=row[6],
        parked_until=maybe_time(row[7]),
        reminded=Reminded(row[8]),
        driver=Driver(row[9]),
        teller=Teller(row[10]),
        record=row[11],
        turn_at=from_micros(row[12]),
    )


def _decode_push(row: Row) -> Wake:
    return Wake(
        session_id=row[0],
        id=row[1],
        receipt=row[2],
        tries=row[3],
        pushed_at=from_micros(row[4]),
        given_up=bool(row[5]),
    )


def _decode_usage(row: Row) -> Used:
    return Used(
        session_id=row[0],
        task_id=row[1] or None,
        turns=row[2],
        input_tokens=row[3],
        output_tokens=row[4],
        cached_tokens=row[5],
        cost_usd=row[6] / _MICROS if row[6] is not None else None,
    )
