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
from maestro.domain.conversations import TurnState
from maestro.domain.messages import ReceiptStep, SenderKind
from maestro.domain.sessions import ENDED_STATUSES, Session, SessionStatus
from maestro.domain.spawns import Spawn
from maestro.operations import mail_shapes
from maestro.prompts import mail
from maestro.services.access import session_relations
from maestro.services.asks.withdrawal import withdraw_asks
from maestro.services.conversations import record_contents, turn_tracking, unconfirmed_mail
from maestro.services.hooks import late_hooks, status_signals, tool_gate, window_asks
from maestro.services.hooks.hook_state import HookState, HookStates
from maestro.services.hooks.permission_hold import PermissionHolds
from maestro.services.hooks.self_wait import SelfWaits
from maestro.services.hooks.snapshot import HookSnapshot, read_snapshot
from maestro.services.mail import receipts
from maestro.services.sessions import windows
from maestro.store.base import Store, Tx
from maestro.tools import registry
from maestro.tools.hook_dialect import EMPTY_REPLY, HookEvent, HookMoment, HookReply, ReplyKind

_VIA = "hook"
_ASSUMED = "assumed"  # the agent went on, and the program does not report when the model is asked
_STOP_HELPER = "The agent that started you has urgent mail. Stop here and return to it."


HoldNotice = Callable[[], Awaitable[None]]


async def _ignore_hold() -> None:
    """Do nothing before a hold."""


class HoldPolicy(Protocol):
    """Decides whether Maestro holds a session's permission requests until a person answers them in Maestro."""

    def __call__(self, session: Session, spawn: Spawn | None) -> bool: ...


def hold_where_answerable(session: Session, spawn: Spawn | None) -> bool:
    """Hold the calls of spawned sessions: no person watches them.

    Hold the calls of a session that was started by hand only if its program shows its dialog meanwhile.
    """
    dialect = registry.DIALECTS.get(session.tool or "")
    return spawn is not None or (dialect is not None and dialect.dialog_opens_during_hook)


class HookHandler:
    """Answers the hook events of sessions."""

    def __init__(
        self,
        store: Store,
        permission_holds: PermissionHolds,
        self_waits: SelfWaits,
        *,
        may_hold: HoldPolicy = hold_where_answerable,
    ) -> None:
        self._store = store
        self._permission_holds = permission_holds
        self._self_waits = self_waits
        self._may_hold = may_hold
        self._states = HookStates()

    async def answer_hook(
        self, caller: Caller, event: HookEvent, *, before_hold: HoldNotice = _ignore_hold
    ) -> HookReply:
        """Return the reply to a session's hook event. Call `before_hold` before the reply waits for a person."""
        if not caller.is_session:
            raise errors.NotPermitted("Only a session's program may report hook events; the caller is no session.")
        state = self._states.state_of(caller.name)
        snapshot = await self._read_snapshot(caller, event, state)
        if (
            event.moment is HookMoment.ASKS
            and not snapshot.is_driven
            and self._may_hold(snapshot.session, snapshot.spawn)
        ):
            return await self._decide_call(caller, event, snapshot, before_hold)
        reply = self._choose_reply(event, snapshot, state)
        await self._write_consequences(caller, event, snapshot, state, reply)
        if reply is EMPTY_REPLY and self._needs_permission(event, snapshot):
            return turn_tracking.deny_without_answer(await self._decide_call(caller, event, snapshot, before_hold))
        return reply

    async def apply_late_hook(self, caller: Caller, event: HookEvent, *, fired_at: datetime) -> None:
        """Apply a late hook: no server ran when it fired, and the agent went on without a reply.

        Newer events of the same session take precedence.
        """
        state = self._states.state_of(caller.name)
        snapshot = await self._read_and_note(caller, event, state)
        state.is_primer_due = state.is_primer_due or bool(snapshot.primer)
        await self._write_consequences(caller, event, snapshot, state, EMPTY_REPLY, fired_at=fired_at)

    async def _read_snapshot(self, caller: Caller, event: HookEvent, state: HookState) -> HookSnapshot:
        """Read the session's snapshot.

        No other coroutine may run between the last read and the reply: both would show the same mail.
        """
        snapshot = await self._read_and_note(caller, event, state)
        if turn_tracking.reports_turn(event):
            state.turn_event_at = snapshot.at
        is_stop = event.moment is HookMoment.STOP and snapshot.session.status not in ENDED_STATUSES
        if not is_stop or not self._self_waits.has_waiter(snapshot.conversation, event):
            return snapshot
        instruction = await self._self_waits.missing_wait_instruction(snapshot.conversation, event)
        snapshot = await self._read_and_note(caller, event, state)
        return msgspec.structs.replace(snapshot, wait_instruction=instruction)

    async def _read_and_note(self, caller: Caller, event: HookEvent, state: HookState) -> HookSnapshot:
        """Read a snapshot, and note in the session's state what follows from the event and the snapshot."""
        snapshot = await self._store.read(lambda tx: read_snapshot(tx, caller, event, state), quick=True)
        if state.unconfirmed_receipts is None:
            state.unconfirmed_receipts = list(snapshot.unconfirmed_receipts)
        if window_asks.may_end_dialog(event):
            state.may_have_window_asks = snapshot.has_window_asks
        if event.moment is HookMoment.COMPACTS and not event.is_from_subagent:
            state.is_primer_due = True  # shown with the next reply that can carry text
        return snapshot

    async def _write_consequences(
        self,
        caller: Caller,
        event: HookEvent,
        snapshot: HookSnapshot,
        state: HookState,
        reply: HookReply,
        *,
        fired_at: datetime | None = None,
    ) -> None:
        """Write the consequences of a hook event, if any. `fired_at` is given for a late hook only."""
        now_read: set[int] = set()
        is_written = False
        try:
            reading = await record_contents.read_new_part(
                snapshot.conversation, event, reply, folder_of=self._self_waits.session_folder
            )
            read_before = state.mail_being_marked_read
            work = self._consequences(caller, event, snapshot, state, reply)
            now_read = state.mail_being_marked_read - read_before
            if reading is not None:
                work.insert(0, lambda tx: record_contents.apply_reading(tx, caller, reading))
            if fired_at is not None:
                work = late_hooks.with_age_check(work, caller, event, state, fired_at)
            if work:
                await self._store.write(lambda tx: _run_writes(tx, caller, work), quick=True)
            is_written = True
        finally:
            state.mail_being_marked_read = state.mail_being_marked_read - now_read
            if not is_written:
                state.take_back_reply(reply.receipt)

    def _needs_permission(self, event: HookEvent, snapshot: HookSnapshot) -> bool:
        """Return whether a tool call needs permission from Maestro because the program shows no permission dialog."""
        if not event.is_gate or snapshot.spawn is None or snapshot.conversation is None or snapshot.is_driven:
            return False
        return not tool_gate.may_run_unasked(event, snapshot.spawn) and not self._self_waits.is_wait_command(
            snapshot.conversation, event
        )

    async def _decide_call(
        self, caller: Caller, event: HookEvent, snapshot: HookSnapshot, before_hold: HoldNotice
    ) -> HookReply:
        """Allow or deny a tool call that needs permission, by the run's policy or by the person's answer."""
        decided = turn_tracking.policy_reply(snapshot.conversation, snapshot.spawn, event)
        if decided is not None:
            return decided
        await before_hold()
        state = self._states.state_of(caller.name)
        if snapshot.conversation is None:
            return await self._permission_holds.hold_call(caller, event, has_window=snapshot.spawn is None)
        state.waiting_hooks += 1
        try:
            await self._store.write(
                lambda tx: tx.conversations.set_turn(caller.name, TurnState.ASKING, at=tx.at), quick=True
            )
            return await self._permission_holds.hold_call(caller, event)
        finally:
            state.waiting_hooks -= 1
            await asyncio.shield(self._store.write(lambda tx: _end_asking(tx, caller, state), quick=True))

    async def settle_reply(self, caller: Caller, reply: HookReply, *, is_delivered: bool) -> None:
        """Note whether a reply was delivered. Later replies offer the mail of an undelivered reply again."""
        if not reply.receipt:
            return
        state = self._states.state_of(caller.name)
        state.mail_on_its_way -= receipts.sequence_numbers(reply.receipt)
        if not is_delivered:
            return
        # Read the receipts before the write below: a hook event that reads in between would show the mail again.
        if state.unconfirmed_receipts is None:
            state.unconfirmed_receipts = await self._store.read(
                lambda tx: tx.hooks.answers_of(caller.name), quick=True
            )
        state.unconfirmed_receipts = [*state.unconfirmed_receipts, reply.receipt][-limits.hook_answers_max :]
        state.model_was_asked = False
        await self._store.write(lambda tx: _store_shown(tx, caller, reply.receipt), quick=True)

    def handle_turn_end(self, session_id: str) -> None:
        """Read the receipts anew at the next hook event: the end of the turn has settled them in the store."""
        self._states.state_of(session_id).unconfirmed_receipts = None

    def handle_confirmed_push(self, session_id: str) -> None:
        """Read the receipts anew at the next hook event: mail counts as shown that no hook event reported."""
        self._states.state_of(session_id).unconfirmed_receipts = None

    def forget_session(self, session_id: str) -> None:
        """Drop the state of a session that has ended or starts again."""
        self._states.forget_session(session_id)

    def _choose_reply(self, event: HookEvent, snapshot: HookSnapshot, state: HookState) -> HookReply:
        """Choose the reply. Mail in the reply counts as on its way from now on."""
        if event.is_from_subagent:
            urgent = event.moment is HookMoment.BEFORE_TOOL and snapshot.mail
            return (
                HookReply(ReplyKind.REFUSE, _STOP_HELPER) if urgent and _may_refuse(snapshot, state) else EMPTY_REPLY
            )
        reach = snapshot.reach
        match event.moment:
            case HookMoment.BEFORE_TOOL if snapshot.mail and _may_refuse(snapshot, state):
                kind, fitted = (
                    ReplyKind.REFUSE,
                    mail.mail_instead_of_tool(snapshot.mail, reach, more=snapshot.has_more_mail),
                )
            case HookMoment.STOP if snapshot.mail and state.delayed_stops < limits.hook_stops_in_a_row_max:
                state.delayed_stops += 1
                kind, fitted = (
                    ReplyKind.GO_ON,
                    mail.mail_instead_of_stop(snapshot.mail, reach, more=snapshot.has_more_mail),
                )
            case HookMoment.STOP if snapshot.wait_instruction and not state.wait_instruction:
                state.wait_instruction = snapshot.wait_instruction
                return HookReply(ReplyKind.GO_ON, snapshot.wait_instruction)
            case HookMoment.PROMPT | HookMoment.AFTER_TOOL if snapshot.mail:
                kind, fitted = (
                    ReplyKind.CONTEXT,
                    mail.mail_after_tool(snapshot.mail, reach, more=snapshot.has_more_mail),
                )
            case _:
                return _add_primer(EMPTY_REPLY, snapshot.primer, state)
        receipt = receipts.receipt_for(fitted.shown)
        state.mail_on_its_way |= receipts.sequence_numbers(receipt)
        return _add_primer(HookReply(kind, fitted.text, receipt), snapshot.primer, state)

    def _consequences(
        self, caller: Caller, event: HookEvent, snapshot: HookSnapshot, state: HookState, reply: HookReply
    ) -> list[Callable[[Tx], None]]:
        """Return the writes that follow from a hook event. Most events cause no write."""
        if event.is_from_subagent:
            return []
        work: list[Callable[[Tx], None]] = []
        if event.moment is HookMoment.STARTS:
            if state.unconfirmed_receipts:  # the new context does not hold the mail of the old context
                work.append(lambda tx: tx.hooks.clear_answers(caller.name))
            state.unconfirmed_receipts = []
        is_at_work = snapshot.conversation is not None and snapshot.conversation.turn is not TurnState.IDLE
        via = _proof_of_reading(event, state, is_driven=snapshot.is_driven, is_at_work=is_at_work)
        if via and state.unconfirmed_receipts:
            read, state.unconfirmed_receipts = state.unconfirmed_receipts, []
            state.mail_being_marked_read = state.mail_being_marked_read.union(*map(receipts.sequence_numbers, read))
            work.append(lambda tx: unconfirmed_mail.mark_read(tx, caller, read, via=via))
        if window_asks.shows_dialog(event) and snapshot.has_own_window:
            state.may_have_window_asks = True
            may_ask = self._permission_holds.is_within_quota
            work.append(lambda tx: window_asks.open_window_ask(tx, caller, event, may_ask=may_ask))
        elif snapshot.has_window_asks and window_asks.may_end_dialog(event):
            work.append(lambda tx: window_asks.withdraw_answered(tx, caller, event))
        outlived = self._permission_holds.outlived_asks(caller, event)
        if outlived:
            work.append(lambda tx: withdraw_asks(tx, caller, outlived))
        if event.moment is HookMoment.ENDS and event.is_final and snapshot.spawn is None:
            work.append(lambda tx: status_signals.end_session(tx, caller))
        elif status := status_signals.status_to_write(event, snapshot, reply):
            detail = event.summary if status is SessionStatus.NEEDS_INPUT else ""
            work.append(lambda tx: status_signals.write_status(tx, caller, status, detail))
        if event.moment is HookMoment.PROMPT and snapshot.conversation is None:
            work.append(
                lambda tx: windows.record_prompt(tx, caller.name, directory=event.directory, prompt=event.prompt)
            )
        if turn := turn_tracking.turn_after(snapshot.conversation, event, reply):
            work.append(lambda tx: turn_tracking.apply_turn(tx, caller, event, turn))
            if event.moment is HookMoment.PROMPT:  # the prompt may hold pushed mail, which counts as shown now
                state.unconfirmed_receipts, state.model_was_asked = None, False
        if event.moment in (HookMoment.PROMPT, HookMoment.AFTER_TOOL):
            state.delayed_stops = 0
        if event.moment is HookMoment.PROMPT and event.prompt.strip() != state.wait_instruction.strip():
            state.wait_instruction = ""
        return work


def _may_refuse(snapshot: HookSnapshot, state: HookState) -> bool:
    """Return whether critical mail refuses a tool call: the person's mail always, mail of agents once in a while."""
    if any(message.sender.kind is SenderKind.PERSON for message in snapshot.mail):
        return True
    last = state.agent_refusal_at
    if last is not None and (snapshot.at - last).total_seconds() < limits.critical_refusal_seconds:
        return False
    state.agent_refusal_at = snapshot.at
    return True


def _add_primer(reply: HookReply, primer: str, state: HookState) -> HookReply:
    if not primer:
        return reply
    state.is_primer_due = False
    if reply is EMPTY_REPLY:
        return HookReply(ReplyKind.CONTEXT, primer)
    return HookReply(reply.kind, f"{primer}\n{reply.text}", reply.receipt)


def _proof_of_reading(event: HookEvent, state: HookState, *, is_driven: bool, is_at_work: bool) -> str:
    """Return how the hook event proves that the model has read the shown mail; "" without a proof."""
    match event.moment:
        case HookMoment.PROMPT if is_driven or is_at_work:
            return ""  # the prompt may have come while a tool ran, before the model was asked
        case HookMoment.PROMPT | HookMoment.STOP:
            return _VIA
        case HookMoment.MODEL:
            state.model_was_asked = True
        case HookMoment.BEFORE_TOOL if state.model_was_asked:
            return _VIA
        case HookMoment.BEFORE_TOOL if not event.reports_model_calls:
            return _ASSUMED
    return ""


def _run_writes(tx: Tx, caller: Caller, work: list[Callable[[Tx], None]]) -> None:
    session_relations.require_live_caller(tx, caller)
    for write in work:
        write(tx)


def _end_asking(tx: Tx, caller: Caller, state: HookState) -> None:
    """End the session's asking when none of its hooks waits for the person any more."""
    if not state.waiting_hooks:
        turn_tracking.end_asking(tx, caller.name)


def _store_shown(tx: Tx, caller: Caller, receipt: str) -> None:
    receipts.confirm(tx, caller, mail_shapes.ConfirmReceipt(receipt=receipt, step=ReceiptStep.DELIVERED, via=_VIA))
    tx.hooks.put_answer(caller.name, receipt, at=tx.at)
