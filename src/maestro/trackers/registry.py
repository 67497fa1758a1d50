"""The registry of trackers, by kind."""

from __future__ import annotations

from collections.abc import Mapping

from maestro.domain.trackers import TrackerKind
from maestro.trackers.base import Tracker
from maestro.trackers.beads import commands
from maestro.trackers.beads.program import BEADS_FOLDER, BeadsProgram
from maestro.trackers.beads.tracker import BeadsTracker

_FOLDERS = {TrackerKind.BEADS: BEADS_FOLDER}


def external_tracker(
    kind: TrackerKind, checkout: str, *, programs: Mapping[TrackerKind, str], seconds_max: float
) -> Tracker:
    """Return the external tracker of a checkout."""
    assert kind is TrackerKind.BEADS, f"{kind} is not an external tracker"
    return BeadsTracker(
        BeadsProgram(checkout, program=programs.get(kind) or commands.PROGRAM, seconds_max=seconds_max)
    )


def tracker_folders() -> Mapping[TrackerKind, str]:
    """Return the folder by which each tracker is recognised in a checkout. The folder is only used for a hint."""
    return _FOLDERS


def agent_environment(kind: TrackerKind, *, name: str) -> dict[str, str]:
    """Return the environment variables of an agent called `name` in a project with this tracker."""
    return commands.agent_environment(name) if kind is TrackerKind.BEADS else {}
