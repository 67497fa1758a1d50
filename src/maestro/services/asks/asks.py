"""Asks: a session opens an ask, the person answers the ask, and the answer goes back to the session as mail."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import msgspec

from maestro.core import errors, ids, limits
from maestro.domain import asks
from maestro.domain.asks import Ask, AskChoice, AskStatus
from maestro.domain.callers import SERVER_NAME, Caller, Role
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.messages import HUMAN_MAILBOX, MessageType, ReceiptStep
from maestro.domain.priorities import Priority
from maestro.domain.sessions import Session, SessionStatus, StatusSource
from maestro.domain.visibility import may_read
from maestro.events.hub import Hub
from maestro.operations import asks as ops
from maestro.services import effects
from maestro.services.access import session_relations
from maestro.services.access.scope import find_readable_project, find_task
from maestro.services.mail import receipts
from maestro.services.mail.create import Draft, MailTarget, inline_body, post_message, sender_of
from maestro.services.notifications.queue import queue_closed_ask, queue_opened_ask
from maestro.services.presence.tracker import PresenceTracker
from maestro.services.sessions import status
from maestro.store.base import Store, Tx
from maestro.text import redaction


def create_ask(tx: Tx, caller: Caller, request: ops.CreateAsk) -> Ask:
    """Open an ask of the caller's session. The session has the status `needs_input` until the person answers."""
    task = find_task(tx, caller, request.task) if request.task else None
    task_id = task.id if task else None
    return _open_ask(tx, caller, request.kind, request.title, request.message, request.choice, None, task_id)


def open_ask_from_mail(tx: Tx, caller: Caller, *, title: str, text: str, message_id: str, task_id: str | None) -> Ask:
    """Open an ask for a query that a session mailed to the person."""
    return _open_ask(tx, caller, asks.AskKind.QUESTION, title, text, [], message_id, task_id)


def open_ask_for_session(tx: Tx, session: Session, *, title: str, text: str, choices: list[AskChoice]) -> Ask:
    """Open an ask of the server about a session that has ended, and so cannot ask itself."""
    kind, texts = asks.AskKind.QUESTION, [choice.text for choice in choices]
    ask = _new_ask(tx, session, kind, title[: limits.subject_chars_max], text, texts, None, None)
    _store_ask(tx, ask, actor=SERVER_NAME, choices=choices)
    return ask


def open_ask_for_server(tx: Tx, project_id: str, *, title: str, text: str, choices: list[AskChoice]) -> Ask:
    """Open an ask of the server itself, about no session. The project is where the ask is listed."""
    ask = Ask(
        id=ids.new_id("ask", tx.at),
        project_id=project_id,
        session_id=None,
        asked_by=SERVER_NAME,
        kind=asks.AskKind.QUESTION,
        title=title[: limits.subject_chars_max],
        text=text,
        choices=[choice.text for choice in choices],
        task_id=None,
        message_id=None,
        status=AskStatus.OPEN,
        answer=None,
        answered_by=None,
        created_at=tx.at,
        answered_at=None,
    )
    _store_ask(tx, ask, actor=SERVER_NAME, choices=choices)
    return ask


def open_ask_for_tool(
    tx: Tx, session: Session, *, kind: asks.AskKind, title: str, text: str, choices: list[str], task_id: str | None
) -> Ask:
    """Open an ask of a session's program. The program itself waits for the answer."""
    ask = _new_ask(tx, session, kind, title, text, choices, None, task_id)
    _store_ask(tx, ask, actor=session.id)
    return ask


def open_ask_in_window(
    tx: Tx, session: Session, *, kind: asks.AskKind, title: str, text: str, record_file: str
) -> Ask:
    """Open an ask that the session's program shows in its own window, where the person answers."""
    ask = msgspec.structs.replace(_new_ask(tx, session, kind, title, text, [], None, None), choices=[])
    _store_ask(tx, ask, actor=session.id)
    record_since = tx.at + timedelta(seconds=limits.window_ask_settle_seconds)
    tx.asks.set_record(ask.id, record_file, record_since=record_since)
    tx.asks.leave_to_window(ask.id, record_since=record_since)
    return ask


def withdraw_if_open(tx: Tx, ask_id: str, *, actor: str) -> None:
    """Withdraw an open ask, because the asking program no longer waits."""
    ask = tx.asks.get(ask_id)
    if ask is not None and ask.status is AskStatus.OPEN:
        _close_as_withdrawn(tx, ask, actor=actor)


def has_open_asks(tx: Tx, session: Session) -> bool:
    """Return whether a session has an open ask."""
    return bool(tx.asks.open_of_session(session.id, limit=1))


def answer_ask(tx: Tx, caller: Caller, request: ops.AnswerAsk) -> Ask:
    """Record the person's answer, and send the answer as mail to the session.

    A program that waits for the answer gets the answer directly, without mail.
    """
    ask = _readable_ask(tx, caller, request.id)
    asks.require_answerable(ask)
    chosen = _record_answer(tx, caller, ask, request.answer)
    if tx.conversations.get_ask(ask.id) is None:
        _send_answer(tx, caller, ask, chosen)
    return tx.asks.get(ask.id) or ask


def answer_by_mail(tx: Tx, caller: Caller, message_id: str, text: str) -> None:
    """Record the person's reply to the asking message as the answer."""
    ask = tx.asks.of_message(message_id)
    if ask is not None and text.strip():
        _record_answer(tx, caller, ask, text)


def withdraw_asks_of_ended(tx: Tx, session: Session, caller: Caller) -> None:
    withdraw_all_asks(tx, session.id, caller.name)


def withdraw_all_asks(tx: Tx, session_id: str, actor: str) -> None:
    """Withdraw all open asks of a session that no longer waits for answers."""
    while found := tx.asks.open_of_session(session_id, limit=limits.page_items_max):
        for ask in found:
            _close_as_withdrawn(tx, ask, actor=actor)


def withdraw_ask(tx: Tx, caller: Caller, request: ops.OneAsk) -> Ask:
    """Withdraw an ask, for the session that asked or for the person."""
    ask = _readable_ask(tx, caller, request.id)
    asks.require_open(ask)
    if caller.role is not Role.PERSON and ask.session_id != caller.session_id:
        raise errors.NotPermitted(f"Only the session {ask.asked_by} or the person may withdraw ask {ask.id}.")
    _close_as_withdrawn(tx, ask, actor=caller.name)
    _end_wait_for_input(tx, ask, actor=caller.name)
    return tx.asks.get(ask.id) or ask


def list_asks(tx: Tx, caller: Caller, request: ops.ListAsks) -> ops.AskList:
    """Return a page of asks: for the person the open asks of all projects, for a session the asks of its project."""
    limit_with_next = request.limit + 1
    if caller.is_session or request.all:
        hint = "Leave out --project to see the asks of your own project."
        project = find_readable_project(tx, caller, request.project, action="sees the asks", hint=hint)
        found = tx.asks.list_page(project.id, after=request.cursor, limit=limit_with_next, only_open=not request.all)
    else:
        found = tx.asks.list_open(after=request.cursor, limit=limit_with_next)
    shown = found[: request.limit]
    return ops.AskList(asks=shown, cursor=shown[-1].id if len(found) > request.limit else None)


def show_ask(tx: Tx, caller: Caller, request: ops.OneAsk) -> Ask:
    return _readable_ask(tx, caller, request.id)


class AskWaits:
    """Waits of sessions until an ask is answered or withdrawn."""

    def __init__(self, store: Store, hub: Hub, presence: PresenceTracker) -> None:
        self._store = store
        self._hub = hub
        self._presence = presence

    async def wait_if_requested(self, caller: Caller, request: ops.CreateAsk, ask: Ask) -> Ask:
        return await self._wait_until_closed(caller, ask, request.timeout) if request.wait else ask

    async def wait_for_answer(self, caller: Caller, request: ops.WaitAsk) -> Ask:
        ask = await self._store.read(lambda tx: _readable_ask(tx, caller, request.id), quick=True)
        return await self._wait_until_closed(caller, ask, request.timeout)

    async def _wait_until_closed(self, caller: Caller, ask: Ask, timeout: int) -> Ask:
        keys = [*session_relations.own_end_subjects(caller), ask.id]
        with self._hub.subscribe(keys) as subscription, self._presence.keep_connected(caller.session_id):
            try:
                async with asyncio.timeout(timeout / 1000):
                    while (ask := await self._read_ask(caller, ask)).status is AskStatus.OPEN:
                        await subscription.wait_for_event()
                        subscription.take_events()
            except TimeoutError:
                raise errors.TimedOut(
                    f"No answer within {timeout / 1000:g} s.",
                    hint=f"The ask stays open. Wait again: maestro ask wait {ask.id}",
                    data={"id": ask.id},
                ) from None
        return ask

    async def _read_ask(self, caller: Caller, ask: Ask) -> Ask:
        def read_ask(tx: Tx) -> Ask:
            session_relations.require_live_caller(tx, caller)
            return tx.asks.get(ask.id) or ask

        return await self._store.read(read_ask, quick=True)


def _open_ask(
    tx: Tx,
    caller: Caller,
    kind: asks.AskKind,
    title: str,
    text: str,
    choices: list[str],
    message_id: str | None,
    task_id: str | None,
) -> Ask:
    session = session_relations.own_session(tx, caller)
    ask = _new_ask(tx, session, kind, title, text, choices, message_id, task_id)
    _store_ask(tx, ask, actor=caller.name)
    detail = f"asks: {title}"
    status.apply_signal(
        tx, session, SessionStatus.NEEDS_INPUT, source=StatusSource.REPORT, detail=detail, actor=caller.name
    )
    return ask


def _new_ask(
    tx: Tx,
    session: Session,
    kind: asks.AskKind,
    title: str,
    text: str,
    choices: list[str],
    message_id: str | None,
    task_id: str | None,
) -> Ask:
    return Ask(
        id=ids.new_id("ask", tx.at),
        project_id=session.project_id,
        session_id=session.id,
        asked_by=session.name,
        kind=kind,
        title=redaction.hide_tokens(title),
        text=redaction.hide_tokens(text),
        choices=[redaction.hide_tokens(choice) for choice in choices]
        or ([asks.ALLOW, asks.DENY] if kind is asks.AskKind.PERMISSION else []),
        task_id=task_id,
        message_id=message_id,
        status=AskStatus.OPEN,
        answer=None,
        answered_by=None,
        created_at=tx.at,
        answered_at=None,
    )


def _store_ask(tx: Tx, ask: Ask, *, actor: str, choices: Sequence[AskChoice] = ()) -> None:
    """Store an ask. `choices` has the codes of the choices if the server acts on the answer."""
    tx.asks.insert(ask, choice_codes=[choice.code for choice in choices])
    data = {"session": ask.session_id, "kind": ask.kind.value, "title": ask.title, "choices": ask.choices}
    tx.log(NewEvent(EventKind.ASK_OPENED, ask.id, ask.project_id, data), actor=actor)
    queue_opened_ask(tx, ask)


def _record_answer(tx: Tx, caller: Caller, ask: Ask, answer_text: str) -> str:
    """Close an ask with an answer, and return the answer: a choice of the ask, or the text as given."""
    asks.require_open(ask)
    chosen = asks.resolve_answer(ask, answer_text)
    code = _choice_code(tx, ask, chosen)
    effects.ask_answered(tx, ask, code)
    tx.asks.close(
        ask.id, status=AskStatus.ANSWERED, answer=chosen, answer_code=code or None, by=caller.name, at=tx.at
    )
    data = {"session": ask.session_id, "answer": chosen[:500], "title": ask.title}
    tx.log(NewEvent(EventKind.ASK_ANSWERED, ask.id, ask.project_id, data), actor=caller.name)
    queue_closed_ask(tx, ask, AskStatus.ANSWERED)
    _end_wait_for_input(tx, ask, actor=caller.name)
    return chosen


def _choice_code(tx: Tx, ask: Ask, chosen: str) -> str:
    """Return the code of a choice; "" for free text and for choices without codes."""
    codes_by_text = dict(zip(ask.choices, tx.asks.choice_codes(ask.id), strict=False))
    return codes_by_text.get(chosen, "")


def _end_wait_for_input(tx: Tx, ask: Ask, *, actor: str) -> None:
    """Set the session's status back to `working` after its last open ask is closed."""
    session = tx.sessions.get(ask.session_id) if ask.session_id else None
    if session is None or session.ended_at is not None or has_open_asks(tx, session):
        return
    if tx.conversations.get_ask(ask.id) is not None:
        return  # the program itself reports when it continues
    if session.status is SessionStatus.NEEDS_INPUT:
        status.apply_signal(
            tx, session, SessionStatus.WORKING, source=StatusSource.REPORT, detail="answered", actor=actor
        )


def _send_answer(tx: Tx, caller: Caller, ask: Ask, answer_text: str) -> None:
    """Send the answer as mail, so that `mail wait` returns the answer, and acknowledge the asking message."""
    asking_message = tx.mail.get(ask.message_id) if ask.message_id else None
    if asking_message is not None:
        receipts.record_step(tx, caller, ReceiptStep.ACKNOWLEDGED, HUMAN_MAILBOX, asking_message.seq, via="answer")
    session = tx.sessions.get(ask.session_id) if ask.session_id else None
    if session is None or session.ended_at is not None:
        return
    posted = post_message(
        tx,
        Draft(
            sender=sender_of(tx, caller),
            project_id=ask.project_id,
            to=[session.name],
            targets=[MailTarget(session.id, session.project_id, name=session.name)],
            type=MessageType.RESPONSE,
            priority=Priority.HIGH,
            subject=f"Answer: {ask.title}"[: limits.subject_chars_max],
            body=inline_body(answer_text),
            task_id=ask.task_id,
            parent=asking_message,
        ),
    )
    tx.asks.set_answer_message(ask.id, posted.id)


def _close_as_withdrawn(tx: Tx, ask: Ask, *, actor: str) -> None:
    tx.asks.close(ask.id, status=AskStatus.WITHDRAWN, answer=None, by=actor, at=tx.at)
    data = {"session": ask.session_id, "title": ask.title}
    tx.log(NewEvent(EventKind.ASK_WITHDRAWN, ask.id, ask.project_id, data), actor=actor)
    queue_closed_ask(tx, ask, AskStatus.WITHDRAWN)


def _readable_ask(tx: Tx, caller: Caller, ask_id: str) -> Ask:
    ask = tx.asks.get(ask_id)
    if ask is None or not may_read(caller, ask.project_id):
        raise errors.NotFound(f"There is no ask {ask_id!r}.", hint="List the asks: maestro ask list")
    return ask
