"""Hand over the workers of an ended coordinator: to the coordinator above it, else by an ask to the person."""

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
    """Hand the workers of an ended coordinator to the coordinator above it, or ask the person."""
    coordinator, workers = _ended_coordinator_and_workers(tx, known)
    if coordinator is None or not workers:
        tx.recoveries.clear(known.session_id)
        return
    above = routing.to_session(tx, coordinator.id)
    adopter = tx.sessions.get(above.box) if above.box != HUMAN else None
    if adopter is None or adopter.mode is not Mode.COORDINATE:
        _ask_person(tx, known, coordinator, workers)
    elif adopter.ended_at is not None:  # the adopter itself is being started again
        later = tx.at + timedelta(seconds=limits.resume_look_seconds)
        tx.recoveries.put(msgspec.structs.replace(known, due_at=later))
    else:
        _give_workers_to(tx, known, coordinator, adopter)


def adopt(tx: Tx, known: Recovery) -> None:
    """Hand the workers to the coordinator that the person has chosen."""
    coordinator, workers = _ended_coordinator_and_workers(tx, known)
    adopter = tx.sessions.get(known.adopter_id) if known.adopter_id else None
    if coordinator is None or not workers:
        tx.recoveries.clear(known.session_id)
    elif adopter is None or adopter.ended_at is not None:
        hand_over(tx, known)  # the chosen coordinator has ended meanwhile
    else:
        _give_workers_to(tx, known, coordinator, adopter)


def workers_of(tx: Tx, known: Recovery) -> list[str]:
    return [worker.id for worker in _ended_coordinator_and_workers(tx, known)[1]]


def _ended_coordinator_and_workers(tx: Tx, plan: Recovery) -> tuple[Session | None, list[Session]]:
    """Return the coordinator, unless the coordinator has come back, and the live workers."""
    coordinator = tx.sessions.get(plan.session_id)
    if coordinator is None or coordinator.ended_at is None:
        return None, []
    return coordinator, tx.sessions.children(coordinator.id, limit=limits.sessions_in_tree_max)


def _give_workers_to(tx: Tx, plan: Recovery, coordinator: Session, adopter: Session) -> None:
    adoption.take_over(tx, THE_SERVER, coordinator, adopter)
    tx.recoveries.clear(plan.session_id)


def _ask_person(tx: Tx, plan: Recovery, coordinator: Session, workers: list[Session]) -> None:
    """Ask the person about the workers. While the ask is open, no second ask follows."""
    tx.recoveries.clear(plan.session_id)
    shown = limits.names_in_message_max
    names = ", ".join(worker.name for worker in workers[:shown])
    more = f" and {len(workers) - shown} more" if len(workers) > shown else ""
    can_resume = tx.spawns.get(coordinator.id) is not None
    times = "once" if plan.tries == 1 else f"{plan.tries} times"
    attempts = f" Maestro has started {coordinator.name} again {times}." if plan.tries else ""
    ask = asks.open_for(
        tx,
        coordinator,
        title=f"{coordinator.name} {notices.words_for(coordinator.status)} and has no coordinator: "
        "what becomes of its workers?",
        text=f"Its workers go on: {names}{more}.{attempts} Mail to their coordinator comes to you meanwhile."
        f"\n\nBy hand: maestro session adopt {coordinator.id} --by SESSION; maestro session resume {coordinator.id}",
        choices=recovery.choices(tx, coordinator, can_resume=can_resume),
    )
    tx.recoveries.put(msgspec.structs.replace(plan, due_at=None, ask_id=ask.id))
