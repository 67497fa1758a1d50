"""`maestro doctor`: report the server, the data, the installed tools and their connections, and repair problems."""

from __future__ import annotations

import argparse
import json
import shlex
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from maestro import __version__
from maestro.client import main, server_locks, server_start
from maestro.client.connect import (
    context,
    data_health,
    entries,
    files,
    home_health,
    hook_review,
    installed_programs,
    settings_text,
)
from maestro.client.connect.change_records import ConnectRecords
from maestro.client.connect.commands import ToolConnection
from maestro.client.connect.context import print_line
from maestro.client.connect.settings_text import NotChangeable
from maestro.system import private_home
from maestro.tools import registry
from maestro.tools.connect_support import HookReview, SettingsScope, SettingsTarget

_LOG = "hooks.log"
_RECENT_SECONDS = 24 * 3600
_EVENTS_SHOWN = 4


@dataclass
class DoctorProblem:
    """A problem and its remedy."""

    text: str
    remedy: str = ""
    tool: str = ""
    scope: SettingsScope | None = None  # a new connection of the tool in this scope repairs the problem
    starts_server: bool = False
    clears_log: bool = False
    closes_home: bool = False  # the repair closes the data directory to other users


@dataclass
class DoctorFindings:
    """The report of the doctor."""

    lines: list[str] = field(default_factory=list)
    problems: list[DoctorProblem] = field(default_factory=list)


def run_doctor(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="maestro doctor", description="Report problems, and repair them.")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--fix", action="store_true", help="repair the problems that Maestro can repair")
    way.add_argument("--json", action="store_true", help="answer in JSON")
    way.add_argument(
        "--compact", action="store_true", help="copy the database into a smaller file; no server may run"
    )
    chosen = parser.parse_args(arguments)
    if chosen.compact:
        context.require_person("compacts the database")
        server_start.become_server("--compact")
    findings = collect_findings()
    if chosen.json:
        print_line(_as_json(findings))
    else:
        findings = _print_findings(findings, mends=chosen.fix)
    return 1 if findings.problems else 0


def _print_findings(findings: DoctorFindings, *, mends: bool) -> DoctorFindings:
    """Print the findings, repair the problems if `mends`, and return the findings after that."""
    for line in findings.lines:
        print_line(line)
    if mends and findings.problems:
        context.require_person("mends settings")
        _repair(findings.problems)
        findings = collect_findings()
        print_line()
        print_line("after the repair:")
    print_line("" if findings.problems else "nothing is wrong")
    for problem in findings.problems:
        print_line(f"! {problem.text}" + (f"\n  {problem.remedy}" if problem.remedy else ""))
    return findings


def _as_json(findings: DoctorFindings) -> str:
    problems = [{"problem": problem.text, "remedy": problem.remedy} for problem in findings.problems]
    return json.dumps({"findings": [line.strip() for line in findings.lines], "problems": problems})


def collect_findings() -> DoctorFindings:
    """Check all parts and return the findings; change nothing."""
    findings = DoctorFindings()
    _check_home(findings)
    _check_server(findings)
    _check_data(findings)
    answer = context.request_json("hooks")
    fired = {(hook["tool"], hook["event"]): hook for hook in (answer or {}).get("hooks", [])}
    for tool in entries.TOOLS:
        _check_tool(tool, fired, findings)
    _check_log(findings)
    return findings


def _check_home(findings: DoctorFindings) -> None:
    exposed = private_home.find_exposed(context.data_directory())
    for text, remedy in home_health.describe_exposed(exposed):
        findings.problems.append(DoctorProblem(text, remedy, closes_home=True))


def _check_server(findings: DoctorFindings) -> None:
    findings.lines.append(f"maestro   {__version__}, {entries.maestro_command().program}")
    status = context.request_json("status")
    silent_pid = server_locks.server_pid(context.data_directory()) if status is None else None
    if silent_pid is not None:
        findings.lines.append(f"server    pid {silent_pid}, does not answer; data in {context.data_directory()}")
        findings.problems.append(
            DoctorProblem(f"the server (pid {silent_pid}) does not answer", "maestro down; maestro up")
        )
        return
    if status is None:
        findings.lines.append(f"server    does not run; data in {context.data_directory()}")
        remedy = "start a server: maestro up; hooks do not start a server, and agents work without Maestro meanwhile"
        findings.problems.append(DoctorProblem("no server runs", remedy, starts_server=True))
        return
    findings.lines.append(
        f"server    {status['version']}, pid {status['pid']}, {status['url']}, data in {status['home']}"
    )
    if status["version"] != __version__:
        findings.problems.append(
            DoctorProblem(f"the server has version {status['version']}, the client {__version__}", "maestro down")
        )


def _check_data(findings: DoctorFindings) -> None:
    lines, problems = data_health.check_data()
    findings.lines += lines
    findings.problems += [DoctorProblem(text, data_health.REMEDY) for text in problems]


def _check_tool(tool: str, fired: dict[tuple[str, str], Any], findings: DoctorFindings) -> None:
    program = installed_programs.find_program(tool)
    if program is None:
        findings.lines.append(f"{tool:<9} not found")
        connected = list(_find_connections(tool))
        if connected:
            findings.problems.append(DoctorProblem(f"{tool} is connected, but not found in PATH"))
        return
    support = registry.CONNECTABLE[tool]
    tested = "" if program.version == support.tested_version else f" (tested with {support.tested_version})"
    findings.lines.append(f"{tool:<9} {program.version or 'of an unknown version'}{tested}, {program.path}")
    findings.lines.append(f"          can: {support.hook_summary}")
    connected = list(_find_connections(tool))
    if not connected:
        findings.lines.append(f"          not connected: maestro connect {tool}")
        return
    for scope, targets in connected:
        _check_connection(tool, scope, targets, findings)
    if support.hook_review is not None:
        _check_review(tool, program.path, support.hook_review, findings)
    findings.lines.extend(f"          {line}" for line in _describe_fired(tool, fired, findings))


def _find_connections(tool: str) -> Iterator[tuple[SettingsScope, list[SettingsTarget]]]:
    """Yield the scopes whose settings have, or had, entries of Maestro."""
    records = ConnectRecords(context.data_directory())
    for scope in SettingsScope:
        targets = entries.settings_targets(
            tool, scope, entries.maestro_command(), directory=context.project_directory()
        )
        if any(records.find_record(target.path) is not None or _hook_events(target) for target in targets):
            yield scope, targets


def _hook_events(target: SettingsTarget) -> set[str]:
    try:
        return settings_text.present_entries(target, files.read_settings(target.path).text)[0]
    except NotChangeable:
        return set()


def _check_connection(
    tool: str, scope: SettingsScope, targets: list[SettingsTarget], findings: DoctorFindings
) -> None:
    """Check that the settings of one scope hold all of Maestro's entries."""
    remedy = f"maestro connect {tool}" + ("" if scope is SettingsScope.USER else f" --scope {scope.value}")
    broken: list[str] = []
    events: set[str] = set()
    for target in targets:
        try:
            text = files.read_settings(target.path).text
            present, mcp = settings_text.present_entries(target, text)
        except NotChangeable as reason:
            broken.append(f"{target.path}: {reason}")
            continue
        events |= present
        if missing := target.hooks.keys() - present:
            broken.append(f"{target.path} lacks {len(missing)} of {len(target.hooks)} hooks")
        if target.mcp is not None and mcp is None:
            broken.append(f"{target.path} lacks the MCP server")
        broken += [
            f"{target.path}: the program {gone} does not exist" for gone in _missing_programs(target, text, mcp)
        ]
    findings.lines.append(f"          connected ({scope.value}): {len(events)} hooks")
    findings.problems += [DoctorProblem(f"{tool}: {text}", remedy, tool, scope) for text in broken]


def _missing_programs(target: SettingsTarget, text: str, mcp: Any) -> list[str]:
    """Return the programs that the settings name and that do not exist."""
    named = {_program_in(command) for command in settings_text.hook_commands(text)} if target.hooks else set()
    if isinstance(mcp, dict) and isinstance(mcp.get("command"), str):
        named.add(mcp["command"])
    return sorted(program for program in named if program.startswith("/") and not Path(program).exists())


def _program_in(command: str) -> str:
    return next((part for part in shlex.split(command) if "=" not in part), "")


def _check_review(tool: str, program: str, review: HookReview, findings: DoctorFindings) -> None:
    hooks = hook_review.list_hooks(program, review, context.project_directory())
    unreviewed = [hook.event for hook in hooks or () if not hook.is_trusted]
    if unreviewed:
        text = f"{tool} does not run {len(unreviewed)} hooks, because you have not reviewed them"
        findings.problems.append(
            DoctorProblem(text, f"start {tool} and review the hooks, or: maestro connect {tool} --trust")
        )


def _describe_fired(tool: str, fired: dict[tuple[str, str], Any], findings: DoctorFindings) -> Iterator[str]:
    """Yield lines about the times at which the hooks fired, the newest first; add a line for each recent problem."""
    hooks = {event: fired.get((tool, event)) for event in registry.DIALECTS[tool].events}
    times = {event: _timestamp(hook["fired_at"]) for event, hook in hooks.items() if hook and hook["fired_at"]}
    newest = sorted(times, key=lambda event: times[event], reverse=True)
    recent = [f"{event} {_format_age(time.time() - times[event])}" for event in newest[:_EVENTS_SHOWN]]
    yield f"fired: {', '.join(recent) or 'none yet'}"
    never = [event for event in hooks if event not in times]
    if recent and never:
        yield f"never fired: {', '.join(never)}"
    for event, hook in hooks.items():
        if hook and hook["problem"] and time.time() - _timestamp(hook["problem_at"]) < _RECENT_SECONDS:
            when = _format_age(time.time() - _timestamp(hook["problem_at"]))
            findings.lines.append(f"          {event}, {when}: {hook['problem']}")


def _check_log(findings: DoctorFindings) -> None:
    """Report the hooks that got no answer. The client logs these hooks in a file."""
    try:
        lines = (context.data_directory() / _LOG).read_text(errors="replace").splitlines()
    except OSError:
        return
    recent = [parts for line in lines if len(parts := line.split("\t")) == 3 and _is_recent(parts[0])]
    if recent:
        at, hook, why = recent[-1]
        count = "1 hook" if len(recent) == 1 else f"{len(recent)} hooks"
        text = f"{count} got no answer in the last day; the last: {hook}, {_format_age(time.time() - int(at))}: {why}"
        remedy = "the agents went on without an answer; `maestro doctor --fix` deletes these log lines"
        findings.problems.append(DoctorProblem(text, remedy, clears_log=True))


def _repair(problems: list[DoctorProblem]) -> None:
    if any(problem.closes_home for problem in problems):
        home_health.close_home(context.data_directory())
    if any(problem.starts_server for problem in problems) and context.start_server():
        print_line("started the server")
    broken = [(problem.tool, problem.scope) for problem in problems if problem.scope is not None]
    for tool, scope in dict.fromkeys(broken):
        if scope is not None:
            ToolConnection(tool, scope).connect_tool(trusts=False)
    if any(problem.clears_log for problem in problems):
        Path(main.data_directory(), _LOG).unlink(missing_ok=True)


def _is_recent(at: str) -> bool:
    return at.isdecimal() and time.time() - int(at) < _RECENT_SECONDS


def _timestamp(text: str) -> float:
    return datetime.fromisoformat(text).astimezone(UTC).timestamp()


def _format_age(seconds: float) -> str:
    if seconds < 90:
        return f"{max(0, seconds):.0f} s ago"
    return f"{seconds / 60:.0f} min ago" if seconds < 5400 else f"{seconds / 3600:.0f} h ago"
