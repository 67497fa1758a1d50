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
from maestro.domain.events import Change, Event
from maestro.store.repositories.asks import Asks
from maestro.store.repositories.deliveries import Deliveries
from maestro.store.repositories.documents import Documents
from maestro.store.repositories.events import Events
from maestro.store.repositories.gates import Gates
from maestro.store.repositories.git_records import GitRecords
from maestro.store.repositories.hooks import Hooks
from maestro.store.repositories.idempotency import Idempotency
from maestro.store.repositories.issues import Issues
from maestro.store.repositories.links import Links
from maestro.store.repositories.mail import Mail
from maestro.store.repositories.members import Members
from maestro.store.repositories.projects import Projects
from maestro.store.repositories.recoveries import Recoveries
from maestro.store.repositories.runs import Runs
from maestro.store.repositories.sessions import Sessions
from maestro.store.repositories.space import Space
from maestro.store.repositories.spawns import Spawns
from maestro.store.repositories.talks import Talks
from maestro.store.repositories.tasks import Tasks
from maestro.store.repositories.trackers import Trackers
from maestro.store.repositories.worktrees import Worktrees
from maestro.store.rows import Rows

T = TypeVar("T")
Published = Callable[[Sequence[Event]], None]


class Repositories:
    """The repositories of one connection."""

    def __init__(self, rows: Rows, *, of_the_writer: bool = False) -> None:
        self.projects = Projects(rows, remembers=of_the_writer)
        self.links = Links(rows, remembers=of_the_writer)
        self.tasks = Tasks(rows)
        self.issues = Issues(rows)
        self.trackers = Trackers(rows)
        self.documents = Documents(rows)
        self.sessions = Sessions(rows, remembers=of_the_writer)
        self.members = Members(rows)
        self.mail = Mail(rows)
        self.deliveries = Deliveries(rows)
        self.asks = Asks(rows)
        self.spawns = Spawns(rows)
        self.talks = Talks(rows)
        self.recoveries = Recoveries(rows)
        self.runs = Runs(rows)
        self.gates = Gates(rows)
        self.hooks = Hooks(rows)
        self.worktrees = Worktrees(rows)
        self.git_records = GitRecords(rows)
        self.events = Events(rows)
        self.idempotency = Idempotency(rows)
        self.space = Space(rows)

    def forget(self) -> None:
        """Clear the writer's caches after a rollback: a cached row may never have been stored."""
        self.projects.forget()
        self.links.forget()
        self.sessions.forget()
        self.mail.forget()


class Tx:
    """A transaction: its time, its repositories and the events that it adds to the log."""

    def __init__(self, repositories: Repositories, at: datetime) -> None:
        self.at = at
        self.projects = repositories.projects
        self.links = repositories.links
        self.tasks = repositories.tasks
        self.issues = repositories.issues
        self.trackers = repositories.trackers
        self.documents = repositories.documents
        self.sessions = repositories.sessions
        self.members = repositories.members
        self.mail = repositories.mail
        self.deliveries = repositories.deliveries
        self.asks = repositories.asks
        self.spawns = repositories.spawns
        self.talks = repositories.talks
        self.recoveries = repositories.recoveries
        self.runs = repositories.runs
        self.gates = repositories.gates
        self.hooks = repositories.hooks
        self.worktrees = repositories.worktrees
        self.git_records = repositories.git_records
        self.events = repositories.events
        self.idempotency = repositories.idempotency
        self.space = repositories.space
        self.logged: list[tuple[Change, str]] = []
        self.undos: list[Callable[[], None]] = []

    def log(self, *changes: Change, actor: str) -> None:
        """Add changes to the event log. The events are written with the transaction, or not at all."""
        for change in changes:
            self.logged.append((change, actor))

    def on_undo(self, take_back: Callable[[], None]) -> None:
        """Register a callback to undo changes in memory. It is called if the work is not stored, or runs again."""
        self.undos.append(take_back)


class Undo(Exception):
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

    def on_commit(self, listener: Published) -> None:
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
