"""Composes the two prompts of a session. Pure: the same manifest and template always give the same text.

The system prompt holds the permanent part: identity, rules, team, workflow and calls. The task prompt holds the work
that the session was started for. Both are XML, and every value in them passes through `xml.element`.
"""

from __future__ import annotations

from functools import cache, lru_cache

from maestro.core import limits
from maestro.domain.manifests import AgentReach, Manifest, ManifestCommand, ManifestSkill
from maestro.domain.members import Permission
from maestro.domain.sessions import SessionMode
from maestro.domain.templates import PLAN_STRATEGY, WorkflowPhase, WorkflowTemplate
from maestro.prompts import call_names, people, session_rules, work
from maestro.prompts.parts import ElementBuilder, PromptBounds, ReadCall, fit_prompt
from maestro.prompts.xml import Markup, element

_PERMISSION_TEXTS = {
    Permission.PLAN: "You may read files and run commands that change nothing. You may not change files.",
    Permission.EDIT: "You may change files in your working directory. For other actions, your tool asks the person.",
    Permission.FULL: "You may do all that your tasks need without asking. Ask before actions that cannot be undone.",
}
_CALL_INSTRUCTIONS = {
    AgentReach.COMMANDS: (
        "You call Maestro with the command `maestro` in your shell. Words in capitals stand for your own values; "
        "`maestro help COMMAND` shows every flag, and `--json` answers in JSON. For a text with line breaks, quotes, "
        "backticks or $, and for a file that you have not written, write - as the value and give the text on "
        "standard input: the shell does not change it there. "
        "Put a reference that begins with # in quotes. Exit codes: 0 done, 1 failed, 2 usage, 3 timed out, "
        "4 not permitted, 5 conflict, 6 not found, 7 accepted but not confirmed, 8 no server."
    ),
    AgentReach.MCP: (
        "You call Maestro with the MCP tools named in this prompt. Words in capitals stand for your own values. "
        "The command `maestro` cannot reach Maestro from your shell: do not use the command."
    ),
}
_CALLS_KEPT = 32
_START = "Begin now, with the first phase of your workflow."
_CONTINUE = "Continue now: first your unread mail, then the rest of your work. Do not repeat finished work."


def system_prompt(manifest: Manifest, template: WorkflowTemplate) -> str:
    """Return the permanent part of a session's prompt, which does not depend on its tasks."""
    return fit_prompt(
        lambda parts: _system_element(parts, manifest, template),
        manifest.reach,
        bytes_max=limits.system_prompt_bytes_max,
    )


def task_prompt(manifest: Manifest) -> str:
    """Return the prompt with the work that a session was started for."""
    return fit_prompt(
        lambda parts: _task_element(parts, manifest), manifest.reach, bytes_max=limits.task_prompt_bytes_max
    )


def _system_element(parts: ElementBuilder, manifest: Manifest, template: WorkflowTemplate) -> Markup:
    rules_mode = SessionMode.PLAN if template.strategy == PLAN_STRATEGY else manifest.session.mode
    return element(
        "system_prompt",
        {"version": str(manifest.version), "mode": manifest.session.mode.value, "template": template.name},
        element("identity", None, _text_block(session_rules.identity_of_mode(rules_mode), manifest.reach)),
        people.persona_list(parts, manifest),
        element("permission", {"level": manifest.permission.value}, _PERMISSION_TEXTS[manifest.permission]),
        _rules_element(rules_mode, manifest.reach),
        people.team_roster(parts, manifest),
        _workflow_element(template, manifest.reach),
        _commands_element(parts, manifest),
    )


def _task_element(parts: ElementBuilder, manifest: Manifest) -> Markup:
    return element(
        "task_prompt",
        {"version": str(manifest.version)},
        people.resumption_element(parts, manifest.resumed) if manifest.resumed else None,
        _session_element(parts, manifest),
        people.coordinator_element(parts, manifest.coordinator) if manifest.coordinator else None,
        people.directive_element(parts, manifest.directive) if manifest.directive else None,
        work.task_list(parts, manifest),
        work.task_tree(parts, manifest),
        people.sibling_list(parts, manifest),
        _skills_element(parts, manifest),
        work.reference_tasks(parts, manifest),
        element("start", None, _CONTINUE if manifest.resumed else _START),
    )


@cache
def _rules_element(rules_mode: SessionMode, reach: AgentReach) -> Markup:
    rules = [
        element("rule", {"name": rule.name}, _text_block(rule.text, reach))
        for rule in session_rules.rules_of_mode(rules_mode)
    ]
    return element("rules", None, *rules)


@lru_cache(maxsize=_CALLS_KEPT)
def _workflow_element(template: WorkflowTemplate, reach: AgentReach) -> Markup:
    """Return the phases in order. A template may come from a project, so its texts are escaped like all values."""

    def phase_element(number: int, phase: WorkflowPhase) -> Markup:
        return element("phase", {"order": str(number), "name": phase.name}, _text_block(phase.text, reach))

    intro = element("intro", None, _text_block(template.intro, reach)) if template.intro else None
    return element(
        "workflow",
        {"name": template.name, "strategy": template.strategy, "summary": template.summary},
        intro,
        *[phase_element(number, phase) for number, phase in enumerate(template.phases, 1)],
    )


def _commands_element(parts: ElementBuilder, manifest: Manifest) -> Markup:
    return _calls_element(tuple(manifest.commands), manifest.reach, parts.bounds)


@lru_cache(maxsize=_CALLS_KEPT)
def _calls_element(commands: tuple[ManifestCommand, ...], reach: AgentReach, bounds: PromptBounds) -> Markup:
    """Return the list of calls. The list is equal for all sessions of a role, so it is cached."""
    parts = ElementBuilder(bounds, reach)

    def command_element(name: str, command: ManifestCommand) -> Markup:
        return element("command", {"name": parts.short_text(name)}, parts.short_text(command.summary))

    named = [(call_names.call_name(reach, command.operation, command.command), command) for command in commands]
    known = [(name, command) for name, command in named if name is not None]
    shown = [command_element(name, command) for name, command in known[: bounds.entries]]
    rest = len(known) - len(shown)
    more = element("more", {"count": str(rest)}) if rest else None
    facts = {"reach": reach.value, "count": str(len(known))}
    return element("commands", facts, element("how", None, _CALL_INSTRUCTIONS[reach]), *shown, more)


def _session_element(parts: ElementBuilder, manifest: Manifest) -> Markup:
    session = manifest.session
    return element(
        "session",
        {
            "id": session.id,
            "name": parts.short_text(session.name),
            "mode": session.mode.value,
            "strategy": parts.short_text(session.strategy),
            "template": parts.short_text(session.template),
            "address": parts.short_text(session.address),
        },
        element("person", {"name": parts.short_text(manifest.human), "address": "human"}),
        _project_element(parts, manifest),
        _workspace_element(parts, manifest),
        element("team", {"name": parts.short_text(manifest.team)}) if manifest.team else None,
        _limits_element(manifest),
    )


def _project_element(parts: ElementBuilder, manifest: Manifest) -> Markup:
    project = manifest.project
    attributes = {"id": project.id, "name": project.name, "key": project.key, "directory": project.directory}
    return element("project", {key: parts.short_text(value) for key, value in attributes.items()})


def _workspace_element(parts: ElementBuilder, manifest: Manifest) -> Markup | None:
    """Return the session's directory. A worktree belongs to the session alone; other agents may share a workspace."""
    workspace = manifest.workspace
    if workspace is None:
        return None
    attributes = {
        "directory": workspace.directory,
        "address": workspace.address,
        "branch": workspace.branch,
        "base": workspace.base,
    }
    name = "worktree" if workspace.worktree else "workspace"
    return element(name, {key: parts.short_text(value) for key, value in attributes.items()})


def _limits_element(manifest: Manifest) -> Markup | None:
    """Return how many sessions a coordinator may start. Other sessions start none and get no limits."""
    session_limits = {"workers_max": manifest.limits.workers_max, "depth_left": manifest.limits.depth_left}
    known = {name: str(limit) for name, limit in session_limits.items() if limit is not None}
    return element("limits", known) if known and manifest.session.mode is SessionMode.COORDINATE else None


def _skills_element(parts: ElementBuilder, manifest: Manifest) -> Markup | None:
    read = ReadCall("session.show", manifest.session.id)

    def skill_element(skill: ManifestSkill) -> Markup:
        attributes = {"name": parts.short_text(skill.name), "path": parts.short_text(skill.path)}
        if skill.text:
            return parts.long_text(
                "skill", skill.text, read, chars=limits.skill_text_chars_max, attributes=attributes
            )
        return element("skill", attributes, parts.short_text(skill.summary) or None)

    return parts.counted_list("skills", manifest.skills, skill_element, read)


def _text_block(text: str, reach: AgentReach) -> str:
    """Return a text of a template or rule on its own lines, with calls spelt for `reach`."""
    return f"\n{call_names.fill_placeholders(text, reach)}\n"
