"""Render the hooks of agents as text: the time of the last call and the last problem."""

from __future__ import annotations

from maestro.domain.hooks import HookFiring
from maestro.operations.hooks import HookList
from maestro.surfaces.cli.render.base import Rendered, format_time, render_table
from maestro.surfaces.cli.render.style import View, safe_line
from maestro.tools import registry

_HEAD = ["TOOL", "HOOK", "FIRED", "LAST PROBLEM"]


def render_hook_list(value: HookList, view: View) -> Rendered:
    if not value.hooks:
        tools = "|".join(registry.CONNECTABLE)
        return Rendered(notes=[f"no hook has fired yet: maestro connect {tools} sets the hooks up"])
    return Rendered(render_table([_firing_row(firing) for firing in value.hooks], _HEAD, view))


def _firing_row(firing: HookFiring) -> list[str]:
    fired = format_time(firing.fired_at) if firing.fired_at else "never"
    problem = (
        f"{format_time(firing.problem_at)} {safe_line(firing.problem)}"
        if firing.problem and firing.problem_at
        else ""
    )
    return [safe_line(firing.tool), safe_line(firing.event), fired, problem]
