"""How much the sessions of one parent, one family or one project may make. The person and the server are spared.

Rates and bytes are counted in memory. The bytes of the day are read from the store when the server starts.
"""

from __future__ import annotations

from datetime import date, datetime, time

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.operations import sessions as session_ops
from maestro.operations import task_shapes
from maestro.services.families import Families
from maestro.services.rates import Rate
from maestro.services.sessions import kin
from maestro.store.base import Store, Tx


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Every quota; 0 is without limit."""

    sessions_per_parent: int = limits.sessions_per_parent_default
    sessions_per_minute: int = limits.sessions_per_minute_default
    asks_per_session: int = limits.asks_per_session_default
    asks_per_parent: int = limits.asks_per_parent_default
    asks_per_minute: int = limits.asks_per_minute_default
    tasks_per_minute: int = limits.tasks_per_minute_default
    project_bytes_per_day: int = limits.project_bytes_per_day_default


class Quotas:
    """Refuse what goes beyond a quota, with the name of the setting that raises it."""

    def __init__(self, families: Families, bounds: Bounds) -> None:
        self._families = families
        self.bounds = bounds
        self._sessions = Rate(bounds.sessions_per_minute)
        self._asks = Rate(bounds.asks_per_minute)
        self._tasks = Rate(bounds.tasks_per_minute)
        self._day = date.min
        self._bytes: dict[str, int] = {}  # of the day, by project

    def may_create_task(self, tx: Tx, caller: Caller, request: task_shapes.CreateTask) -> None:
        """Count a new task of a family, and the bytes of its text."""
        self._count(tx, caller, self._tasks, "tasks", "tasks_per_minute")
        self._take_bytes_in(tx, caller, len(request.description))

    def may_edit_task(self, tx: Tx, caller: Caller, request: task_shapes.EditTask) -> None:
        """Count the bytes of a task's new text."""
        self._take_bytes_in(tx, caller, len(request.description or ""))

    def may_report(self, tx: Tx, caller: Caller, request: task_shapes.ReportTask) -> None:
        """Count the bytes of a report."""
        self._take_bytes_in(tx, caller, len(request.text))

    def may_register(self, tx: Tx, caller: Caller, request: session_ops.RegisterSession) -> None:
        """Count a new session of a family; refuse it if its parent has too many live ones that it registered."""
        if not caller.is_session:
            return
        parent_id = caller.name
        if request.parent is not None:
            parent_id = kin.named(tx, caller, request.parent, project=request.project).id
        most = self.bounds.sessions_per_parent
        if most and tx.sessions.count_registered(parent_id, limit=most) >= most:
            raise errors.LimitReached(
                f"{most} sessions that were registered under {parent_id} are live: no more are allowed.",
                hint=f"End some: maestro session end ID. {_raised_by('sessions_per_parent')}",
                data={"limit": most, "setting": "sessions_per_parent"},
            )
        self._count(tx, caller, self._sessions, "sessions", "sessions_per_minute")

    def may_ask(self, tx: Tx, caller: Caller) -> None:
        """Count a new question to the person; refuse it if too many of the session or its parent are open."""
        if not caller.is_session:
            return
        bounds = self.bounds
        _check_open(tx.asks.count_open(caller.name), bounds.asks_per_session, "you asked", "asks_per_session")
        if caller.parent_id is not None:
            found = tx.asks.count_open_below(caller.parent_id)
            _check_open(found, bounds.asks_per_parent, "all sessions of your parent asked", "asks_per_parent")
        self._count(tx, caller, self._asks, "asks", "asks_per_minute")

    def take_bytes(self, caller: Caller, size: int, *, at: datetime) -> None:
        """Count bytes that a session stores; refuse them if its project has stored too many today."""
        most, project_id = self.bounds.project_bytes_per_day, caller.project_id
        if not caller.is_session or project_id is None or not size or not most:
            return
        if at.date() != self._day:
            self._day, self._bytes = at.date(), {}
        used = self._bytes.get(project_id, 0)
        if used + size > most:
            raise errors.LimitReached(
                f"The sessions of your project have stored {used:,} bytes today; with this request they would have "
                f"stored more than {most:,}.",
                hint=f"Store less, or go on after midnight UTC. {_raised_by('project_bytes_per_day')}",
                data={"limit": most, "used": used, "setting": "project_bytes_per_day"},
            )
        self._bytes[project_id] = used + size

    def give_back_bytes(self, caller: Caller, size: int) -> None:
        """Count bytes no longer: their request was refused."""
        if caller.is_session and caller.project_id in self._bytes:
            self._bytes[caller.project_id] = max(0, self._bytes[caller.project_id] - size)

    def _take_bytes_in(self, tx: Tx, caller: Caller, size: int) -> None:
        """Count bytes that a transaction stores; count them no longer if it is undone."""
        self.take_bytes(caller, size, at=tx.at)
        tx.on_undo(lambda: self.give_back_bytes(caller, size))

    async def remember(self, store: Store) -> None:
        """Read the bytes of the day from the store: a restart forgives nobody."""

        def look(tx: Tx) -> tuple[date, dict[str, int]]:
            midnight = datetime.combine(tx.at.date(), time(), tzinfo=tx.at.tzinfo)
            return tx.at.date(), tx.documents.bytes_since(midnight)

        self._day, self._bytes = await store.read(look)

    def _count(self, tx: Tx, caller: Caller, rate: Rate, what: str, setting: str) -> None:
        if not caller.is_session:
            return
        window = rate.window(self._families.top_of(tx, caller), tx.at)
        if window.count >= window.most:
            raise errors.LimitReached(
                f"The sessions of your family have made {rate.most} {what} within a minute.",
                hint=f"Wait a minute. {_raised_by(setting)}",
                data={"limit": rate.most, "setting": setting},
            )
        window.count += 1
        tx.on_undo(window.take_back)


def _check_open(found: int, most: int, asked: str, setting: str) -> None:
    if most and found >= most:
        raise errors.LimitReached(
            f"The limit of {most} open questions that {asked} is reached.",
            hint=f"Wait for an answer, or withdraw a question: maestro ask withdraw ID. {_raised_by(setting)}",
            data={"limit": most, "setting": setting},
        )


def _raised_by(setting: str) -> str:
    return f"The person can raise the limit: maestro config set {setting} N"
