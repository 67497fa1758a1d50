"""Every tracker there is, by kind."""

from __future__ import annotations

from collections.abc import Mapping

from maestro.domain.trackers import Kind
from maestro.trackers.base import Tracker
from maestro.trackers.beads import commands
from maestro.trackers.beads.program import FOLDER, Program
from maestro.trackers.beads.tracker import Beads

_FOLDERS = {Kind.BEADS: FOLDER}


def beside(kind: Kind, checkout: str, *, programs: Mapping[Kind, str], seconds_max: float) -> Tracker:
    """A tracker beside Maestro, in a checkout."""
    assert kind is Kind.BEADS, f"{kind} is not beside Maestro"
    return Beads(Program(checkout, program=programs.get(kind) or commands.PROGRAM, seconds_max=seconds_max))


def folders() -> Mapping[Kind, str]:
    """What lies in a checkout that has such a tracker: a hint, never a choice."""
    return _FOLDERS


def environment(kind: Kind, *, name: str) -> dict[str, str]:
    """What an agent called `name` finds in its environment where a project has this tracker."""
    return commands.agent_environment(name) if kind is Kind.BEADS else {}
