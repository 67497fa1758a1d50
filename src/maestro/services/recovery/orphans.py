"""Hand over the workers of an ended coordinator: to the coordinator above it, else by an ask to the person."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from maestro.core import limits
from maestro.domain.callers import SERVER_CALLER, Caller
from maestro.domain.messages import HUMAN_MAILBOX
from maestro.domain.recovery import SessionRecovery
from maestro.domain.sessions import Session, SessionMode
from maestro.services.asks import asks
from maestro.services.mail import routing
from maestro.services.sessions import adoption, notices
from maestro.services.sessions import recovery_plans as recovery
from maestro.store.base import Tx


def hand_over_workers(tx: Tx, plan: SessionRecovery) -> None:
    """Hand the workers of an ended coordinator to the coordinator above it, or ask the person."""
    coordinator, workers = _ended_coordinator_and_workers(tx, plan)
    if coordinator is None or not workers:
        tx.recoveries.clear_next_step(plan.session_id)
        return
    above = routing.route_to_session(tx, coordinator.id)
    adopter = tx.sessions.get(above.mailbox) if above.mailbox != HUMAN_MAILBOX else None
    if adopter is None or adopter.mode is not SessionMode.COORDINATE:
        _ask_person(tx, plan, coordinator, workers)
    elif adopter.ended_at is not None:  # the adopter itself is being started again
        later = tx.at + timedelta(seconds=limits.resume_check_seconds)
        tx.recoveries.put(msgspec.structs.replace(plan, due_at=later))
    else:
        _give_workers_to(tx, plan, coordinator, adopter)


def adopt_as_decided(tx: Tx, plan: SessionRecovery) -> None:
    """Hand the workers to the coordinator that the person has chosen."""
    coordinator, workers = _ended_coordinator_and_workers(tx, plan)
    adopter = tx.sessions.get(plan.adopter_id) if plan.adopter_id else None
    if coordinator is None or not workers:
        tx.recoveries.clear_next_step(plan.session_id)
    elif adopter is None or adopter.ended_at is not None:
        hand_over_workers(tx, plan)  # the chosen coordinator has ended meanwhile
    else:
        _give_workers_to(tx, plan, coordinator, adopter)


def workers_of(tx: Tx, plan: SessionRecovery) -> list[str]:
    return [worker.id for worker in _ended_coordinator_and_workers(tx, plan)[1]]


def _ended_coordinator_and_workers(tx: Tx, plan: SessionRecovery) -> tuple[Session | None, list[Session]]:
    """Return the coordinator, unless the coordinator has come back, and the live workers."""
    coordinator = tx.sessions.get(plan.session_id)
    if coordinator is None or coordinator.ended_at is None:
        return None, []
    return coordinator, tx.sessions.list_children(coordinator.id, limit=limits.sessions_in_tree_max)


def _give_workers_to(tx: Tx, plan: SessionRecovery, coordinator: Session, adopter: Session) -> None:
    adoption.take_over_workers(tx, SERVER_CALLER, coordinator, adopter)
    tx.recoveries.clear_next_step(plan.session_id)


def _ask_person(tx: Tx, plan: SessionRecovery, coordinator: Session, workers: list[Session]) -> None:
    """Ask the person about the workers. While the ask is open, no second ask follows."""
    tx.recoveries.clear_next_step(plan.session_id)
    shown = limits.names_in_message_max
    names = ", ".join(worker.name for worker in workers[:shown])
    more = f" and {len(workers) - shown} more" if len(workers) > shown else ""
    can_resume = tx.spawns.get(coordinator.id) is not None
    times = "once" if plan.attempts == 1 else f"{plan.attempts} times"
    attempts = f" Maestro has started {coordinator.name} again {times}." if plan.attempts else ""
    ask = asks.open_ask_for_session(
        tx,
        coordinator,
        title=f"{coordinator.name} {notices.status_phrase(coordinator.status)} and has no coordinator: "
        "what becomes of its workers?",
        text=f"Its workers go on: {names}{more}.{attempts} Mail to their coordinator comes to you meanwhile."
        f"\n\nBy hand: maestro session adopt {coordinator.id} --by SESSION; maestro session resume {coordinator.id}",
        choices=recovery.recovery_choices(tx, coordinator, can_resume=can_resume),
    )
    tx.recoveries.put(msgspec.structs.replace(plan, due_at=None, ask_id=ask.id))


def settle_orphans_ask(tx: Tx, session: Session, caller: Caller) -> None:
    """Withdraw the ask about the workers of an ended coordinator once the last of its workers has ended."""
    above = tx.recoveries.get(session.parent_id) if session.parent_id else None
    if above is not None and above.ask_id is not None and not tx.sessions.list_children(above.session_id, limit=1):
        asks.withdraw_all_asks(tx, above.session_id, caller.name)
        tx.recoveries.clear_next_step(above.session_id)
