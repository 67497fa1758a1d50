"""Puts the two prompts together. Pure: the same manifest and template give the same text, whoever asks and whenever.

The system prompt is what stays: who the session is, its rules, team, workflow and calls. The task prompt is what
this one session was started for. Both are XML, and every value in them has come through `xml.element`.
"""

from __future__ import annotations

from functools import cache, lru_cache

from maestro.core import limits
from maestro.domain.manifests import Command, Manifest, Reach, Skill
from maestro.domain.members import Permission
from maestro.domain.sessions import Mode
from maestro.domain.templates import PLAN, Phase, Template
from maestro.prompts import calls, people, standing, work
from maestro.prompts.parts import Bounds, Parts, Where, fit
from maestro.prompts.xml import Markup, element

_MAY = {
    Permission.PLAN: "You may read, and run what changes nothing. You change no files.",
    Permission.EDIT: "You may change files in your working directory. For more, your tool asks the person.",
    Permission.FULL: "You may do what your tasks need without asking. What cannot be undone, ask about all the same.",
}
_HOW = {
    Reach.COMMANDS: (
        "You call Maestro with the command `maestro` in your shell. Words in capitals stand for your own values; "
        "`maestro help COMMAND` shows every flag, and `--json` answers in JSON. For a text with line breaks, quotes, "
        "backticks or $, and for a file that you have not written, write - as the value and give the text on "
        "standard input: there the shell leaves it alone. "
        "Put a reference that begins with # in quotes. A command ends with 0 done, 1 failed, 2 usage, 3 timed out, "
        "4 not permitted, 5 conflict, 6 not found, 7 accepted but not confirmed, 8 no server."
    ),
    Reach.MCP: (
        "You call Maestro with the MCP tools named here, and words in capitals stand for your own values. "
        "The command `maestro` does not reach it from your shell: do not try."
    ),
}
_CALLS_KEPT = 32
_START = "Begin now, with the first phase of your workflow."
_GO_ON = "Go on now: first your unread mail, then what is left of your work. Do nothing twice that is done already."


def system_prompt(manifest: Manifest, template: Template) -> str:
    """What stays the same for a session, whatever it works on."""
    return fit(
        lambda parts: _system(parts, manifest, template), manifest.reach, bytes_max=limits.system_prompt_bytes_max
    )


def task_prompt(manifest: Manifest) -> str:
    """What a session was started for."""
    return fit(lambda parts: _task(parts, manifest), manifest.reach, bytes_max=limits.task_prompt_bytes_max)


def _system(parts: Parts, manifest: Manifest, template: Template) -> Markup:
    voice = Mode.PLAN if template.strategy == PLAN else manifest.session.mode
    return element(
        "system_prompt",
        {"version": str(manifest.version), "mode": manifest.session.mode.value, "template": template.name},
        element("identity", None, _block(standing.identity(voice), manifest.reach)),
        people.personas(parts, manifest),
        element("permission", {"level": manifest.permission.value}, _MAY[manifest.permission]),
        _rules(voice, manifest.reach),
        people.roster(parts, manifest),
        _workflow(template, manifest.reach),
        _commands(parts, manifest),
    )


def _task(parts: Parts, manifest: Manifest) -> Markup:
    return element(
        "task_prompt",
        {"version": str(manifest.version)},
        people.resumed(parts, manifest.resumed) if manifest.resumed else None,
        _session(parts, manifest),
        people.coordinator(parts, manifest.coordinator) if manifest.coordinator else None,
        people.directive(parts, manifest.directive) if manifest.directive else None,
        work.tasks(parts, manifest),
        work.tree(parts, manifest),
        people.siblings(parts, manifest),
        _skills(parts, manifest),
        work.reference_tasks(parts, manifest),
        element("start", None, _GO_ON if manifest.resumed else _START),
    )


@cache
def _rules(voice: Mode, reach: Reach) -> Markup:
    found = [element("rule", {"name": rule.name}, _block(rule.text, reach)) for rule in standing.rules(voice)]
    return element("rules", None, *found)


@lru_cache(maxsize=_CALLS_KEPT)
def _workflow(template: Template, reach: Reach) -> Markup:
    """The phases in their order. A template's words are a project's own: they are escaped like all others."""

    def one(place: int, phase: Phase) -> Markup:
        return element("phase", {"order": str(place), "name": phase.name}, _block(phase.text, reach))

    intro = element("intro", None, _block(template.intro, reach)) if template.intro else None
    return element(
        "workflow",
        {"name": template.name, "strategy": template.strategy, "summary": template.summary},
        intro,
        *[one(place, phase) for place, phase in enumerate(template.phases, 1)],
    )


def _commands(parts: Parts, manifest: Manifest) -> Markup:
    return _calls(tuple(manifest.commands), manifest.reach, parts.bounds)


@lru_cache(maxsize=_CALLS_KEPT)
def _calls(commands: tuple[Command, ...], reach: Reach, bounds: Bounds) -> Markup:
    """The same for all sessions of a role, so it is made once."""
    parts = Parts(bounds, reach)

    def one(name: str, command: Command) -> Markup:
        return element("command", {"name": parts.line(name)}, parts.line(command.summary))

    named = [(calls.name(reach, command.operation, command.words), command) for command in commands]
    known = [(name, command) for name, command in named if name is not None]
    shown = [one(name, command) for name, command in known[: bounds.entries]]
    rest = len(known) - len(shown)
    more = element("more", {"count": str(rest)}) if rest else None
    facts = {"reach": reach.value, "count": str(len(known))}
    return element("commands", facts, element("how", None, _HOW[reach]), *shown, more)


def _session(parts: Parts, manifest: Manifest) -> Markup:
    session = manifest.session
    return element(
        "session",
        {
            "id": session.id,
            "name": parts.line(session.name),
            "mode": session.mode.value,
            "strategy": parts.line(session.strategy),
            "template": parts.line(session.template),
            "address": parts.line(session.address),
        },
        element("person", {"name": parts.line(manifest.human), "address": "human"}),
        _project(parts, manifest),
        _workspace(parts, manifest),
        element("team", {"name": parts.line(manifest.team)}) if manifest.team else None,
        _limits(manifest),
    )


def _project(parts: Parts, manifest: Manifest) -> Markup:
    project = manifest.project
    attributes = {"id": project.id, "name": project.name, "key": project.key, "directory": project.directory}
    return element("project", {key: parts.line(value) for key, value in attributes.items()})


def _workspace(parts: Parts, manifest: Manifest) -> Markup | None:
    """Where the session works: a worktree is its own, a workspace may be others' too."""
    found = manifest.workspace
    if found is None:
        return None
    attributes = {
        "directory": found.directory,
        "address": found.address,
        "branch": found.branch,
        "base": found.base,
    }
    name = "worktree" if found.worktree else "workspace"
    return element(name, {key: parts.line(value) for key, value in attributes.items()})


def _limits(manifest: Manifest) -> Markup | None:
    """How many others the session may start; those who may start none need not know."""
    told = {"workers_max": manifest.limits.workers_max, "depth_left": manifest.limits.depth_left}
    known = {name: str(most) for name, most in told.items() if most is not None}
    return element("limits", known) if known and manifest.session.mode is Mode.COORDINATE else None


def _skills(parts: Parts, manifest: Manifest) -> Markup | None:
    read = Where("session.show", manifest.session.id)

    def one(skill: Skill) -> Markup:
        attributes = {"name": parts.line(skill.name), "path": parts.line(skill.path)}
        if skill.text:
            return parts.prose("skill", skill.text, read, chars=limits.skill_text_chars_max, attributes=attributes)
        return element("skill", attributes, parts.line(skill.summary) or None)

    return parts.entries("skills", manifest.skills, one, read)


def _block(text: str, reach: Reach) -> str:
    """Our own words, on lines of their own, with calls spelt for whoever reads them."""
    return f"\n{calls.filled(text, reach)}\n"
