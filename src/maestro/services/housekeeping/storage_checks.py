"""Check the stored data once a day, and ask the person about damage, once for each kind of damage."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial

from maestro.core import limits
from maestro.core.clock import Clock
from maestro.core.errors import DAMAGE_HINT, MaestroError
from maestro.domain.asks import AskChoice, AskStatus
from maestro.domain.callers import SERVER_NAME
from maestro.services.asks import asks
from maestro.store.base import Store, Tx
from maestro.store.health import DamageFinding, DamageKind, StorageHealth, StorageProblem

log = logging.getLogger(__name__)
_ACCEPT_LOSS = AskChoice("accept_loss", "accept the loss")
_TITLES = {
    DamageKind.LOST_EVENTS: "Stored events are lost: restore a backup, or accept the loss?",
    DamageKind.DATABASE: "The database is damaged: restore a backup",
    DamageKind.FILES: "Files beside the database are damaged or missing",
}
_EVERY = timedelta(hours=24)
_AFTER_START = timedelta(seconds=limits.check_after_start_seconds)


class StorageCheckJob:
    """A job that runs daily, when damage was noted, and when the person has answered."""

    name = "storage-checks"

    def __init__(
        self,
        store: Store,
        health: StorageHealth,
        *,
        clock: Clock,
        check: Callable[[], Awaitable[list[DamageFinding]]],
    ) -> None:
        self._store = store
        self._health = health
        self._clock = clock
        self._check = check
        self._not_before = clock.now() + _AFTER_START

    async def run_once(self) -> datetime | None:
        await self._settle_answers()
        now, due = self._clock.now(), self._due()
        if now >= due:
            await self._check_all(now)
            due = self._due()
        await self._ask_about_problems()
        return due

    async def _check_all(self, now: datetime) -> None:
        """Run the full check. A check that cannot run is repeated later, not at once."""
        try:
            findings = await self._check()
        except MaestroError as error:
            log.warning("the stored data was not checked: %s", error)
            self._not_before = now + _AFTER_START
            return
        mended = self._health.record_check(findings, at=now)
        if mended:
            await self._store.write(lambda tx: _withdraw_asks(tx, mended))

    def _due(self) -> datetime:
        checked_at = self._health.checked_at
        return max(self._not_before, checked_at + _EVERY) if checked_at else self._not_before

    async def _settle_answers(self) -> None:
        """Forget a loss that the person has accepted."""
        problems = self._health.problems
        for problem in [known for known in problems if known.ask_id and known.kind is DamageKind.LOST_EVENTS]:
            if await self._store.read(partial(_is_accepted, problem), quick=True):
                self._health.forget_problem(problem.kind)

    async def _ask_about_problems(self) -> None:
        """Open an ask for each problem that has none. A failure of the store is only logged: no other way is left."""
        for problem in [known for known in self._health.problems if not known.ask_id]:
            try:
                ask_id = await self._store.write(partial(_ask_person, problem))
            except MaestroError as error:
                log.error("the person cannot be asked about the damage: %s", error)
                return
            if ask_id:
                self._health.set_ask(problem.kind, ask_id)


def _is_accepted(problem: StorageProblem, tx: Tx) -> bool:
    ask = tx.asks.get(problem.ask_id)
    return ask is not None and ask.status is AskStatus.ANSWERED and tx.asks.answer_code(ask.id) == _ACCEPT_LOSS.code


def _ask_person(problem: StorageProblem, tx: Tx) -> str:
    """Open an ask about the problem. Return the ask's id, or an empty text while no project can hold the ask."""
    projects = tx.projects.list_page(after="", limit=1)
    if not projects:
        return ""
    choices = [_ACCEPT_LOSS] if problem.kind is DamageKind.LOST_EVENTS else []
    text = f"{problem.text}\n\n{DAMAGE_HINT}"
    return asks.open_ask_for_server(tx, projects[0].id, title=_TITLES[problem.kind], text=text, choices=choices).id


def _withdraw_asks(tx: Tx, mended: list[StorageProblem]) -> None:
    for problem in mended:
        asks.withdraw_if_open(tx, problem.ask_id, actor=SERVER_NAME)
