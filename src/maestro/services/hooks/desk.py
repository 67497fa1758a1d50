"""Decides what a moment in an agent's life means, and what it is told then. Knows no program's own words.

A hook that has nothing to say costs one read. Everything that is written for one hook is one transaction.
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
_ASSUMED = "assumed"  # the agent went on, and its program does not say whether its model was asked in between
_TOLD_LATER = "The agent that started you has urgent mail. Stop here and return to it."


Waits = Callable[[], Awaitable[None]]


async def _at_once() -> None:
    """Nobody need know."""


class Policy(Protocol):
    """Whether a session's requests for permission are held until someone answers here."""

    def __call__(self, session: Session, spawn: Spawn | None) -> bool: ...


def hold_spawned(session: Session, spawn: Spawn | None) -> bool:
    """Those that Maestro started have nobody before them; who was started by hand has a dialog open."""
    return spawn is not None


class Desk:
    """Where hooks are answered."""

    def __init__(self, store: Store, holding: Holding, waiting: Waiting, *, holds: Policy = hold_spawned) -> None:
        self._store = store
        self._holding = holding
        self._waiting = waiting
        self._holds = holds
        self._memory = Memory()

    async def happened(self, caller: Caller, happening: Happening, *, holds: Waits = _at_once) -> Reply:
        """What to say to a session's hook. `holds` is told before an answer takes as long as a person does."""
        if not caller.is_session:
            raise errors.NotPermitted("Hooks are for agents: this is no session.")
        memory = self._memory.of(caller.name)
        seen = await self._look(caller, happening, memory)
        if happening.moment is Moment.ASKS and not seen.is_driven and self._holds(seen.session, seen.spawn):
            return await self._asked(caller, happening, seen, holds)
        reply = self._reply(happening, seen, memory)
        await self._note(caller, happening, seen, memory, reply)
        if reply is NOTHING and self._is_held(happening, seen):
            return turns.gated(await self._asked(caller, happening, seen, holds))
        return reply

    async def happened_unheard(self, caller: Caller, happening: Happening, *, at: datetime) -> None:
        """A hook that no server heard when it fired: its agent went on without an answer. What was heard since knows
        better."""
        memory = self._memory.of(caller.name)
        seen = await self._store.read(lambda tx: look(tx, caller, happening, memory), quick=True)
        memory.owes_primer = memory.owes_primer or bool(seen.primer)
        await self._note(caller, happening, seen, memory, NOTHING, fired_at=at)

    async def _look(self, caller: Caller, happening: Happening, memory: Remembered) -> Seen:
        """How things stand. Nobody gets a turn between the last look and the reply: both would show the same mail."""
        seen = await self._store.read(lambda tx: look(tx, caller, happening, memory), quick=True)
        if turns.tells(happening):
            memory.heard_at = seen.at
        is_stop = happening.moment is Moment.STOP and seen.session.status not in FINAL
        if not is_stop or not self._waiting.has_waiter(seen.talk, happening):
            return seen
        owed = await self._waiting.owed(seen.talk, happening)
        seen = await self._store.read(lambda tx: look(tx, caller, happening, memory), quick=True)
        return msgspec.structs.replace(seen, owed=owed)

    async def _note(
        self,
        caller: Caller,
        happening: Happening,
        seen: Seen,
        memory: Remembered,
        reply: Reply,
        *,
        fired_at: datetime | None = None,
    ) -> None:
        """Write down what follows, if anything does. `fired_at` is of one that comes in after its time."""
        now_read: set[int] = set()
        is_noted = False
        try:
            spent = await spending.look(seen.talk, happening, reply, folder_of=self._waiting.folder)
            others = memory.being_read
            work = self._consequences(caller, happening, seen, memory, reply)
            now_read = memory.being_read - others
            if spent is not None:
                work.insert(0, lambda tx: spending.count(tx, caller, spent))
            if fired_at is not None:
                work = unheard.framed(work, caller, happening, memory, fired_at)
            if work:
                await self._store.write(lambda tx: _do(tx, caller, work), quick=True)
            is_noted = True
        finally:
            memory.being_read = memory.being_read - now_read
            if not is_noted:
                memory.unsaid(reply.receipt)

    def _is_held(self, happening: Happening, seen: Seen) -> bool:
        """Whether a tool call of an agent whose program asks nobody has to be allowed first."""
        if not happening.is_gate or seen.spawn is None or seen.talk is None or seen.is_driven:
            return False
        return not gates.is_free(happening, seen.spawn) and not self._waiting.is_own(seen.talk, happening)

    async def _asked(self, caller: Caller, happening: Happening, seen: Seen, holds: Waits) -> Reply:
        """What becomes of a tool call that is to be allowed first: as its run's policy says, or the person."""
        decided = turns.decided(seen.talk, seen.spawn, happening)
        if decided is not None:
            return decided
        await holds()
        if seen.talk is None:
            return await self._holding.hold(caller, happening)
        memory = self._memory.of(caller.name)
        memory.asking += 1
        try:
            await self._store.write(lambda tx: tx.talks.set_turn(caller.name, Turn.ASKING, at=tx.at), quick=True)
            return await self._holding.hold(caller, happening)
        finally:
            memory.asking -= 1
            await asyncio.shield(self._store.write(lambda tx: _asked_no_more(tx, caller, memory), quick=True))

    async def handed(self, caller: Caller, reply: Reply, *, is_out: bool) -> None:
        """An answer went out, or could not be given: then its mail is offered again."""
        if not reply.receipt:
            return
        memory = self._memory.of(caller.name)
        memory.being_shown -= receipts.places(reply.receipt)
        if not is_out:
            return
        if memory.pending is None:  # now: a hook that looks them up before this one is stored would show it again
            memory.pending = await self._store.read(lambda tx: tx.hooks.answers_of(caller.name), quick=True)
        memory.pending = [*memory.pending, reply.receipt][-limits.hook_answers_max :]
        memory.model_was_asked = False
        await self._store.write(lambda tx: _note_shown(tx, caller, reply.receipt), quick=True)

    def turn_ended(self, session_id: str) -> None:
        """What was shown until then has been settled with the turn."""
        self._memory.of(session_id).pending = None

    def came_in(self, session_id: str) -> None:
        """Something counts as shown of which no hook told."""
        self._memory.of(session_id).pending = None

    def forget(self, session_id: str) -> None:
        """A session has ended, or begins anew."""
        self._memory.forget(session_id)

    def _reply(self, happening: Happening, seen: Seen, memory: Remembered) -> Reply:
        """What to say. What it shows counts as on its way from here on."""
        if happening.is_aside:
            urgent = happening.moment is Moment.BEFORE_TOOL and seen.mail
            return Reply(Kind.REFUSE, _TOLD_LATER) if urgent and _may_refuse(seen, memory) else NOTHING
        reach = seen.reach
        match happening.moment:
            case Moment.BEFORE_TOOL if seen.mail and _may_refuse(seen, memory):
                kind, fitted = Kind.REFUSE, letters.instead_of_tool(seen.mail, reach, more=seen.more)
            case Moment.STOP if seen.mail and memory.stops < limits.hook_stops_in_a_row_max:
                memory.stops += 1
                kind, fitted = Kind.GO_ON, letters.instead_of_stop(seen.mail, reach, more=seen.more)
            case Moment.STOP if seen.owed and not memory.told_to_wait:
                memory.told_to_wait = seen.owed
                return Reply(Kind.GO_ON, seen.owed)
            case Moment.PROMPT | Moment.AFTER_TOOL if seen.mail:
                kind, fitted = Kind.CONTEXT, letters.after_tool(seen.mail, reach, more=seen.more)
            case _:
                return _with_primer(NOTHING, seen.primer, memory)
        receipt = receipts.receipt_for(fitted.shown)
        memory.being_shown |= receipts.places(receipt)
        return _with_primer(Reply(kind, fitted.text, receipt), seen.primer, memory)

    def _consequences(
        self, caller: Caller, happening: Happening, seen: Seen, memory: Remembered, reply: Reply
    ) -> list[Callable[[Tx], None]]:
        """What is to be written. Mostly nothing."""
        if happening.is_aside:
            return []
        work: list[Callable[[Tx], None]] = []
        if happening.moment is Moment.STARTS:
            if memory.pending:  # what was put into the old context is not in the new one
                work.append(lambda tx: tx.hooks.clear_answers(caller.name))
            memory.pending = []
        is_at_work = seen.talk is not None and seen.talk.turn is not Turn.IDLE
        via = _proof(happening, memory, is_driven=seen.is_driven, is_at_work=is_at_work)
        if via and memory.pending:
            read, memory.pending = memory.pending, []
            memory.being_read = memory.being_read.union(*map(receipts.places, read))
            work.append(lambda tx: pending.is_read(tx, caller, read, via=via))
        outlived = self._holding.outlived(caller, happening)
        if outlived:
            work.append(lambda tx: withdraw_all(tx, caller, outlived))
        if happening.moment is Moment.ENDS and happening.is_final and seen.spawn is None:
            work.append(lambda tx: statuses.end(tx, caller))
        elif said := statuses.worth_saying(happening, seen, reply):
            detail = happening.asked if said is Status.NEEDS_INPUT else ""
            work.append(lambda tx: statuses.say(tx, caller, said, detail))
        if turn := turns.turn_after(seen.talk, happening, reply):
            work.append(lambda tx: turns.take(tx, caller, happening, turn))
            if happening.moment is Moment.PROMPT:  # what was pushed to it is among what it is shown now
                memory.pending, memory.model_was_asked = None, False
        if happening.moment in (Moment.PROMPT, Moment.AFTER_TOOL):
            memory.stops = 0
        if happening.moment is Moment.PROMPT and happening.prompt.strip() != memory.told_to_wait.strip():
            memory.told_to_wait = ""
        return work


def _may_refuse(seen: Seen, memory: Remembered) -> bool:
    """Return whether critical mail refuses a tool call: the person's always, that of others once in a while."""
    if any(message.sender.kind is SenderKind.PERSON for message in seen.mail):
        return True
    last = memory.refused_at
    if last is not None and (seen.at - last).total_seconds() < limits.critical_refusal_seconds:
        return False
    memory.refused_at = seen.at
    return True


def _with_primer(reply: Reply, primer: str, memory: Remembered) -> Reply:
    if not primer:
        return reply
    memory.owes_primer = False
    if reply is NOTHING:
        return Reply(Kind.CONTEXT, primer)
    return Reply(reply.kind, f"{primer}\n{reply.text}", reply.receipt)


def _proof(happening: Happening, memory: Remembered, *, is_driven: bool, is_at_work: bool) -> str:
    """By what it is known that the model has seen what was shown; '' if it is not."""
    match happening.moment:
        case Moment.PROMPT if is_driven or is_at_work:
            return ""  # it may have come while its tool ran, before the model is asked
        case Moment.PROMPT | Moment.STOP:
            return _VIA
        case Moment.MODEL:
            memory.model_was_asked = True
        case Moment.BEFORE_TOOL if memory.model_was_asked:
            return _VIA
        case Moment.BEFORE_TOOL if not happening.tells_models:
            return _ASSUMED
    return ""


def _do(tx: Tx, caller: Caller, work: list[Callable[[Tx], None]]) -> None:
    kin.require_live(tx, caller)
    for one in work:
        one(tx)


def _asked_no_more(tx: Tx, caller: Caller, memory: Remembered) -> None:
    """One of its hooks waits no longer. Another may, also one that has come meanwhile."""
    if not memory.asking:
        turns.asked_no_more(tx, caller.name)


def _note_shown(tx: Tx, caller: Caller, receipt: str) -> None:
    receipts.confirm(tx, caller, mail_shapes.Confirm(receipt=receipt, step=Step.DELIVERED, via=_VIA))
    tx.hooks.put_answer(caller.name, receipt, at=tx.at)
