"""Workflow templates as values. Pure: `prompts/` finds and parses the template files."""

from __future__ import annotations

import msgspec

from maestro.domain.sessions import Mode

PACKAGED = "maestro"  # the source of a template that comes with Maestro

PLAN = "plan"
# The strategy of a session if the starter names none.
DEFAULT_STRATEGY = {Mode.COORDINATE: "default", Mode.EXECUTE: "simple", Mode.PLAN: PLAN}
# Other names of strategies: from the first version and from `maestro run`.
STRATEGY_ALIASES = {"batching": "intelligent-batching", "batch": "intelligent-batching"}


class Phase(msgspec.Struct, frozen=True):
    """One phase of a workflow. Calls in its text are still placeholders."""

    name: str
    text: str


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """The workflow of sessions with one mode and one strategy."""

    name: str  # coordinate-dag
    mode: Mode
    strategy: str
    summary: str
    phases: tuple[Phase, ...]
    intro: str = ""  # text that applies to all phases
    aliases: tuple[str, ...] = ()
    source: str = PACKAGED  # or the path of the template's file


def template_name(mode: Mode, strategy: str = "") -> str:
    """Return the name of the template for a mode and a strategy."""
    full_name = STRATEGY_ALIASES.get(strategy, strategy) or DEFAULT_STRATEGY[mode]
    # `plan` is a mode, and also a strategy of the mode `execute`: one template serves both.
    template_mode = Mode.EXECUTE if mode is Mode.PLAN and full_name == PLAN else mode
    return f"{template_mode}-{full_name}"


def serves(template: Template, mode: Mode) -> bool:
    """Return whether a template is for sessions of a mode."""
    return template.mode is mode or (
        mode is Mode.PLAN and template.mode is Mode.EXECUTE and template.strategy == PLAN
    )
