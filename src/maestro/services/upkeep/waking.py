"""Wakes agents that have nothing to do and unread mail; tells those that their provider had turned away to go on;
lets those go that are done.

Over a protocol, or into an inbox beside the keyboard: what is pushed there can approve nothing. The conversation
says when the model has it, or the program's hooks do.
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

_GO_ON = "Your provider's limit is over. Go on where you were."
_DONE = (Status.COMPLETED, Status.FAILED)


async def _at_once() -> None:
    """There is nothing to wait for."""


class Push(msgspec.Struct, frozen=True):
    """Something to be said to one agent."""

    id: str
    text: str
    heard: int  # the last word of its runner, when this was thought of
    receipt: str = ""
    before: Wake | None = None  # what was pushed last, and has not come in as far as is known


class Waking:
    """Runs when mail was sent, when a turn ended, and when a push or a limit is due."""

    name = "waking"

    def __init__(
        self,
        store: Store,
        runners: Runners,
        saying: Saying,
        *,
        clock: Clock,
        came_in: Callable[[str], None] = lambda session_id: None,
        is_caught_up: Callable[[], Awaitable[object]] = _at_once,
    ) -> None:
        self._store = store
        self._runners = runners
        self._saying = saying
        self._clock = clock
        self._came_in = came_in  # is told that something counts as shown of which no hook told
        self._is_caught_up = is_caught_up  # comes back when all is known that happened before the server's start
        self._closed: dict[str, str] = {}  # whom nothing can be said to, as was found last, and why

    async def run_once(self) -> datetime | None:
        await self._is_caught_up()
        due: list[datetime] = []
        after = ""
        while True:
            found = await self._store.read(partial(_idle, after=after), quick=True)
            looked = [await self._look_at(talk) for talk in found]
            due += [when for when in looked if when is not None]
            if len(found) < limits.upkeep_batch_rows_max:
                return min(due, default=None)
            after = found[-1].session_id

    async def wake(self, session_id: str) -> str:
        """One agent, now, if it has nothing to do; why that cannot be, if it cannot."""
        talk = await self._store.read(lambda tx: tx.talks.get(session_id), quick=True)
        if talk is None or talk.turn is not Turn.IDLE:
            return ""
        await self._look_at(talk)
        return self._closed.get(session_id, "")

    async def _look_at(self, talk: Talk) -> datetime | None:
        """Do what there is to do for one agent; when to look again."""
        session_id = talk.session_id
        is_done, is_waiting, wake = await self._store.read(lambda tx: _glance(tx, session_id), quick=True)
        now = self._clock.now()
        if is_done:
            is_there = await self._let_go(session_id)
            return now + timedelta(seconds=limits.wake_confirm_seconds) if is_there else None
        if talk.parked_until is not None and talk.parked_until > now:
            return talk.parked_until
        if talk.parked_until is None and not is_waiting:
            return None  # as most are, most of the time
        if wake is not None and next_wake(wake, now) is not Next.WAIT and await self._is_in_record(talk):
            return now + timedelta(seconds=limits.wake_confirm_seconds)  # its hooks tell sooner how it goes on
        push = await self._store.write(lambda tx: _next(tx, session_id))
        if push is None:
            return wake_due(wake) if wake is not None and not wake.given_up else None
        handed = await self._saying.say_if_idle(session_id, push.id, push.text, heard=push.heard)
        self._closed.pop(session_id, None)
        if handed.is_said:
            await self._store.write(lambda tx: _handed_over(tx, session_id, push), quick=True)
        elif handed.is_unknown:
            pass  # it may have got through: if not, it is due again
        elif handed.closed:  # what was pushed for mail is tried again, within its limit
            self._closed[session_id] = handed.closed
            if not push.receipt:
                await self._store.write(lambda tx: _not_told(tx, session_id, handed.closed), quick=True)
        else:
            await self._store.write(lambda tx: _undone(tx, session_id, push), quick=True)
        wake = await self._store.read(lambda tx: tx.talks.wake(session_id), quick=True)
        return wake_due(wake) if wake is not None else None

    async def _is_in_record(self, talk: Talk) -> bool:
        """Whether what was pushed has come in, by its program's own record: its hooks may have told no server that
        was there. What only knocks, and names no mail, does no harm twice."""
        session_id = talk.session_id
        spawn = await self._store.read(lambda tx: tx.spawns.get(session_id), quick=True)
        folder = str(self._runners.folder(session_id).absolute())
        said = await spending.unheard(spawn.tool, talk, folder=folder) if spawn is not None else ""
        is_in = bool(said) and await self._store.write(lambda tx: _take_in(tx, session_id, said), quick=True)
        if is_in:
            self._came_in(session_id)
        return is_in

    async def _let_go(self, session_id: str) -> bool:
        """It has said that it is done: it is told nothing more, and ends by that. A person may be at it, and press
        keys of which nothing comes: as long as it is there, it is told again."""
        try:
            await self._runners.ask(session_id, do="finish")
        except errors.Conflict:
            return False  # it has ended
        return True


def _idle(tx: Tx, *, after: str) -> list[Talk]:
    return tx.talks.idle(after=after, limit=limits.upkeep_batch_rows_max)


def _glance(tx: Tx, session_id: str) -> tuple[bool, bool, Wake | None]:
    """Whether it has said that it is done; whether there may be something to say to it; and what was pushed last."""
    session, caller, talk = tx.sessions.get(session_id), tx.sessions.caller(session_id), tx.talks.get(session_id)
    if session is None or caller is None or talk is None or session.ended_at is not None:
        return False, False, None
    wake = tx.talks.wake(session_id)
    has_mail = any(tx.deliveries.has_open(box) for box in (caller.session_id, caller.member_id) if box)
    may_remind = talk.reminded is Reminded.NOT and bool(reports.holds(tx, session))
    return session.status in _DONE, has_mail or may_remind or wake is not None, wake


def _next(tx: Tx, session_id: str) -> Push | None:
    """What is to be said now, as things stand in this moment: mail that was read meanwhile wakes nobody."""
    session, talk, caller = tx.sessions.get(session_id), tx.talks.get(session_id), tx.sessions.caller(session_id)
    if session is None or talk is None or caller is None or session.ended_at or session.status in FINAL:
        return None
    if talk.parked_until is not None:
        tx.talks.park(session_id, None)  # once: if it is turned away again, it says so
        return Push(ids.new("req", tx.at), _GO_ON, talk.heard)
    unread = _unread(tx, caller)
    if not unread:
        tx.talks.forget_wake(session_id)
        return _reminder(tx, session, talk)
    known = _open_wake(tx, session_id, unread)
    match next_wake(known, tx.at):
        case Next.WAIT:
            return None
        case Next.GIVE_UP:
            assert known is not None
            _give_up(tx, session, known, unread)
            return None
    receipt, tries = receipts.receipt_for(unread), known.tries + 1 if known else 1
    push_id = known.id if known is not None and known.receipt == receipt else ids.new("req", tx.at)
    wake = Wake(session_id=session_id, id=push_id, receipt=receipt, tries=tries, pushed_at=tx.at)
    tx.talks.put_wake(wake)
    return Push(said_as(wake), _text(tx, talk, unread), talk.heard, receipt, known)


def _open_wake(tx: Tx, session_id: str, unread: list[Received]) -> Wake | None:
    """Return the last push while the session still has to read a message of that push; forget the push otherwise.

    A program that shows mail through its hooks may read the pushed messages without confirming the push."""
    wake = tx.talks.wake(session_id)
    if wake is None or receipts.places(wake.receipt) & {message.seq for message in unread}:
        return wake
    tx.talks.forget_wake(session_id)
    return None


def _take_in(tx: Tx, session_id: str, said: str) -> bool:
    caller = tx.sessions.caller(session_id)
    if caller is not None:
        came_in(tx, caller, said, is_record=True)
    return tx.talks.wake(session_id) is None


def _text(tx: Tx, talk: Talk, unread: list[Received]) -> str:
    """Mail as such; a live prompt as what it is. A model that waits itself is told only that there is something: its
    hooks show it what."""
    spawn, reach = tx.spawns.get(talk.session_id), _reach(tx, talk.session_id)
    waiter = tools.waiter(spawn.tool, talk.driver) if spawn is not None else None
    if waiter is not None:
        return waiter.knock(len(unread))
    if len(unread) == 1 and is_prompt(unread[0]):
        return pushes.prompt(unread[0].body, unread[0].sender)
    return pushes.mail(unread, reach)


def _unread(tx: Tx, caller: Caller) -> list[Received]:
    """Its own mail, and its member's, but for what a hook has shown it and it is about to read. What lies in a box of
    all the project wakes nobody: it would wake everyone."""
    own = (caller.session_id, caller.member_id)
    shown = pending.places(tx, caller.name)
    found = reading.fresh(tx, caller, Wanted(), limit=limits.wake_messages_max + len(shown))
    wakes = [one for one in found if one.box in own and one.seq not in shown]
    return wakes[: limits.wake_messages_max]


def _reminder(tx: Tx, session: Session, talk: Talk) -> Push | None:
    """One that has stopped without a word about what it holds is reminded, once; then someone is told."""
    held = reports.holds(tx, session)
    if not held or session.status is not Status.IDLE:
        return None
    names = [task.ref for task in held]
    if talk.reminded is Reminded.NOT:
        tx.talks.set_reminded(session.id, Reminded.ONCE)
        return Push(ids.new("req", tx.at), pushes.reminder(names, _reach(tx, session.id)), talk.heard)
    return None


def _reach(tx: Tx, session_id: str) -> Reach:
    data = tx.spawns.manifest(session_id)
    assert data is not None
    return decode(data).reach


def _give_up(tx: Tx, session: Session, known: Wake, unread: list[Received]) -> None:
    tx.talks.put_wake(msgspec.structs.replace(known, given_up=True))
    said = f"{len(unread)} unread; pushed {known.tries} times, and its model has not taken it in."
    subject = f"{session.name} does not wake up"
    notices.to_coordinator(tx, session, subject=subject, text=said, person_too=True)


def _handed_over(tx: Tx, session_id: str, push: Push) -> None:
    caller = tx.sessions.caller(session_id)
    if push.receipt and caller is not None:
        receipts.confirm(tx, caller, Confirm(receipt=push.receipt, step=Step.DELIVERED, via="wake"))


def _not_told(tx: Tx, session_id: str, why: str) -> None:
    """Of what is no mail, nobody else would hear."""
    session = tx.sessions.get(session_id)
    if session is not None:
        subject = f"{session.name} does not wake up"
        notices.to_coordinator(tx, session, subject=subject, text=f"It has stopped, and {why}.", person_too=True)


def _undone(tx: Tx, session_id: str, push: Push) -> None:
    """It is at work: what there is to say can wait for the end of that. It may be at what was pushed before, and its
    word of that on the way."""
    known = tx.talks.wake(session_id)
    if known is None or said_as(known) != push.id:
        return
    tx.talks.forget_wake(session_id)
    if push.before is not None:
        tx.talks.put_wake(msgspec.structs.replace(push.before, pushed_at=tx.at))
