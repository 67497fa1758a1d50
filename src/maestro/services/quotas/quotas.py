"""Quotas: how many sessions, asks, tasks and bytes the sessions of a parent, family or project may create.

The person and the server have no quota. Rates and bytes are counted in memory. The bytes of the day are read from the
store when the server starts.
"""

from __future__ import annotations

from datetime import date, datetime, time

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.operations import sessions as session_ops
from maestro.operations import task_shapes
from maestro.services.access import session_relations
from maestro.services.quotas.families import Families
from maestro.services.quotas.rates import Rate
from maestro.store.base import Store, Tx


class QuotaBounds(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of all quotas; 0 means no limit."""

    sessions_per_parent: int = limits.sessions_per_parent_default
    sessions_per_minute: int = limits.sessions_per_minute_default
    asks_per_session: int = limits.asks_per_session_default
    asks_per_parent: int = limits.asks_per_parent_default
    asks_per_minute: int = limits.asks_per_minute_default
    tasks_per_minute: int = limits.tasks_per_minute_default
    project_bytes_per_day: int = limits.project_bytes_per_day_default


class Quotas:
    """Counts against the quotas. A refusal names the setting that raises the quota."""

    def __init__(self, families: Families, bounds: QuotaBounds) -> None:
        self._families = families
        self.bounds = bounds
        self._session_rate = Rate(bounds.sessions_per_minute)
        self._ask_rate = Rate(bounds.asks_per_minute)
        self._task_rate = Rate(bounds.tasks_per_minute)
        self._day = date.min
        self._bytes_by_project: dict[str, int] = {}  # stored on the day `_day`

    def count_new_task(self, tx: Tx, caller: Caller, request: task_shapes.CreateTask) -> None:
        """Count a new task of a family, and the bytes of its text."""
        self._count_in_family(tx, caller, self._task_rate, "tasks", "tasks_per_minute")
        self._count_bytes_in_transaction(tx, caller, len(request.description))

    def count_edited_task(self, tx: Tx, caller: Caller, request: task_shapes.EditTask) -> None:
        """Count the bytes of a task's new text."""
        self._count_bytes_in_transaction(tx, caller, len(request.description or ""))

    def count_report(self, tx: Tx, caller: Caller, request: task_shapes.ReportTask) -> None:
        """Count the bytes of a report."""
        self._count_bytes_in_transaction(tx, caller, len(request.text))

    def count_registration(self, tx: Tx, caller: Caller, request: session_ops.RegisterSession) -> None:
        """Count a new session of a family; refuse the session if its parent has registered too many live sessions."""
        if not caller.is_session:
            return
        parent_id = caller.name
        if request.parent is not None:
            parent_id = session_relations.find_session(tx, caller, request.parent, project=request.project).id
        limit = self.bounds.sessions_per_parent
        if limit and tx.sessions.count_registered(parent_id, limit=limit) >= limit:
            raise errors.LimitReached(
                f"Session {parent_id} has {limit} live registered sessions, and no more are allowed.",
                hint=f"End a session: maestro session end ID. {_raise_hint('sessions_per_parent')}",
                data={"limit": limit, "setting": "sessions_per_parent"},
            )
        self._count_in_family(tx, caller, self._session_rate, "sessions", "sessions_per_minute")

    def count_ask(self, tx: Tx, caller: Caller) -> None:
        """Count a new ask; refuse the ask if the session or its parent has too many open asks."""
        if not caller.is_session:
            return
        bounds = self.bounds
        _refuse_too_many_open_asks(
            tx.asks.count_open(caller.name), bounds.asks_per_session, "your session", "asks_per_session"
        )
        if caller.parent_id is not None:
            open_asks = tx.asks.count_open_below(caller.parent_id)
            _refuse_too_many_open_asks(
                open_asks, bounds.asks_per_parent, "the sessions of your parent", "asks_per_parent"
            )
        self._count_in_family(tx, caller, self._ask_rate, "asks", "asks_per_minute")

    def count_bytes(self, caller: Caller, size: int, *, at: datetime) -> None:
        """Count the bytes that a session stores; refuse the bytes if its project has stored too many today."""
        limit, project_id = self.bounds.project_bytes_per_day, caller.project_id
        if not caller.is_session or project_id is None or not size or not limit:
            return
        if at.date() != self._day:
            self._day, self._bytes_by_project = at.date(), {}
        used = self._bytes_by_project.get(project_id, 0)
        if used + size > limit:
            raise errors.LimitReached(
                f"The sessions of your project have stored {used:,} bytes today; this request would exceed "
                f"the limit of {limit:,} bytes.",
                hint=f"Store less, or go on after midnight UTC. {_raise_hint('project_bytes_per_day')}",
                data={"limit": limit, "used": used, "setting": "project_bytes_per_day"},
            )
        self._bytes_by_project[project_id] = used + size

    def give_back_bytes(self, caller: Caller, size: int) -> None:
        """Subtract counted bytes, because the request was refused."""
        if caller.is_session and caller.project_id in self._bytes_by_project:
            self._bytes_by_project[caller.project_id] = max(0, self._bytes_by_project[caller.project_id] - size)

    def _count_bytes_in_transaction(self, tx: Tx, caller: Caller, size: int) -> None:
        """Count the bytes that a transaction stores, and subtract the bytes if the transaction is undone."""
        self.count_bytes(caller, size, at=tx.at)
        tx.on_undo(lambda: self.give_back_bytes(caller, size))

    async def load_bytes_of_day(self, store: Store) -> None:
        """Read the bytes of the day from the store, so that a restart does not reset the quota."""

        def read_bytes(tx: Tx) -> tuple[date, dict[str, int]]:
            midnight = datetime.combine(tx.at.date(), time(), tzinfo=tx.at.tzinfo)
            return tx.at.date(), tx.documents.stored_bytes_since(midnight)

        self._day, self._bytes_by_project = await store.read(read_bytes)

    def _count_in_family(self, tx: Tx, caller: Caller, rate: Rate, noun: str, setting: str) -> None:
        if not caller.is_session:
            return
        window = rate.current_window(self._families.top_of(tx, caller), tx.at)
        if window.count >= window.most:
            raise errors.LimitReached(
                f"The sessions of your family have created {rate.most} {noun} within a minute, the limit.",
                hint=f"Wait a minute. {_raise_hint(setting)}",
                data={"limit": rate.most, "setting": setting},
            )
        window.count += 1
        tx.on_undo(window.reduce_count)


def _refuse_too_many_open_asks(open_asks: int, limit: int, askers: str, setting: str) -> None:
    if limit and open_asks >= limit:
        raise errors.LimitReached(
            f"There are already {limit} open asks of {askers}, the limit.",
            hint=f"Wait for an answer, or withdraw an ask: maestro ask withdraw ID. {_raise_hint(setting)}",
            data={"limit": limit, "setting": setting},
        )


def _raise_hint(setting: str) -> str:
    return f"The person can raise the limit: maestro config set {setting} N"
