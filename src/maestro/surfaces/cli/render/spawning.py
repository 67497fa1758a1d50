"""Render spawned sessions, prompts, transcripts, tools and templates as text."""

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

_ABILITIES = {
    "prompt_while_busy": "takes prompts while busy",
    "wakes_when_idle": "accepts pushes when idle",
    "asks_permission": "asks for permission",
    "tells_usage": "reports its usage",
    "resumes": "resumes earlier conversations",
    "takes_skills": "takes skills as files",
    "confirms_prompts": "confirms prompts",
    "exit_means_done": "completes its tasks when it exits",
}


def spawned(value: ops.SpawnedSession, view: View) -> Rendered:
    if value.dry_run:
        parts = [value.system_prompt or "", value.task_prompt or ""]
        return Rendered(
            body("\n".join(parts)),
            [f"dry run: no session was started (permission {value.permission}, grant {value.grant})"],
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
    text = f"{value.id}  {line(value.name)}  {value.mode}  {status_word(value.status)}\n{facts}"
    return Rendered(text, [line(warning) for warning in value.warnings])


def prompts(value: ops.Prompts, view: View) -> Rendered:
    return Rendered(body("\n".join(text for text in (value.system_prompt, value.task_prompt) if text)))


def manifest(value: Manifest, view: View) -> Rendered:
    return Rendered(body(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()) + "\n")


def logs(value: Logs, view: View) -> Rendered:
    """Render the text of a terminal as plain lines, without control characters."""
    lines = terminal_text.Lines()
    text = lines.take(value.text) + lines.rest()
    if not text:
        return Rendered("", [f"{line(value.name)} has no output yet"])
    return Rendered(body(text), ["the output is longer: --limit N shows more"] if value.truncated else [])


def terminal(value: AgentTerminal, view: View) -> Rendered:
    return Rendered(f"{value.session_id}  {line(value.name)}  {value.columns}x{value.rows}  {line(value.folder)}\n")


def tool_list(value: ToolList, view: View) -> Rendered:
    """Render a line for each tool, with the tool's abilities."""
    rows = []
    for tool in value.tools:
        abilities = [ability for field, ability in _ABILITIES.items() if getattr(tool, field)]
        rows.append(
            [
                paint(line(tool.name), "bold"),
                f"driven by {', '.join(tool.drivers)}; reaches Maestro by {tool.reach.value}; {', '.join(abilities)}",
            ]
        )
    return Rendered(aligned(rows))


def template_list(value: ops.TemplateList, view: View) -> Rendered:
    rows = [
        [line(template.name), line(template.summary), paint(" → ".join(template.phases), "dim")]
        for template in value.templates
    ]
    return Rendered(aligned(rows))


def template(value: ops.TemplateDetail, view: View) -> Rendered:
    parts = [f"{paint(line(value.name), 'bold')}  {line(value.summary)}\n"]
    parts += [f"\n{body(value.intro)}\n"] if value.intro else []
    parts += [f"\n{paint(line(name), 'bold')}\n{body(str(text))}\n" for name, text in value.texts.items()]
    return Rendered("".join(parts))


def heard(value: ops.Heard, view: View) -> Rendered:
    return Rendered(f"{line(value.kind)}\n")
