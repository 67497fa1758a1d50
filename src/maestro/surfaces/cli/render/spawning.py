"""Spawned sessions, prompts, transcripts and templates as text."""

from __future__ import annotations

import msgspec

from maestro.domain.manifests import Manifest
from maestro.operations import spawning as ops
from maestro.operations.terminals import AgentTerminal, Logs
from maestro.operations.tools import ToolList
from maestro.surfaces.cli.render.base import Rendered, pairs
from maestro.surfaces.cli.render.sessions import status_word
from maestro.surfaces.cli.render.style import View, aligned, body, line, paint
from maestro.text import terminal_text

_ABLE = {
    "prompt_while_busy": "takes prompts while busy",
    "wakes_when_idle": "wakes when idle",
    "asks_permission": "asks for permission",
    "tells_usage": "tells its usage",
    "resumes": "goes on with earlier conversations",
    "takes_skills": "takes skills as files",
    "confirms_prompts": "confirms prompts",
    "exit_means_done": "is done when it ends",
}


def spawned(value: ops.SpawnedSession, view: View) -> Rendered:
    if value.dry_run:
        parts = [value.system_prompt or "", value.task_prompt or ""]
        return Rendered(
            body("\n".join(parts)),
            [f"a dry run: nothing was started (permission {value.permission}, grant {value.grant})"],
        )
    facts = pairs(
        [
            ("tool", line(value.tool or "")),
            ("template", line(value.template)),
            ("permission", value.permission),
            ("grant", value.grant),
            ("directory", line(value.directory)),
            ("branch", line(value.branch or "")),
        ],
        indent="  ",
    )
    told = f"{value.id}  {line(value.name)}  {value.mode}  {status_word(value.status)}\n{facts}"
    return Rendered(told, [line(warning) for warning in value.warnings])


def prompts(value: ops.Prompts, view: View) -> Rendered:
    return Rendered(body("\n".join(text for text in (value.system_prompt, value.task_prompt) if text)))


def manifest(value: Manifest, view: View) -> Rendered:
    return Rendered(body(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()) + "\n")


def logs(value: Logs, view: View) -> Rendered:
    """The text of a terminal, as lines that can be read; nothing in it commands this one."""
    lines = terminal_text.Lines()
    text = lines.take(value.text) + lines.rest()
    if not text:
        return Rendered("", [f"{line(value.name)} has shown nothing"])
    return Rendered(body(text), ["there is more: --limit shows it"] if value.truncated else [])


def terminal(value: AgentTerminal, view: View) -> Rendered:
    return Rendered(f"{value.session_id}  {line(value.name)}  {value.columns}x{value.rows}  {line(value.folder)}\n")


def tool_list(value: ToolList, view: View) -> Rendered:
    """One line a tool, and below it what it can do."""
    rows = []
    for one in value.tools:
        able = [words for field, words in _ABLE.items() if getattr(one, field)]
        rows.append(
            [
                paint(line(one.name), "bold"),
                f"driven by {', '.join(one.drivers)}; reaches Maestro by {one.reach.value}; {', '.join(able)}",
            ]
        )
    return Rendered(aligned(rows))


def template_list(value: ops.TemplateList, view: View) -> Rendered:
    rows = [[line(one.name), line(one.summary), paint(" → ".join(one.phases), "dim")] for one in value.templates]
    return Rendered(aligned(rows))


def template(value: ops.TemplateDetail, view: View) -> Rendered:
    parts = [f"{paint(line(value.name), 'bold')}  {line(value.summary)}\n"]
    parts += [f"\n{body(value.intro)}\n"] if value.intro else []
    parts += [f"\n{paint(line(name), 'bold')}\n{body(str(text))}\n" for name, text in value.texts.items()]
    return Rendered("".join(parts))


def heard(value: ops.Heard, view: View) -> Rendered:
    return Rendered(f"{line(value.kind)}\n")
