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
from maestro.domain.manifests import Reach, decode
from maestro.domain.messages import Received, Step
from maestro.domain.prompts import is_prompt
from maestro.domain.sessions import FINAL, Session, Status
from maestro.domain.talks import Next, Reminded, Talk, Turn, Wake, next_wake, said_as, wake_due
from maestro.operations.mail_shapes import Confirm
from maestro.prompts import pushes
from maestro.services.hooks import pending, spending
from maestro.services.hooks.turns import came_in
from maestro.services.mail import reading, receipts
from maestro.services.programs.runners import Runners
from maestro.services.sessions import notices, reports
from maestro.services.talks.saying import Saying
from maestro.store.base import Store, Tx
from maestro.store.repositories.deliveries import Wanted
from maestro.tools import registry as tools

_CONTINUE = "Your provider's limit is over. Continue where you stopped."
_DONE = (Status.COMPLETED, Status.FAILED)


async def _return_at_once() -> None:
    """Wait for no condition: the default where the server has no late hooks."""


class Push(msgspec.Struct, frozen=True):
    """A text to push to one program."""

    id: str
    text: str
    heard: int  # the number of the runner's last known event when this push was decided
    receipt: str = ""
    before: Wake | None = None  # the last push, if its arrival is not confirmed


class Waking:
    """A job that runs when mail was sent, when a turn ended, and when a push or the end of a limit is due."""

    name = "waking"

    def __init__(
        self,
        store: Store,
        runners: Runners,
        saying: Saying,
        *,
        clock: Clock,
        came_in: Callable[[str], None] = lambda session_id: None,
        is_caught_up: Callable[[], Awaitable[object]] = _return_at_once,
    ) -> None:
        self._store = store
        self._runners = runners
        self._saying = saying
        self._clock = clock
        self._came_in = came_in  # called when a push counts as received although no hook reported it
        self._is_caught_up = is_caught_up  # returns when the events from before the server's start are applied
        self._closed: dict[str, str] = {}  # by session: why the program could not take the last push

    async def run_once(self) -> datetime | None:
        await self._is_caught_up()
        due: list[datetime] = []
        after = ""
        while True:
            conversations = await self._store.read(partial(_idle_conversations, after=after), quick=True)
            checked = [await self._check_conversation(conversation) for conversation in conversations]
            due += [at for at in checked if at is not None]
            if len(conversations) < limits.upkeep_batch_rows_max:
                return min(due, default=None)
            after = conversations[-1].session_id

    async def wake(self, session_id: str) -> str:
        """Push to the session's program now, if it is idle. Return why the program cannot take a push, or ""."""
        conversation = await self._store.read(lambda tx: tx.talks.get(session_id), quick=True)
        if conversation is None or conversation.turn is not Turn.IDLE:
            return ""
        await self._check_conversation(conversation)
        return self._closed.get(session_id, "")

    async def _check_conversation(self, conversation: Talk) -> datetime | None:
        """Push to one idle program, or ask it to finish, if that is due. Return when to check again."""
        session_id = conversation.session_id
        is_done, may_need_push, wake = await self._store.read(lambda tx: _read_state(tx, session_id), quick=True)
        now = self._clock.now()
        if is_done:
            is_running = await self._ask_to_finish(session_id)
            return now + timedelta(seconds=limits.wake_confirm_seconds) if is_running else None
        if conversation.parked_until is not None and conversation.parked_until > now:
            return conversation.parked_until
        if conversation.parked_until is None and not may_need_push:
            return None  # the usual case
        if wake is not None and next_wake(wake, now) is not Next.WAIT and await self._is_in_record(conversation):
            return now + timedelta(seconds=limits.wake_confirm_seconds)  # a hook usually causes an earlier check
        push = await self._store.write(lambda tx: _next_push(tx, session_id))
        if push is None:
            return wake_due(wake) if wake is not None and not wake.given_up else None
        handed = await self._saying.say_if_idle(session_id, push.id, push.text, heard=push.heard)
        self._closed.pop(session_id, None)
        if handed.is_said:
            await self._store.write(lambda tx: _confirm_delivery(tx, session_id, push), quick=True)
        elif handed.is_unknown:
            pass  # the push may have arrived; if it has not, it is due again
        elif handed.closed:  # a push for mail is repeated, within its limit of attempts
            self._closed[session_id] = handed.closed
            if not push.receipt:
                await self._store.write(lambda tx: _report_failed_push(tx, session_id, handed.closed), quick=True)
        else:
            await self._store.write(lambda tx: _take_back_push(tx, session_id, push), quick=True)
        wake = await self._store.read(lambda tx: tx.talks.wake(session_id), quick=True)
        return wake_due(wake) if wake is not None else None

    async def _is_in_record(self, conversation: Talk) -> bool:
        """Confirm the last push if the program's own record of the conversation shows it. Return whether it does.

        The hooks may have reported the push while no server ran. A push that only announces mail and names no message
        does no harm when repeated.
        """
        session_id = conversation.session_id
        spawn = await self._store.read(lambda tx: tx.spawns.get(session_id), quick=True)
        folder = str(self._runners.folder(session_id).absolute())
        recorded = await spending.unheard(spawn.tool, conversation, folder=folder) if spawn is not None else ""
        is_confirmed = bool(recorded) and await self._store.write(
            lambda tx: _confirm_from_record(tx, session_id, recorded), quick=True
        )
        if is_confirmed:
            self._came_in(session_id)
        return is_confirmed

    async def _ask_to_finish(self, session_id: str) -> bool:
        """Ask the runner to end the program of a session that has reported its end; return whether a runner answers.

        A person may be typing in the terminal, and the program then stays. Therefore the request is repeated while
        the program runs.
        """
        try:
            await self._runners.ask(session_id, do="finish")
        except errors.Conflict:
            return False  # the program has ended
        return True


def _idle_conversations(tx: Tx, *, after: str) -> list[Talk]:
    return tx.talks.idle(after=after, limit=limits.upkeep_batch_rows_max)


def _read_state(tx: Tx, session_id: str) -> tuple[bool, bool, Wake | None]:
    """Return whether the session has reported its end, whether a push may be needed, and the last push."""
    session, caller = tx.sessions.get(session_id), tx.sessions.caller(session_id)
    conversation = tx.talks.get(session_id)
    if session is None or caller is None or conversation is None or session.ended_at is not None:
        return False, False, None
    wake = tx.talks.wake(session_id)
    has_mail = any(tx.deliveries.has_open(mailbox) for mailbox in (caller.session_id, caller.member_id) if mailbox)
    may_remind = conversation.reminded is Reminded.NOT and bool(reports.holds(tx, session))
    return session.status in _DONE, has_mail or may_remind or wake is not None, wake


def _next_push(tx: Tx, session_id: str) -> Push | None:
    """Decide the next push from the present state: mail that was read meanwhile causes no push."""
    session, caller = tx.sessions.get(session_id), tx.sessions.caller(session_id)
    conversation = tx.talks.get(session_id)
    if session is None or conversation is None or caller is None or session.ended_at or session.status in FINAL:
        return None
    if conversation.parked_until is not None:
        tx.talks.park(session_id, None)  # pushed once: a program that meets the limit again reports the limit again
        return Push(ids.new("req", tx.at), _CONTINUE, conversation.heard)
    unread = _unread_mail(tx, caller)
    if not unread:
        tx.talks.forget_wake(session_id)
        return _reminder(tx, session, conversation)
    last = _open_wake(tx, session_id, unread)
    match next_wake(last, tx.at):
        case Next.WAIT:
            return None
        case Next.GIVE_UP:
            assert last is not None
            _give_up(tx, session, last, unread)
            return None
    receipt, tries = receipts.receipt_for(unread), last.tries + 1 if last else 1
    push_id = last.id if last is not None and last.receipt == receipt else ids.new("req", tx.at)
    wake = Wake(session_id=session_id, id=push_id, receipt=receipt, tries=tries, pushed_at=tx.at)
    tx.talks.put_wake(wake)
    return Push(said_as(wake), _push_text(tx, conversation, unread), conversation.heard, receipt, last)


def _open_wake(tx: Tx, session_id: str, unread: list[Received]) -> Wake | None:
    """Return the last push while the session still has to read a message of that push; forget the push otherwise.

    A program that shows mail through its hooks may read the pushed messages without confirming the push."""
    wake = tx.talks.wake(session_id)
    if wake is None or receipts.places(wake.receipt) & {message.seq for message in unread}:
        return wake
    tx.talks.forget_wake(session_id)
    return None


def _confirm_from_record(tx: Tx, session_id: str, recorded: str) -> bool:
    """Apply the pushes found in the program's record. Return whether the last push is confirmed now."""
    caller = tx.sessions.caller(session_id)
    if caller is not None:
        came_in(tx, caller, recorded, is_record=True)
    return tx.talks.wake(session_id) is None


def _push_text(tx: Tx, conversation: Talk, unread: list[Received]) -> str:
    """Return the text of the push: a single live prompt as it is, other mail as a list of messages.

    A model that waits by itself only learns that mail has come; the hooks of its next turn show the mail.
    """
    spawn, reach = tx.spawns.get(conversation.session_id), _reach(tx, conversation.session_id)
    waiter = tools.waiter(spawn.tool, conversation.driver) if spawn is not None else None
    if waiter is not None:
        return waiter.knock(len(unread))
    if len(unread) == 1 and is_prompt(unread[0]):
        return pushes.prompt(unread[0].body, unread[0].sender)
    return pushes.mail(unread, reach)


def _unread_mail(tx: Tx, caller: Caller) -> list[Received]:
    """Return unread mail of the session and its member, without mail that a hook has shown and not yet confirmed.

    Mail in a mailbox of the whole project causes no push, because it would be pushed to every session.
    """
    own = (caller.session_id, caller.member_id)
    shown = pending.places(tx, caller.name)
    fresh = reading.fresh(tx, caller, Wanted(), limit=limits.wake_messages_max + len(shown))
    unread = [message for message in fresh if message.box in own and message.seq not in shown]
    return unread[: limits.wake_messages_max]


def _reminder(tx: Tx, session: Session, conversation: Talk) -> Push | None:
    """Return a reminder for a session that has stopped and still holds tasks. Each stop causes only one reminder."""
    held = reports.holds(tx, session)
    if not held or session.status is not Status.IDLE:
        return None
    refs = [task.ref for task in held]
    if conversation.reminded is Reminded.NOT:
        tx.talks.set_reminded(session.id, Reminded.ONCE)
        return Push(ids.new("req", tx.at), pushes.reminder(refs, _reach(tx, session.id)), conversation.heard)
    return None


def _reach(tx: Tx, session_id: str) -> Reach:
    data = tx.spawns.manifest(session_id)
    assert data is not None
    return decode(data).reach


def _give_up(tx: Tx, session: Session, last: Wake, unread: list[Received]) -> None:
    """Stop repeating the push, and tell the coordinator and the person."""
    tx.talks.put_wake(msgspec.structs.replace(last, given_up=True))
    text = (
        f"It has {len(unread)} unread messages. They were pushed {last.tries} times; its model has not received them."
    )
    subject = f"{session.name} does not wake up"
    notices.to_coordinator(tx, session, subject=subject, text=text, person_too=True)


def _confirm_delivery(tx: Tx, session_id: str, push: Push) -> None:
    caller = tx.sessions.caller(session_id)
    if push.receipt and caller is not None:
        receipts.confirm(tx, caller, Confirm(receipt=push.receipt, step=Step.DELIVERED, via="wake"))


def _report_failed_push(tx: Tx, session_id: str, why: str) -> None:
    """Tell the coordinator and the person that a push without mail failed: such a push is not repeated."""
    session = tx.sessions.get(session_id)
    if session is not None:
        subject = f"{session.name} does not wake up"
        notices.to_coordinator(tx, session, subject=subject, text=f"It has stopped, and {why}.", person_too=True)


def _take_back_push(tx: Tx, session_id: str, push: Push) -> None:
    """Take back a push to a program that turned out to be busy; the end of its turn causes the next check.

    The program may be working on the push before, and its report about that push may be on the way.
    """
    last = tx.talks.wake(session_id)
    if last is None or said_as(last) != push.id:
        return
    tx.talks.forget_wake(session_id)
    if push.before is not None:
        tx.talks.put_wake(msgspec.structs.replace(push.before, pushed_at=tx.at))
