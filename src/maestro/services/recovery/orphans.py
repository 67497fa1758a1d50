"""Workers whose coordinator is gone for good: whoever is above it takes them; if nobody is, the person is asked."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from maestro.core import limits
from maestro.domain.callers import THE_SERVER
from maestro.domain.messages import HUMAN
from maestro.domain.recovery import Recovery
from maestro.domain.sessions import Mode, Session
from maestro.services import asks
from maestro.services.mail import routing
from maestro.services.recovery import plans as recovery
from maestro.services.sessions import adoption, notices
from maestro.store.base import Tx


def hand_over(tx: Tx, known: Recovery) -> None:
    """Find whoever takes a coordinator's workers, and hand them over."""
    gone, workers = _left(tx, known)
    if gone is None or not workers:
        tx.recoveries.clear(known.session_id)
        return
    above = routing.to_session(tx, gone.id)
    adopter = tx.sessions.get(above.box) if above.box != HUMAN else None
    if adopter is None or adopter.mode is not Mode.COORDINATE:
        _ask(tx, known, gone, workers)
    elif adopter.ended_at is not None:  # it is being started again itself
        later = tx.at + timedelta(seconds=limits.resume_look_seconds)
        tx.recoveries.put(msgspec.structs.replace(known, due_at=later))
    else:
        _adopt(tx, known, gone, adopter)


def adopt(tx: Tx, known: Recovery) -> None:
    """The person has said who takes them."""
    gone, workers = _left(tx, known)
    adopter = tx.sessions.get(known.adopter_id) if known.adopter_id else None
    if gone is None or not workers:
        tx.recoveries.clear(known.session_id)
    elif adopter is None or adopter.ended_at is not None:
        hand_over(tx, known)  # gone as well, in the meantime
    else:
        _adopt(tx, known, gone, adopter)


def workers_of(tx: Tx, known: Recovery) -> list[str]:
    return [worker.id for worker in _left(tx, known)[1]]


def _left(tx: Tx, known: Recovery) -> tuple[Session | None, list[Session]]:
    """The coordinator, if it is still gone, and its workers that live."""
    gone = tx.sessions.get(known.session_id)
    if gone is None or gone.ended_at is None:
        return None, []
    return gone, tx.sessions.children(gone.id, limit=limits.sessions_in_tree_max)


def _adopt(tx: Tx, known: Recovery, gone: Session, adopter: Session) -> None:
    adoption.take_over(tx, THE_SERVER, gone, adopter)
    tx.recoveries.clear(known.session_id)


def _ask(tx: Tx, known: Recovery, gone: Session, workers: list[Session]) -> None:
    """Once: as long as that is open, nothing more is asked."""
    tx.recoveries.clear(known.session_id)
    shown = limits.names_in_message_max
    names = ", ".join(worker.name for worker in workers[:shown])
    more = f" and {len(workers) - shown} more" if len(workers) > shown else ""
    can_resume = tx.spawns.get(gone.id) is not None
    times = "once" if known.tries == 1 else f"{known.tries} times"
    tried = f" It was started again {times}." if known.tries else ""
    ask = asks.open_for(
        tx,
        gone,
        title=f"{gone.name} {notices.words_for(gone.status)}, and nobody is above it: what becomes of its workers?",
        text=f"Its workers go on: {names}{more}.{tried} What they write to their coordinator comes to you meanwhile."
        f"\n\nBy hand: maestro session adopt {gone.id} --by SESSION; maestro session resume {gone.id}",
        choices=recovery.choices(tx, gone, can_resume=can_resume),
    )
    tx.recoveries.put(msgspec.structs.replace(known, due_at=None, ask_id=ask.id))
