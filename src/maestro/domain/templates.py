"""A workflow's phases as a value. Pure: where templates are kept and how they are written is prompts' business."""

from __future__ import annotations

import msgspec

from maestro.domain.sessions import Mode

PACKAGED = "maestro"  # the source of a template that came with the program

PLAN = "plan"
# What a session does when nobody says how.
DEFAULT_STRATEGY = {Mode.COORDINATE: "default", Mode.EXECUTE: "simple", Mode.PLAN: PLAN}
# Other words for a strategy: those of the first version, and those of `maestro run`.
STRATEGY_ALIASES = {"batching": "intelligent-batching", "batch": "intelligent-batching"}


class Phase(msgspec.Struct, frozen=True):
    """One step of a workflow and what to do in it; calls in the text are still placeholders."""

    name: str
    text: str


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow: what a session of one mode and strategy goes through."""

    name: str  # coordinate-dag
    mode: Mode
    strategy: str
    summary: str
    phases: tuple[Phase, ...]
    intro: str = ""  # what holds for all phases
    aliases: tuple[str, ...] = ()
    source: str = PACKAGED  # or the file it was read from


def template_name(mode: Mode, strategy: str = "") -> str:
    """How the template for a mode and strategy is called."""
    known = STRATEGY_ALIASES.get(strategy, strategy) or DEFAULT_STRATEGY[mode]
    # To plan is a mode of its own and a strategy of those who execute: one workflow serves both.
    first = Mode.EXECUTE if mode is Mode.PLAN and known == PLAN else mode
    return f"{first}-{known}"


def serves(template: Template, mode: Mode) -> bool:
    """Whether a template is made for sessions of a mode."""
    return template.mode is mode or (
        mode is Mode.PLAN and template.mode is Mode.EXECUTE and template.strategy == PLAN
    )
