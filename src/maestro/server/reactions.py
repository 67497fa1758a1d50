"""React to the events of each commit: nudge background jobs, run the reactions of the parts, wake listeners."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from maestro.domain.events import Event
from maestro.events.hub import Hub
from maestro.server.part import PartJob, Reaction
from maestro.services.jobs import BackgroundJobs


class Reactions:
    """The reactions of a server to events. They run on the event loop after each commit."""

    def __init__(self, hub: Hub, background_jobs: BackgroundJobs) -> None:
        self._hub = hub
        self._background_jobs = background_jobs
        self._jobs_by_kind: defaultdict[str, list[str]] = defaultdict(list)
        self._reactions_by_kind: defaultdict[str, list[Callable[[str], None]]] = defaultdict(list)

    def add_jobs(self, jobs: Iterable[PartJob]) -> None:
        """Nudge each job after the events that give the job work."""
        for entry in jobs:
            for kind in entry.runs_after:
                self._jobs_by_kind[kind].append(entry.job.name)

    def add_reactions(self, reactions: Iterable[Reaction]) -> None:
        """Run further reactions after the reactions that were added before."""
        for reaction in reactions:
            for kind in reaction.kinds:
                self._reactions_by_kind[kind].append(reaction.react)

    def react_to_events(self, events: Sequence[Event]) -> None:
        """React to the events of one commit."""
        for kind in {event.kind for event in events}:
            for name in self._jobs_by_kind.get(kind, ()):
                self._background_jobs.nudge_job(name)
        for event in events:
            for react in self._reactions_by_kind.get(event.kind, ()):
                react(event.subject)
        self._hub.publish(events)
