"""The interface between Maestro and its databases: the operations of a store, independent of the driver.

A use case is a function of a transaction. `write` runs the function on the one writer, `read` on a reader. Inside the
transaction all calls are synchronous and use repositories, never SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar

from maestro.core.errors import StorageFailed
from maestro.domain.events import Event, NewEvent
from maestro.store.repositories.asks import AskRepository
from maestro.store.repositories.conversations import ConversationRepository
from maestro.store.repositories.deliveries import DeliveryRepository
from maestro.store.repositories.documents import DocumentRepository
from maestro.store.repositories.events import EventRepository
from maestro.store.repositories.gates import GateResultRepository
from maestro.store.repositories.git_records import GitRecordRepository
from maestro.store.repositories.hooks import HookRepository
from maestro.store.repositories.idempotency import IdempotencyRepository
from maestro.store.repositories.issues import IssueRepository
from maestro.store.repositories.links import LinkRepository
from maestro.store.repositories.mail import MailRepository
from maestro.store.repositories.members import MemberRepository
from maestro.store.repositories.notifications import NotificationRepository
from maestro.store.repositories.projects import ProjectRepository
from maestro.store.repositories.recoveries import RecoveryRepository
from maestro.store.repositories.runs import RunRepository
from maestro.store.repositories.session_windows import SessionWindowRepository
from maestro.store.repositories.sessions import SessionRepository
from maestro.store.repositories.space import SpaceRepository
from maestro.store.repositories.spawns import SpawnRepository
from maestro.store.repositories.tasks import TaskRepository
from maestro.store.repositories.trackers import TrackerRepository
from maestro.store.repositories.worktrees import WorktreeRepository
from maestro.store.rows import Rows

T = TypeVar("T")
CommitListener = Callable[[Sequence[Event]], None]


class Repositories:
    """The repositories of one connection."""

    def __init__(self, rows: Rows, *, for_writer: bool = False) -> None:
        self.projects = ProjectRepository(rows, uses_cache=for_writer)
        self.links = LinkRepository(rows, uses_cache=for_writer)
        self.tasks = TaskRepository(rows)
        self.issues = IssueRepository(rows)
        self.trackers = TrackerRepository(rows)
        self.documents = DocumentRepository(rows)
        self.sessions = SessionRepository(rows, uses_cache=for_writer)
        self.windows = SessionWindowRepository(rows)
        self.members = MemberRepository(rows)
        self.mail = MailRepository(rows)
        self.deliveries = DeliveryRepository(rows)
        self.asks = AskRepository(rows)
        self.notifications = NotificationRepository(rows)
        self.spawns = SpawnRepository(rows)
        self.conversations = ConversationRepository(rows)
        self.recoveries = RecoveryRepository(rows)
        self.runs = RunRepository(rows)
        self.gates = GateResultRepository(rows)
        self.hooks = HookRepository(rows)
        self.worktrees = WorktreeRepository(rows)
        self.git_records = GitRecordRepository(rows)
        self.events = EventRepository(rows)
        self.idempotency = IdempotencyRepository(rows)
        self.space = SpaceRepository(rows)

    def clear_caches(self) -> None:
        """Clear the writer's caches after a rollback: a cached row may never have been stored."""
        self.projects.clear_cache()
        self.links.clear_cache()
        self.sessions.clear_cache()
        self.mail.clear_cache()


class Tx(Repositories):
    """A transaction: its time, the repositories of its connection and the events that it adds to the log."""

    __slots__ = ("at", "logged_changes", "undo_callbacks")

    def __init__(self, repositories: Repositories, at: datetime) -> None:
        # The repositories are shared, not copied: every request makes a transaction.
        self.__dict__ = repositories.__dict__
        self.at = at
        self.logged_changes: list[tuple[NewEvent, str]] = []
        self.undo_callbacks: list[Callable[[], None]] = []

    def log(self, *changes: NewEvent, actor: str) -> None:
        """Add changes to the event log. The events are written with the transaction, or not at all."""
        for change in changes:
            self.logged_changes.append((change, actor))

    def on_undo(self, callback: Callable[[], None]) -> None:
        """Register a callback to undo changes in memory. It is called if the work is not stored, or runs again."""
        self.undo_callbacks.append(callback)


class RollbackWithAnswer(Exception):
    """Raised by work to discard its writes and still return `answer` to the caller."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer


class CopyChecks(Protocol):
    """Checks of a database copy that `backup` wrote."""

    def require_sound(self, database: Path, /) -> None:
        """Refuse a damaged copy."""

    def named_blobs(self, database: Path, /) -> list[str]:
        """Return the names of the content files that rows of the copy refer to."""


class Store(Protocol):
    """The operations of every store."""

    checks: CopyChecks

    def on_commit(self, listener: CommitListener) -> None:
        """Call `listener` with the events of each commit, on the event loop, in order."""

    def on_fault(self, listener: Callable[[StorageFailed], None]) -> None:
        """Call `listener`, on the event loop, when data is damaged or the database file is gone."""

    async def write(self, work: Callable[[Tx], T], *, quick: bool = False) -> T:
        """Run `work` on the writer and return its result after the commit. A failure undoes only this work.

        `quick`: the work is a few statements by key, and an embedded store may run the work on the event loop.
        """

    async def read(self, work: Callable[[Tx], T], *, quick: bool = False) -> T:
        """Run `work` on a reader, on one snapshot. `quick`: an embedded store may read on the event loop."""

    async def backup(self, target: Path) -> dict[str, Any]:
        """Write a consistent copy of the database while it is in use."""

    async def close(self) -> None: ...
