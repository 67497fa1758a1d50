"""The seam between Maestro and its databases: what a store offers, whichever driver is behind it.

A use case is a function of a transaction. `write` runs it on the one writer, `read` on a reader; inside, everything
is synchronous and speaks in repositories, never in SQL.
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
    """The tables behind one connection."""

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
        """Work was undone: what the writer remembers may never have been."""
        self.projects.forget()
        self.links.forget()
        self.sessions.forget()
        self.mail.forget()


class Tx:
    """One transaction: its instant, its repositories and the log lines it adds."""

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
        """Put what happened into the log: written with this transaction, or not at all."""
        for change in changes:
            self.logged.append((change, actor))

    def on_undo(self, take_back: Callable[[], None]) -> None:
        """Call `take_back` if this work is not stored, or runs again: for what the work changes in memory."""
        self.undos.append(take_back)


class Undo(Exception):
    """Raised by work that has found out what it wanted to, and wants nothing kept: its caller gets the answer."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer


class CopyChecks(Protocol):
    """What a store can tell of a copy that `backup` wrote."""

    def require_sound(self, database: Path, /) -> None:
        """Refuse a damaged copy."""

    def named_blobs(self, database: Path, /) -> list[str]:
        """Return the names of the files beside the database that rows of the copy name."""


class Store(Protocol):
    """What every store does."""

    checks: CopyChecks

    def on_commit(self, listener: Published) -> None:
        """Tell `listener` the events of each commit, on the event loop, in order."""

    def on_fault(self, listener: Callable[[StorageFailed], None]) -> None:
        """Tell `listener`, on the event loop, of damaged data and of a database file that is gone."""

    async def write(self, work: Callable[[Tx], T], *, quick: bool = False) -> T:
        """Run `work` on the writer; answer only after its commit. Its failure undoes only its own work.

        `quick`: a few statements by key, so that an embedded store may run it on the spot.
        """

    async def read(self, work: Callable[[Tx], T], *, quick: bool = False) -> T:
        """Run `work` on a reader, on one snapshot. `quick`: an embedded store may do it on the spot."""

    async def backup(self, target: Path) -> dict[str, Any]:
        """Write a consistent copy of the database while it is in use."""

    async def close(self) -> None: ...
