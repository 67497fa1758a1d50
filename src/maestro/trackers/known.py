"""The registry of trackers, by kind."""

from __future__ import annotations

from collections.abc import Mapping

from maestro.domain.trackers import Kind
from maestro.trackers.base import Tracker
from maestro.trackers.beads import commands
from maestro.trackers.beads.program import FOLDER, Program
from maestro.trackers.beads.tracker import Beads

_FOLDERS = {Kind.BEADS: FOLDER}


def beside(kind: Kind, checkout: str, *, programs: Mapping[Kind, str], seconds_max: float) -> Tracker:
    """Return the external tracker of a checkout."""
    assert kind is Kind.BEADS, f"{kind} is not an external tracker"
    return Beads(Program(checkout, program=programs.get(kind) or commands.PROGRAM, seconds_max=seconds_max))


def folders() -> Mapping[Kind, str]:
    """Return the folder by which each tracker is recognised in a checkout. The folder is only used for a hint."""
    return _FOLDERS


def environment(kind: Kind, *, name: str) -> dict[str, str]:
    """Return the environment variables of an agent called `name` in a project with this tracker."""
    return commands.agent_environment(name) if kind is Kind.BEADS else {}
