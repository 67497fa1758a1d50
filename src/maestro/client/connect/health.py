"""`maestro doctor`: which programs there are, how they are connected, what fired when, and what is wrong."""

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
from maestro.client import server_locks, start, thin
from maestro.client.connect import data_health, entries, files, home_health, merging, place, programs, trust
from maestro.client.connect.commands import Connecting
from maestro.client.connect.entries import Scope, Target
from maestro.client.connect.merging import LeftAlone
from maestro.client.connect.place import say
from maestro.client.connect.records import Records
from maestro.system import private_home
from maestro.tools.hooks import known

_LOG = "hooks.log"
_RECENT_SECONDS = 24 * 3600
_EVENTS_SHOWN = 4


@dataclass
class Problem:
    """Something that is wrong, and how it is mended."""

    what: str
    remedy: str = ""
    tool: str = ""
    scope: Scope | None = None  # connecting it there anew mends it
    starts_server: bool = False
    clears_log: bool = False
    opens_home: bool = False  # other users can reach the data directory


@dataclass
class Findings:
    """What the doctor saw."""

    lines: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="maestro doctor", description="Say what is wrong, and mend it.")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--fix", action="store_true", help="mend what can be mended")
    way.add_argument("--json", action="store_true", help="answer in JSON")
    way.add_argument(
        "--compact", action="store_true", help="copy the database into a smaller file; no server may run"
    )
    chosen = parser.parse_args(arguments)
    if chosen.compact:
        place.require_person("compacts the database")
        start.become("--compact")
    found = look()
    if chosen.json:
        say(_as_json(found))
    else:
        found = _say_all(found, mends=chosen.fix)
    return 1 if found.problems else 0


def _say_all(found: Findings, *, mends: bool) -> Findings:
    """Print the findings, mend them if asked to, and return what is still wrong."""
    for line in found.lines:
        say(line)
    if mends and found.problems:
        place.require_person("mends settings")
        _mend(found.problems)
        found = look()
        say()
        say("after mending:")
    say("" if found.problems else "nothing is wrong")
    for problem in found.problems:
        say(f"! {problem.what}" + (f"\n  {problem.remedy}" if problem.remedy else ""))
    return found


def _as_json(found: Findings) -> str:
    problems = [{"problem": problem.what, "remedy": problem.remedy} for problem in found.problems]
    return json.dumps({"findings": [line.strip() for line in found.lines], "problems": problems})


def look() -> Findings:
    """All there is to see; changes nothing."""
    found = Findings()
    _home(found)
    _server(found)
    _data(found)
    told = place.ask("hooks")
    fired = {(one["tool"], one["event"]): one for one in (told or {}).get("hooks", [])}
    for tool in entries.TOOLS:
        _tool(tool, fired, found)
    _log(found)
    return found


def _home(found: Findings) -> None:
    exposed = private_home.find_exposed(place.home())
    for what, remedy in home_health.describe(exposed):
        found.problems.append(Problem(what, remedy, opens_home=True))


def _server(found: Findings) -> None:
    found.lines.append(f"maestro   {__version__}, {entries.this_program().program}")
    status = place.ask("status")
    silent = server_locks.server_pid(place.home()) if status is None else None
    if silent is not None:
        found.lines.append(f"server    pid {silent}, does not answer; data in {place.home()}")
        found.problems.append(Problem(f"the server (pid {silent}) does not answer", "maestro down; maestro up"))
        return
    if status is None:
        found.lines.append(f"server    does not run; data in {place.home()}")
        remedy = "maestro up; hooks do not start one, agents go on without Maestro meanwhile"
        found.problems.append(Problem("no server runs", remedy, starts_server=True))
        return
    found.lines.append(
        f"server    {status['version']}, pid {status['pid']}, {status['url']}, data in {status['home']}"
    )
    if status["version"] != __version__:
        found.problems.append(Problem(f"the server is {status['version']}, this is {__version__}", "maestro down"))


def _data(found: Findings) -> None:
    lines, problems = data_health.describe()
    found.lines += lines
    found.problems += [Problem(what, data_health.REMEDY) for what in problems]


def _tool(tool: str, fired: dict[tuple[str, str], Any], found: Findings) -> None:
    program = programs.find(tool)
    if program is None:
        found.lines.append(f"{tool:<9} is not found")
        connected = list(_connections(tool))
        if connected:
            found.problems.append(Problem(f"{tool} is connected, but not found in PATH"))
        return
    tried = "" if program.version == programs.TRIED[tool] else f" (tried with {programs.TRIED[tool]})"
    found.lines.append(f"{tool:<9} {program.version or 'of an unknown version'}{tried}, {program.path}")
    found.lines.append(f"          can: {programs.ABILITIES[tool]}")
    connected = list(_connections(tool))
    if not connected:
        found.lines.append(f"          not connected: maestro connect {tool}")
        return
    for scope, targets in connected:
        _connection(tool, scope, targets, found)
    if tool == "codex":
        _review(program.path, found)
    found.lines.extend(f"          {line}" for line in _fired(tool, fired, found))


def _connections(tool: str) -> Iterator[tuple[Scope, list[Target]]]:
    """The scopes in which anything of ours stands, or stood."""
    records = Records(place.home())
    for scope in Scope:
        targets = entries.targets(tool, scope, entries.this_program(), directory=place.project())
        if any(records.get(one.path) is not None or _events(one) for one in targets):
            yield scope, targets


def _events(target: Target) -> set[str]:
    try:
        return merging.present(target, files.read(target.path).text)[0]
    except LeftAlone:
        return set()


def _connection(tool: str, scope: Scope, targets: list[Target], found: Findings) -> None:
    """Whether what should stand there does."""
    remedy = f"maestro connect {tool}" + ("" if scope is Scope.USER else f" --scope {scope.value}")
    broken: list[str] = []
    events: set[str] = set()
    for target in targets:
        try:
            text = files.read(target.path).text
            there, mcp = merging.present(target, text)
        except LeftAlone as reason:
            broken.append(f"{target.path}: {reason}")
            continue
        events |= there
        if missing := target.hooks.keys() - there:
            broken.append(f"{target.path} lacks {len(missing)} of {len(target.hooks)} hooks")
        if target.mcp is not None and mcp is None:
            broken.append(f"{target.path} lacks the MCP server")
        broken += [f"{target.path}: {gone} is not there" for gone in _gone(target, text, mcp)]
    found.lines.append(f"          connected ({scope.value}): {len(events)} hooks")
    found.problems += [Problem(f"{tool}: {one}", remedy, tool, scope) for one in broken]


def _gone(target: Target, text: str, mcp: Any) -> list[str]:
    """Programs that the settings name and that are not there any more."""
    named = {_program(one) for one in merging.commands(text)} if target.hooks else set()
    if isinstance(mcp, dict) and isinstance(mcp.get("command"), str):
        named.add(mcp["command"])
    return sorted(one for one in named if one.startswith("/") and not Path(one).exists())


def _program(command: str) -> str:
    words = shlex.split(command)
    return next((word for word in words if "=" not in word), "")


def _review(program: str, found: Findings) -> None:
    reviewed = trust.ask(program, place.project())
    waiting = [one.event for one in reviewed or () if not one.is_trusted]
    if waiting:
        what = f"codex: {len(waiting)} hooks are not reviewed, so it does not run them"
        found.problems.append(Problem(what, "start codex and review them, or: maestro connect codex --trust"))


def _fired(tool: str, fired: dict[tuple[str, str], Any], found: Findings) -> Iterator[str]:
    """When the hooks fired, the newest first."""
    known_here = {event: fired.get((tool, event)) for event in known.DIALECTS[tool].events}
    times = {event: _time(one["fired_at"]) for event, one in known_here.items() if one and one["fired_at"]}
    newest = sorted(times, key=lambda event: times[event], reverse=True)
    told = [f"{event} {_ago(time.time() - times[event])}" for event in newest[:_EVENTS_SHOWN]]
    yield f"fired: {', '.join(told) or 'nothing yet'}"
    never = [event for event in known_here if event not in times]
    if told and never:
        yield f"never fired: {', '.join(never)}"
    for event, one in known_here.items():
        if one and one["problem"] and time.time() - _time(one["problem_at"]) < _RECENT_SECONDS:
            when = _ago(time.time() - _time(one["problem_at"]))
            found.lines.append(f"          {event}, {when}: {one['problem']}")


def _log(found: Findings) -> None:
    """What the command itself could not do: there was no server to tell."""
    try:
        lines = (place.home() / _LOG).read_text(errors="replace").splitlines()
    except OSError:
        return
    recent = [parts for line in lines if len(parts := line.split("\t")) == 3 and _is_recent(parts[0])]
    if recent:
        at, what, why = recent[-1]
        many = "1 hook was" if len(recent) == 1 else f"{len(recent)} hooks were"
        told = f"{many} not answered in the last day; the last: {what}, {_ago(time.time() - int(at))}: {why}"
        found.problems.append(Problem(told, "agents went on without; --fix forgets these", clears_log=True))


def _mend(problems: list[Problem]) -> None:
    if any(one.opens_home for one in problems):
        home_health.mend(place.home())
    if any(one.starts_server for one in problems) and place.start_server():
        say("started the server")
    for tool, scope in dict.fromkeys((one.tool, one.scope) for one in problems if one.scope is not None):
        if scope is not None:
            Connecting(tool, scope).run(trusts=False)
    if any(one.clears_log for one in problems):
        Path(thin.home(), _LOG).unlink(missing_ok=True)


def _is_recent(at: str) -> bool:
    return at.isdecimal() and time.time() - int(at) < _RECENT_SECONDS


def _time(said: str) -> float:
    return datetime.fromisoformat(said).astimezone(UTC).timestamp()


def _ago(seconds: float) -> str:
    if seconds < 90:
        return f"{max(0, seconds):.0f} s ago"
    return f"{seconds / 60:.0f} min ago" if seconds < 5400 else f"{seconds / 3600:.0f} h ago"
