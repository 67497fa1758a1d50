"""Render the hooks of agents as text: the time of the last call and the last problem."""

from __future__ import annotations

from maestro.domain.hooks import Firing
from maestro.operations.hooks import HookList
from maestro.surfaces.cli.render.base import Rendered, listed, when
from maestro.surfaces.cli.render.style import View, line

_HEAD = ["TOOL", "HOOK", "FIRED", "LAST PROBLEM"]


def hook_list(value: HookList, view: View) -> Rendered:
    if not value.hooks:
        return Rendered(notes=["no hook has fired yet: maestro connect claude|codex|gemini sets the hooks up"])
    return Rendered(listed([_firing_row(firing) for firing in value.hooks], _HEAD, view))


def _firing_row(firing: Firing) -> list[str]:
    fired = when(firing.fired_at) if firing.fired_at else "never"
    problem = f"{when(firing.problem_at)} {line(firing.problem)}" if firing.problem and firing.problem_at else ""
    return [line(firing.tool), line(firing.event), fired, problem]
