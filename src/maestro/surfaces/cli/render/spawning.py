"""Render spawned sessions, prompts, transcripts, tools and templates as text."""

from __future__ import annotations

import msgspec

from maestro.domain.manifests import Manifest
from maestro.operations import spawning as ops
from maestro.operations.terminals import AgentTerminal, SessionLogs
from maestro.operations.tools import ToolList
from maestro.surfaces.cli.render.base import Rendered, render_pairs
from maestro.surfaces.cli.render.sessions import status_word
from maestro.surfaces.cli.render.style import View, align_rows, paint, safe_body, safe_line
from maestro.text import terminal_text

_ABILITIES = {
    "prompt_while_busy": "takes prompts while busy",
    "prompt_when_idle": "accepts pushes when idle",
    "asks_permission": "asks for permission",
    "reports_usage": "reports its usage",
    "resumes": "resumes earlier conversations",
    "loads_skills": "takes skills as files",
    "confirms_prompts": "confirms prompts",
    "exit_means_done": "completes its tasks when it exits",
}


def render_spawned_session(value: ops.SpawnedSession, view: View) -> Rendered:
    if value.dry_run:
        parts = [value.system_prompt or "", value.task_prompt or ""]
        return Rendered(
            safe_body("\n".join(parts)),
            [f"dry run: no session was started (permission {value.permission}, grant {value.grant})"],
        )
    facts = render_pairs(
        [
            ("tool", safe_line(value.tool or "")),
            ("template", safe_line(value.template)),
            ("permission", value.permission),
            ("grant", value.grant),
            ("directory", safe_line(value.directory)),
            ("branch", safe_line(value.branch or "")),
        ],
        indent="  ",
    )
    text = f"{value.id}  {safe_line(value.name)}  {value.mode}  {status_word(value.status)}\n{facts}"
    return Rendered(text, [safe_line(warning) for warning in value.warnings])


def render_prompts(value: ops.SessionPrompts, view: View) -> Rendered:
    return Rendered(safe_body("\n".join(text for text in (value.system_prompt, value.task_prompt) if text)))


def render_manifest(value: Manifest, view: View) -> Rendered:
    return Rendered(safe_body(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()) + "\n")


def render_logs(value: SessionLogs, view: View) -> Rendered:
    """Render the text of a terminal as plain lines, without control characters."""
    lines = terminal_text.TerminalLines()
    text = lines.add_output(value.text) + lines.flush_line()
    if not text:
        return Rendered("", [f"{safe_line(value.name)} has no output yet"])
    return Rendered(safe_body(text), ["the output is longer: --limit N shows more"] if value.truncated else [])


def render_terminal(value: AgentTerminal, view: View) -> Rendered:
    return Rendered(
        f"{value.session_id}  {safe_line(value.name)}  {value.columns}x{value.rows}  {safe_line(value.folder)}\n"
    )


def render_tool_list(value: ToolList, view: View) -> Rendered:
    """Render a line for each tool, with the tool's abilities."""
    rows = []
    for tool in value.tools:
        abilities = [ability for field, ability in _ABILITIES.items() if getattr(tool, field)]
        rows.append(
            [
                paint(safe_line(tool.name), "bold"),
                f"driven by {', '.join(tool.drivers)}; reaches Maestro by {tool.reach.value}; {', '.join(abilities)}",
            ]
        )
    return Rendered(align_rows(rows))


def render_template_list(value: ops.TemplateList, view: View) -> Rendered:
    rows = [
        [safe_line(template.name), safe_line(template.summary), paint(" → ".join(template.phases), "dim")]
        for template in value.templates
    ]
    return Rendered(align_rows(rows))


def render_template(value: ops.TemplateDetail, view: View) -> Rendered:
    parts = [f"{paint(safe_line(value.name), 'bold')}  {safe_line(value.summary)}\n"]
    parts += [f"\n{safe_body(value.intro)}\n"] if value.intro else []
    parts += [f"\n{paint(safe_line(name), 'bold')}\n{safe_body(str(text))}\n" for name, text in value.texts.items()]
    return Rendered("".join(parts))


def render_received_event(value: ops.RunnerReportAnswer, view: View) -> Rendered:
    return Rendered(f"{safe_line(value.kind)}\n")
