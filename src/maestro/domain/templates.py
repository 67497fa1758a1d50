"""Workflow templates as values. Pure: `prompts/` finds and parses the template files."""

from __future__ import annotations

import msgspec

from maestro.domain.sessions import SessionMode

PACKAGED_SOURCE = "maestro"  # the source of a template that comes with Maestro

PLAN_STRATEGY = "plan"
# The strategy of a session if the starter names none.
DEFAULT_STRATEGY = {SessionMode.COORDINATE: "default", SessionMode.EXECUTE: "simple", SessionMode.PLAN: PLAN_STRATEGY}
# Other names of strategies: from the first version and from `maestro run`.
STRATEGY_ALIASES = {"batching": "intelligent-batching", "batch": "intelligent-batching"}


class WorkflowPhase(msgspec.Struct, frozen=True):
    """One phase of a workflow. Calls in its text are still placeholders."""

    name: str
    text: str


class WorkflowTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """The workflow of sessions with one mode and one strategy."""

    name: str  # coordinate-dag
    mode: SessionMode
    strategy: str
    summary: str
    phases: tuple[WorkflowPhase, ...]
    intro: str = ""  # text that applies to all phases
    aliases: tuple[str, ...] = ()
    source: str = PACKAGED_SOURCE  # or the path of the template's file


def template_name(mode: SessionMode, strategy: str = "") -> str:
    """Return the name of the template for a mode and a strategy."""
    full_name = STRATEGY_ALIASES.get(strategy, strategy) or DEFAULT_STRATEGY[mode]
    # `plan` is a mode, and also a strategy of the mode `execute`: one template serves both.
    template_mode = SessionMode.EXECUTE if mode is SessionMode.PLAN and full_name == PLAN_STRATEGY else mode
    return f"{template_mode}-{full_name}"


def serves_mode(template: WorkflowTemplate, mode: SessionMode) -> bool:
    """Return whether a template is for sessions of a mode."""
    return template.mode is mode or (
        mode is SessionMode.PLAN and template.mode is SessionMode.EXECUTE and template.strategy == PLAN_STRATEGY
    )
