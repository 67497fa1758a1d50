"""Agents' hooks as text: when each fired last, and what went wrong."""

from __future__ import annotations

from maestro.domain.hooks import Firing
from maestro.operations.hooks import HookList
from maestro.surfaces.cli.render.base import Rendered, listed, when
from maestro.surfaces.cli.render.style import View, line

_HEAD = ["TOOL", "HOOK", "FIRED", "LAST PROBLEM"]


def hook_list(value: HookList, view: View) -> Rendered:
    if not value.hooks:
        return Rendered(notes=["no hook has fired yet; maestro connect claude|codex|gemini"])
    return Rendered(listed([_row(one) for one in value.hooks], _HEAD, view))


def _row(one: Firing) -> list[str]:
    fired = when(one.fired_at) if one.fired_at else "never"
    problem = f"{when(one.problem_at)} {line(one.problem)}" if one.problem and one.problem_at else ""
    return [line(one.tool), line(one.event), fired, problem]
