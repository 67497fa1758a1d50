"""Push texts to idle programs: unread mail, a reminder of held tasks, or "continue" after a provider's limit.

A program whose session has reported its end is asked to finish. Pushes go over the program's protocol or into an
inbox beside the keyboard, so a push can never approve a dialog. The conversation or the program's hooks report when
the model has received the push.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial

import msgspec

from maestro.core import errors, ids, limits
from maestro.core.clock import Clock
from maestro.domain.callers import Caller
from maestro.domain.conversations import (
    PendingPush,
    PushDecision,
    ReminderState,
    SessionConversation,
    TurnState,
    decide_push,
    push_attempt_name,
    push_retry_at,
)
from maestro.domain.manifests import AgentReach, decode_manifest
from maestro.domain.messages import ReceiptStep, ReceivedMessage
from maestro.domain.prompts import is_prompt
from maestro.domain.sessions import ENDED_STATUSES, Session, SessionStatus
from maestro.operations.mail_shapes import ConfirmReceipt
from maestro.prompts import pushes
from maestro.services.conversations import record_contents, unconfirmed_mail
from maestro.services.conversations.push import Pusher
from maestro.services.conversations.turn_tracking import confirm_pushed_mail
from maestro.services.mail import reading, receipts
from maestro.services.runners.runners import Runners
from maestro.services.sessions import notices, report_effects
from maestro.store.base import Store, Tx
from maestro.store.repositories.deliveries import MessageFilter
from maestro.tools import registry as tools
from maestro.wire import runner_requests

_CONTINUE = "Your provider's limit is over. Continue where you stopped."
_DONE = (SessionStatus.COMPLETED, SessionStatus.FAILED)


async def _return_at_once() -> None:
    """Wait for no condition: the default where the server has no late hooks."""


class PlannedPush(msgspec.Struct, frozen=True):
    """A text to push to one program."""

    id: str
    text: str
    last_event: int  # the number of the runner's last known event when this push was decided
    receipt: str = ""
    previous_push: PendingPush | None = None  # the last push, if its arrival is not confirmed


class PushJob:
    """A job that runs when mail was sent, when a turn ended, and when a push or the end of a limit is due."""

    name = "pushes"

    def __init__(
        self,
        store: Store,
        runners: Runners,
        pusher: Pusher,
        *,
        clock: Clock,
        on_push_received: Callable[[str], None] = lambda session_id: None,
        wait_until_caught_up: Callable[[], Awaitable[object]] = _return_at_once,
    ) -> None:
        self._store = store
        self._runners = runners
        self._pusher = pusher
        self._clock = clock
        # Called when a push counts as received although no hook reported the push.
        self._on_push_received = on_push_received
        # Returns when the events from before the server's start are applied.
        self._wait_until_caught_up = wait_until_caught_up
        self._closed: dict[str, str] = {}  # by session: why the program could not take the last push

    async def run_once(self) -> datetime | None:
        await self._wait_until_caught_up()
        due: list[datetime] = []
        after = ""
        while True:
            conversations = await self._store.read(partial(_idle_conversations, after=after), quick=True)
            checked = [await self._check_conversation(conversation) for conversation in conversations]
            due += [at for at in checked if at is not None]
            if len(conversations) < limits.job_batch_rows_max:
                return min(due, default=None)
            after = conversations[-1].session_id

    async def push_to_session(self, session_id: str) -> str:
        """Push to the session's program now, if it is idle. Return why the program cannot take a push, or ""."""
        conversation = await self._store.read(lambda tx: tx.conversations.get(session_id), quick=True)
        if conversation is None or conversation.turn is not TurnState.IDLE:
            return ""
        await self._check_conversation(conversation)
        return self._closed.get(session_id, "")

    async def _check_conversation(self, conversation: SessionConversation) -> datetime | None:
        """Push to one idle program, or ask it to finish, if that is due. Return when to check again."""
        session_id = conversation.session_id
        is_done, may_need_push, last_push = await self._store.read(lambda tx: _read_state(tx, session_id), quick=True)
        now = self._clock.now()
        if is_done:
            is_running = await self._ask_to_finish(session_id)
            return now + timedelta(seconds=limits.push_confirm_seconds) if is_running else None
        if conversation.parked_until is not None and conversation.parked_until > now:
            return conversation.parked_until
        if conversation.parked_until is None and not may_need_push:
            return None  # the usual case
        if (
            last_push is not None
            and decide_push(last_push, now) is not PushDecision.WAIT
            and await self._is_in_record(conversation)
        ):
            return now + timedelta(seconds=limits.push_confirm_seconds)  # a hook usually causes an earlier check
        push = await self._store.write(lambda tx: _next_push(tx, session_id))
        if push is None:
            return push_retry_at(last_push) if last_push is not None and not last_push.given_up else None
        handed = await self._pusher.push_text_if_idle(session_id, push.id, push.text, last_event=push.last_event)
        self._closed.pop(session_id, None)
        if handed.is_pushed:
            await self._store.write(lambda tx: _confirm_delivery(tx, session_id, push), quick=True)
        elif handed.is_unanswered:
            pass  # the push may have arrived; if it has not, it is due again
        elif handed.refusal:  # a push for mail is repeated, within its limit of attempts
            self._closed[session_id] = handed.refusal
            if not push.receipt:
                await self._store.write(lambda tx: _report_failed_push(tx, session_id, handed.refusal), quick=True)
        else:
            await self._store.write(lambda tx: _take_back_push(tx, session_id, push), quick=True)
        last_push = await self._store.read(lambda tx: tx.conversations.get_push(session_id), quick=True)
        return push_retry_at(last_push) if last_push is not None else None

    async def _is_in_record(self, conversation: SessionConversation) -> bool:
        """Confirm the last push if the program's own record of the conversation shows it. Return whether it does.

        The hooks may have reported the push while no server ran. A push that only announces mail and names no message
        does no harm when repeated.
        """
        session_id = conversation.session_id
        spawn = await self._store.read(lambda tx: tx.spawns.get(session_id), quick=True)
        folder = str(self._runners.session_folder(session_id).absolute())
        recorded = (
            await record_contents.unread_text(spawn.tool, conversation, folder=folder) if spawn is not None else ""
        )
        is_confirmed = bool(recorded) and await self._store.write(
            lambda tx: _confirm_from_record(tx, session_id, recorded), quick=True
        )
        if is_confirmed:
            self._on_push_received(session_id)
        return is_confirmed

    async def _ask_to_finish(self, session_id: str) -> bool:
        """Ask the runner to end the program of a session that has reported its end; return whether a runner answers.

        A person may be typing in the terminal, and the program then stays. Therefore the request is repeated while
        the program runs.
        """
        try:
            await self._runners.send_request(session_id, do=runner_requests.FINISH)
        except errors.Conflict:
            return False  # the program has ended
        return True


def _idle_conversations(tx: Tx, *, after: str) -> list[SessionConversation]:
    return tx.conversations.list_idle(after=after, limit=limits.job_batch_rows_max)


def _read_state(tx: Tx, session_id: str) -> tuple[bool, bool, PendingPush | None]:
    """Return whether the session has reported its end, whether a push may be needed, and the last push."""
    session, caller = tx.sessions.get(session_id), tx.sessions.live_caller(session_id)
    conversation = tx.conversations.get(session_id)
    if session is None or caller is None or conversation is None or session.ended_at is not None:
        return False, False, None
    last_push = tx.conversations.get_push(session_id)
    has_mail = any(tx.deliveries.has_open(mailbox) for mailbox in (caller.session_id, caller.member_id) if mailbox)
    may_remind = conversation.reminded is ReminderState.NOT_REMINDED and bool(report_effects.held_tasks(tx, session))
    return session.status in _DONE, has_mail or may_remind or last_push is not None, last_push


def _next_push(tx: Tx, session_id: str) -> PlannedPush | None:
    """Decide the next push from the present state: mail that was read meanwhile causes no push."""
    session, caller = tx.sessions.get(session_id), tx.sessions.live_caller(session_id)
    conversation = tx.conversations.get(session_id)
    if (
        session is None
        or conversation is None
        or caller is None
        or session.ended_at
        or session.status in ENDED_STATUSES
    ):
        return None
    if conversation.parked_until is not None:
        # The push is sent once: a program that meets the limit again reports the limit again.
        tx.conversations.park_until(session_id, None)
        return PlannedPush(ids.new_id("psh", tx.at), _CONTINUE, conversation.last_event_number)
    unread = _unread_mail(tx, caller)
    if not unread:
        tx.conversations.delete_push(session_id)
        return _reminder(tx, session, conversation)
    last = _unread_push(tx, session_id, unread)
    match decide_push(last, tx.at):
        case PushDecision.WAIT:
            return None
        case PushDecision.GIVE_UP:
            assert last is not None
            _give_up(tx, session, last, unread)
            return None
    receipt, attempts = receipts.receipt_for(unread), last.attempts + 1 if last else 1
    push_id = last.id if last is not None and last.receipt == receipt else ids.new_id("psh", tx.at)
    push = PendingPush(session_id=session_id, id=push_id, receipt=receipt, attempts=attempts, pushed_at=tx.at)
    tx.conversations.put_push(push)
    return PlannedPush(
        push_attempt_name(push), _push_text(tx, conversation, unread), conversation.last_event_number, receipt, last
    )


def _unread_push(tx: Tx, session_id: str, unread: list[ReceivedMessage]) -> PendingPush | None:
    """Return the last push while the session still has to read a message of that push; forget the push otherwise.

    A program that shows mail through its hooks may read the pushed messages without confirming the push."""
    push = tx.conversations.get_push(session_id)
    if push is None or receipts.sequence_numbers(push.receipt) & {message.seq for message in unread}:
        return push
    tx.conversations.delete_push(session_id)
    return None


def _confirm_from_record(tx: Tx, session_id: str, recorded: str) -> bool:
    """Apply the pushes found in the program's record. Return whether the last push is confirmed now."""
    caller = tx.sessions.live_caller(session_id)
    if caller is not None:
        confirm_pushed_mail(tx, caller, recorded, is_record=True)
    return tx.conversations.get_push(session_id) is None


def _push_text(tx: Tx, conversation: SessionConversation, unread: list[ReceivedMessage]) -> str:
    """Return the text of the push: a single live prompt as it is, other mail as a list of messages.

    A model that waits by itself only learns that mail has come; the hooks of its next turn show the mail.
    """
    spawn, reach = tx.spawns.get(conversation.session_id), _reach(tx, conversation.session_id)
    waiter = tools.find_model_wait(spawn.tool, conversation.driver) if spawn is not None else None
    if waiter is not None:
        return waiter.mail_announcement(len(unread))
    if len(unread) == 1 and is_prompt(unread[0]):
        return pushes.prompt_push(unread[0].body, unread[0].sender)
    return pushes.mail_push(unread, reach)


def _unread_mail(tx: Tx, caller: Caller) -> list[ReceivedMessage]:
    """Return unread mail of the session and its member, without mail that a hook has shown and not yet confirmed.

    Mail in a mailbox of the whole project causes no push, because it would be pushed to every session.
    """
    own = (caller.session_id, caller.member_id)
    shown = unconfirmed_mail.unconfirmed_messages(tx, caller.name)
    fresh = reading.find_unshown(tx, caller, MessageFilter(), limit=limits.push_messages_max + len(shown))
    unread = [message for message in fresh if message.mailbox in own and message.seq not in shown]
    return unread[: limits.push_messages_max]


def _reminder(tx: Tx, session: Session, conversation: SessionConversation) -> PlannedPush | None:
    """Return a reminder for a session that has stopped and still holds tasks. Each stop causes only one reminder."""
    held = report_effects.held_tasks(tx, session)
    if not held or session.status is not SessionStatus.IDLE:
        return None
    refs = [task.ref for task in held]
    if conversation.reminded is ReminderState.NOT_REMINDED:
        tx.conversations.set_reminded(session.id, ReminderState.ONCE)
        return PlannedPush(
            ids.new_id("psh", tx.at),
            pushes.reminder_push(refs, _reach(tx, session.id)),
            conversation.last_event_number,
        )
    return None


def _reach(tx: Tx, session_id: str) -> AgentReach:
    data = tx.spawns.get_manifest(session_id)
    assert data is not None
    return decode_manifest(data).reach


def _give_up(tx: Tx, session: Session, last: PendingPush, unread: list[ReceivedMessage]) -> None:
    """Stop repeating the push, and tell the coordinator and the person."""
    tx.conversations.put_push(msgspec.structs.replace(last, given_up=True))
    text = (
        f"It has {len(unread)} unread messages. They were pushed {last.attempts} times; "
        "its model has not received them."
    )
    subject = f"{session.name} does not receive pushes"
    notices.notify_coordinator(tx, session, subject=subject, text=text, is_for_person=True)


def _confirm_delivery(tx: Tx, session_id: str, push: PlannedPush) -> None:
    caller = tx.sessions.live_caller(session_id)
    if push.receipt and caller is not None:
        receipts.confirm(tx, caller, ConfirmReceipt(receipt=push.receipt, step=ReceiptStep.DELIVERED, via="push"))


def _report_failed_push(tx: Tx, session_id: str, why: str) -> None:
    """Tell the coordinator and the person that a push without mail failed: such a push is not repeated."""
    session = tx.sessions.get(session_id)
    if session is not None:
        subject = f"{session.name} does not receive pushes"
        notices.notify_coordinator(
            tx, session, subject=subject, text=f"It has stopped, and {why}.", is_for_person=True
        )


def _take_back_push(tx: Tx, session_id: str, push: PlannedPush) -> None:
    """Take back a push to a program that turned out to be busy; the end of its turn causes the next check.

    The program may be working on the push before, and its report about that push may be on the way.
    """
    last = tx.conversations.get_push(session_id)
    if last is None or push_attempt_name(last) != push.id:
        return
    tx.conversations.delete_push(session_id)
    if push.previous_push is not None:
        tx.conversations.put_push(msgspec.structs.replace(push.previous_push, pushed_at=tx.at))
