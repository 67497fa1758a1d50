"""Open and withdraw the asks of hand-started sessions, whose programs show dialogs in their own windows.

The person answers in the window. Maestro shows the ask too, so that the person sees every waiting agent. Maestro
withdraws the ask when a later hook event shows that the dialog is gone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from maestro.core import limits
from maestro.domain import asks as rules
from maestro.domain.asks import Ask
from maestro.domain.callers import Caller
from maestro.services.access import session_relations
from maestro.services.asks import asks
from maestro.services.asks.withdrawal import withdraw_asks
from maestro.services.hooks.permission_hold import digest_of_call
from maestro.store.base import Tx
from maestro.tools import registry
from maestro.tools.hook_dialect import HookEvent, HookMoment

# After these moments no dialog of the session is open any more.
_NO_DIALOG = frozenset(
    {HookMoment.STARTS, HookMoment.PROMPT, HookMoment.MODEL, HookMoment.STOP, HookMoment.FAILS, HookMoment.COMPACTS}
)


def shows_dialog(event: HookEvent) -> bool:
    """Return whether the event reports that the program shows a dialog to the person."""
    return event.moment is HookMoment.ASKS or (event.moment is HookMoment.WAITS and event.needs_person)


def may_end_dialog(event: HookEvent) -> bool:
    """Return whether the event may show that a dialog is gone."""
    return event.moment in _NO_DIALOG or event.moment is HookMoment.AFTER_TOOL


def open_window_ask(tx: Tx, caller: Caller, event: HookEvent, *, may_ask: Callable[[Tx, Caller], bool]) -> None:
    """Open an ask for the dialog that a hand-started program shows in its own window.

    A program may report one dialog twice: first the permission request, seconds later a notification for the person.
    `may_ask` is False for a session with too many asks: an agent could otherwise report dialogs without end.
    """
    session = session_relations.own_session(tx, caller)
    is_notification = event.moment is HookMoment.WAITS
    digest = _dialog_digest(event)
    is_known = asks.has_open_asks(tx, session) if is_notification else _is_open(tx, caller, digest)
    if is_known or not may_ask(tx, caller):
        return
    question, chars_max = event.question, limits.subject_chars_max
    title = question.title if question else event.summary or f"{event.tool} waits for the person"
    text = question.text if question else event.details
    kind = rules.AskKind.QUESTION if question else rules.AskKind.PERMISSION
    ask = asks.open_ask_in_window(
        tx, session, kind=kind, title=title[:chars_max], text=text, record_file=event.transcript
    )
    tx.asks.set_call(ask.id, digest)


def withdraw_answered(tx: Tx, caller: Caller, event: HookEvent) -> None:
    """Withdraw the window asks that the event shows to be answered."""
    in_window = tx.asks.in_window_of(caller.name, limit=limits.page_items_default)
    shows_single_dialogs = registry.DIALECTS[event.tool].shows_single_dialogs
    if event.moment is HookMoment.AFTER_TOOL and not shows_single_dialogs:
        # Other calls may end while a dialog is open: only the end of the asked call ends its dialog.
        digests = (_dialog_digest(event), digest_of_call(event))
        ended = [ask for digest in digests for ask in _asks_of_call(tx, caller, digest)]
        ended_ids = {ask.id for ask in ended}
        in_window = [ask for ask in in_window if ask.id in ended_ids]
    withdraw_asks(tx, caller, [ask.id for ask in in_window])


def _is_open(tx: Tx, caller: Caller, digest: str) -> bool:
    return any(ask.status is rules.AskStatus.OPEN for ask in _asks_of_call(tx, caller, digest))


def _asks_of_call(tx: Tx, caller: Caller, digest: str) -> list[Ask]:
    return tx.asks.asks_of_call(caller.name, digest, limit=limits.page_items_default)


def _dialog_digest(event: HookEvent) -> str:
    """Return a digest of a call's summary: programs report the other details differently at the call's end."""
    return hashlib.sha256(f"{event.tool}\0{event.summary}".encode("utf-8", "surrogatepass")).hexdigest()
