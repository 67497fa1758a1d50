"""The form of a part: the services, operations and jobs that one noun contributes to a server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from maestro.domain.events import EventKind
from maestro.server.dispatch import Binding
from maestro.services.jobs import BackgroundJob


class PartJob(msgspec.Struct, frozen=True):
    """A background job of a part, and the events that give the job work."""

    job: BackgroundJob
    runs_after: tuple[EventKind, ...] = ()
    # No caller waits for the result of a paced job: a burst of events causes one round.
    is_paced: bool = False


class Reaction(msgspec.Struct, frozen=True):
    """A function that runs on the event loop after the commit of each event of some kinds."""

    kinds: tuple[EventKind, ...]
    react: Callable[[str], None]  # gets the subject of the event


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """The contributions of one noun. A subclass adds the services that other parts use."""

    bindings: Mapping[str, Binding] = msgspec.field(default_factory=dict)  # by the name of the operation
    jobs: tuple[PartJob, ...] = ()
    reactions: tuple[Reaction, ...] = ()
    # Finish the work that runs outside of background jobs. A server closes its parts in reverse order.
    close: tuple[Callable[[], Awaitable[None]], ...] = ()
