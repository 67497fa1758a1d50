"""Handle the hook events of sessions: decide the reply, and write the consequences. Knows no tool's own event format.

A hook event without consequences costs one read. All writes of one hook event are one transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Protocol

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.messages import SenderKind, Step
from maestro.domain.sessions import FINAL, Session, Status
from maestro.domain.spawns import Spawn
from maestro.domain.talks import Turn
from maestro.operations import mail_shapes
from maestro.prompts import letters
from maestro.services.hooks import gates, pending, spending, statuses, turns, unheard
from maestro.services.hooks.holding import Holding, withdraw_all
from maestro.services.hooks.looking import Seen, look
from maestro.services.hooks.memory import Memory, Remembered
from maestro.services.hooks.waiting import Waiting
from maestro.services.mail import receipts
from maestro.services.sessions import kin
from maestro.store.base import Store, Tx
from maestro.tools.hooks.base import NOTHING, Happening, Kind, Moment, Reply

_VIA = "hook"
_ASSUMED = "assumed"  # the agent went on, and the program does not report when the model is asked
_STOP_HELPER = "The agent that started you has urgent mail. Stop here and return to it."


Waits = Callable[[], Awaitable[None]]


async def _ignore_hold() -> None:
    """Do nothing before a hold."""


class Policy(Protocol):
    """Decides whether Maestro holds a session's permission requests until a person answers them in Maestro."""

    def __call__(self, session: Session, spawn: Spawn | None) -> bool: ...


def hold_spawned(session: Session, spawn: Spawn | None) -> bool:
    """Hold only calls of spawned sessions: no person watches them. A session started by hand shows a dialog."""
    return spawn is not None


class Desk:
    """Answers the hook events of sessions."""

    def __init__(self, store: Store, holding: Holding, waiting: Waiting, *, holds: Policy = hold_spawned) -> None:
        self._store = store
        self._permission_holds = holding
        self._self_waits = waiting
        self._may_hold = holds
        self._states = Memory()

    async def happened(self, caller: Caller, happening: Happening, *, holds: Waits = _ignore_hold) -> Reply:
        """Return the reply to a session's hook event. Call `before_hold` before the reply waits for a person."""
        if not caller.is_session:
            raise errors.NotPermitted("Only a session's program may report hook events; the caller is no session.")
        state = self._states.of(caller.name)
        snapshot = await self._read_snapshot(caller, happening, state)
        if (
            happening.moment is Moment.ASKS
            and not snapshot.is_driven
            and self._may_hold(snapshot.session, snapshot.spawn)
        ):
            return await self._decide_call(caller, happening, snapshot, holds)
        reply = self._choose_reply(happening, snapshot, state)
        await self._write_consequences(caller, happening, snapshot, state, reply)
        if reply is NOTHING and self._needs_permission(happening, snapshot):
            return turns.gated(await self._decide_call(caller, happening, snapshot, holds))
        return reply

    async def happened_unheard(self, caller: Caller, happening: Happening, *, at: datetime) -> None:
        """Apply a late hook: no server ran when it fired, and the agent went on without a reply.

        Newer events of the same session take precedence.
        """
        state = self._states.of(caller.name)
        snapshot = await self._store.read(lambda tx: look(tx, caller, happening, state), quick=True)
        state.owes_primer = state.owes_primer or bool(snapshot.primer)
        await self._write_consequences(caller, happening, snapshot, state, NOTHING, fired_at=at)

    async def _read_snapshot(self, caller: Caller, event: Happening, state: Remembered) -> Seen:
        """Read the session's snapshot.

        No other coroutine may run between the last read and the reply: both would show the same mail.
        """
        snapshot = await self._store.read(lambda tx: look(tx, caller, event, state), quick=True)
        if turns.tells(event):
            state.heard_at = snapshot.at
        is_stop = event.moment is Moment.STOP and snapshot.session.status not in FINAL
        if not is_stop or not self._self_waits.has_waiter(snapshot.talk, event):
            return snapshot
        owed = await self._self_waits.owed(snapshot.talk, event)
        snapshot = await self._store.read(lambda tx: look(tx, caller, event, state), quick=True)
        return msgspec.structs.replace(snapshot, owed=owed)

    async def _write_consequences(
        self,
        caller: Caller,
        event: Happening,
        snapshot: Seen,
        state: Remembered,
        reply: Reply,
        *,
        fired_at: datetime | None = None,
    ) -> None:
        """Write the consequences of a hook event, if any. `fired_at` is given for a late hook only."""
        now_read: set[int] = set()
        is_written = False
        try:
            reading = await spending.look(snapshot.talk, event, reply, folder_of=self._self_waits.folder)
            read_before = state.being_read
            work = self._consequences(caller, event, snapshot, state, reply)
            now_read = state.being_read - read_before
            if reading is not None:
                work.insert(0, lambda tx: spending.count(tx, caller, reading))
            if fired_at is not None:
                work = unheard.framed(work, caller, event, state, fired_at)
            if work:
                await self._store.write(lambda tx: _run_writes(tx, caller, work), quick=True)
            is_written = True
        finally:
            state.being_read = state.being_read - now_read
            if not is_written:
                state.unsaid(reply.receipt)

    def _needs_permission(self, event: Happening, snapshot: Seen) -> bool:
        """Return whether a tool call needs permission from Maestro because the program shows no permission dialog."""
        if not event.is_gate or snapshot.spawn is None or snapshot.talk is None or snapshot.is_driven:
            return False
        return not gates.is_free(event, snapshot.spawn) and not self._self_waits.is_own(snapshot.talk, event)

    async def _decide_call(self, caller: Caller, event: Happening, snapshot: Seen, before_hold: Waits) -> Reply:
        """Allow or deny a tool call that needs permission, by the run's policy or by the person's answer."""
        decided = turns.decided(snapshot.talk, snapshot.spawn, event)
        if decided is not None:
            return decided
        await before_hold()
        if snapshot.talk is None:
            return await self._permission_holds.hold(caller, event)
        state = self._states.of(caller.name)
        state.asking += 1
        try:
            await self._store.write(lambda tx: tx.talks.set_turn(caller.name, Turn.ASKING, at=tx.at), quick=True)
            return await self._permission_holds.hold(caller, event)
        finally:
            state.asking -= 1
            await asyncio.shield(self._store.write(lambda tx: _end_asking(tx, caller, state), quick=True))

    async def handed(self, caller: Caller, reply: Reply, *, is_out: bool) -> None:
        """Note whether a reply was delivered. Later replies offer the mail of an undelivered reply again."""
        if not reply.receipt:
            return
        state = self._states.of(caller.name)
        state.being_shown -= receipts.places(reply.receipt)
        if not is_out:
            return
        # Read the receipts before the write below: a hook event that reads in between would show the mail again.
        if state.pending is None:
            state.pending = await self._store.read(lambda tx: tx.hooks.answers_of(caller.name), quick=True)
        state.pending = [*state.pending, reply.receipt][-limits.hook_answers_max :]
        state.model_was_asked = False
        await self._store.write(lambda tx: _store_shown(tx, caller, reply.receipt), quick=True)

    def turn_ended(self, session_id: str) -> None:
        """Read the receipts anew at the next hook event: the end of the turn has settled them in the store."""
        self._states.of(session_id).pending = None

    def came_in(self, session_id: str) -> None:
        """Read the receipts anew at the next hook event: mail counts as shown that no hook event reported."""
        self._states.of(session_id).pending = None

    def forget(self, session_id: str) -> None:
        """Drop the state of a session that has ended or starts again."""
        self._states.forget(session_id)

    def _choose_reply(self, event: Happening, snapshot: Seen, state: Remembered) -> Reply:
        """Choose the reply. Mail in the reply counts as on its way from now on."""
        if event.is_aside:
            urgent = event.moment is Moment.BEFORE_TOOL and snapshot.mail
            return Reply(Kind.REFUSE, _STOP_HELPER) if urgent and _may_refuse(snapshot, state) else NOTHING
        reach = snapshot.reach
        match event.moment:
            case Moment.BEFORE_TOOL if snapshot.mail and _may_refuse(snapshot, state):
                kind, fitted = Kind.REFUSE, letters.instead_of_tool(snapshot.mail, reach, more=snapshot.more)
            case Moment.STOP if snapshot.mail and state.stops < limits.hook_stops_in_a_row_max:
                state.stops += 1
                kind, fitted = Kind.GO_ON, letters.instead_of_stop(snapshot.mail, reach, more=snapshot.more)
            case Moment.STOP if snapshot.owed and not state.told_to_wait:
                state.told_to_wait = snapshot.owed
                return Reply(Kind.GO_ON, snapshot.owed)
            case Moment.PROMPT | Moment.AFTER_TOOL if snapshot.mail:
                kind, fitted = Kind.CONTEXT, letters.after_tool(snapshot.mail, reach, more=snapshot.more)
            case _:
                return _add_primer(NOTHING, snapshot.primer, state)
        receipt = receipts.receipt_for(fitted.shown)
        state.being_shown |= receipts.places(receipt)
        return _add_primer(Reply(kind, fitted.text, receipt), snapshot.primer, state)

    def _consequences(
        self, caller: Caller, event: Happening, snapshot: Seen, state: Remembered, reply: Reply
    ) -> list[Callable[[Tx], None]]:
        """Return the writes that follow from a hook event. Most events cause no write."""
        if event.is_aside:
            return []
        work: list[Callable[[Tx], None]] = []
        if event.moment is Moment.STARTS:
            if state.pending:  # the new context does not hold the mail of the old context
                work.append(lambda tx: tx.hooks.clear_answers(caller.name))
            state.pending = []
        is_at_work = snapshot.talk is not None and snapshot.talk.turn is not Turn.IDLE
        via = _proof_of_reading(event, state, is_driven=snapshot.is_driven, is_at_work=is_at_work)
        if via and state.pending:
            read, state.pending = state.pending, []
            state.being_read = state.being_read.union(*map(receipts.places, read))
            work.append(lambda tx: pending.is_read(tx, caller, read, via=via))
        outlived = self._permission_holds.outlived(caller, event)
        if outlived:
            work.append(lambda tx: withdraw_all(tx, caller, outlived))
        if event.moment is Moment.ENDS and event.is_final and snapshot.spawn is None:
            work.append(lambda tx: statuses.end(tx, caller))
        elif said := statuses.worth_saying(event, snapshot, reply):
            detail = event.asked if said is Status.NEEDS_INPUT else ""
            work.append(lambda tx: statuses.say(tx, caller, said, detail))
        if turn := turns.turn_after(snapshot.talk, event, reply):
            work.append(lambda tx: turns.take(tx, caller, event, turn))
            if event.moment is Moment.PROMPT:  # the prompt may hold pushed mail, which counts as shown now
                state.pending, state.model_was_asked = None, False
        if event.moment in (Moment.PROMPT, Moment.AFTER_TOOL):
            state.stops = 0
        if event.moment is Moment.PROMPT and event.prompt.strip() != state.told_to_wait.strip():
            state.told_to_wait = ""
        return work


def _may_refuse(snapshot: Seen, state: Remembered) -> bool:
    """Return whether critical mail refuses a tool call: the person's mail always, mail of agents once in a while."""
    if any(message.sender.kind is SenderKind.PERSON for message in snapshot.mail):
        return True
    last = state.refused_at
    if last is not None and (snapshot.at - last).total_seconds() < limits.critical_refusal_seconds:
        return False
    state.refused_at = snapshot.at
    return True


def _add_primer(reply: Reply, primer: str, state: Remembered) -> Reply:
    if not primer:
        return reply
    state.owes_primer = False
    if reply is NOTHING:
        return Reply(Kind.CONTEXT, primer)
    return Reply(reply.kind, f"{primer}\n{reply.text}", reply.receipt)


def _proof_of_reading(event: Happening, state: Remembered, *, is_driven: bool, is_at_work: bool) -> str:
    """Return how the hook event proves that the model has read the shown mail; "" without a proof."""
    match event.moment:
        case Moment.PROMPT if is_driven or is_at_work:
            return ""  # the prompt may have come while a tool ran, before the model was asked
        case Moment.PROMPT | Moment.STOP:
            return _VIA
        case Moment.MODEL:
            state.model_was_asked = True
        case Moment.BEFORE_TOOL if state.model_was_asked:
            return _VIA
        case Moment.BEFORE_TOOL if not event.tells_models:
            return _ASSUMED
    return ""


def _run_writes(tx: Tx, caller: Caller, work: list[Callable[[Tx], None]]) -> None:
    kin.require_live(tx, caller)
    for write in work:
        write(tx)


def _end_asking(tx: Tx, caller: Caller, state: Remembered) -> None:
    """End the session's asking when none of its hooks waits for the person any more."""
    if not state.asking:
        turns.asked_no_more(tx, caller.name)


def _store_shown(tx: Tx, caller: Caller, receipt: str) -> None:
    receipts.confirm(tx, caller, mail_shapes.Confirm(receipt=receipt, step=Step.DELIVERED, via=_VIA))
    tx.hooks.put_answer(caller.name, receipt, at=tx.at)
