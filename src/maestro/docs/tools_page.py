"""Write the reference page about tools from their descriptors."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from maestro.tools.base import Abilities
from maestro.tools.connect_support import MaestroCommand, SettingsScope
from maestro.tools.descriptor import ToolDescriptor
from maestro.tools.registry import TOOLS

_ABILITIES = {
    "prompt_while_busy": "takes a prompt during a turn",
    "prompt_when_idle": "a prompt starts a turn of an idle program",
    "asks_permission": "asks Maestro for permissions",
    "reports_usage": "reports usage",
    "resumes": "continues an earlier conversation",
    "loads_skills": "loads skills from files",
    "confirms_prompts": "confirms that the model has read a prompt",
    "exit_means_done": "exit code 0 completes the tasks",
}


def tools_page(note: str) -> str:
    """Return the page with the facts about each tool. `note` says that the page is generated."""
    tools = list(TOOLS.values())
    lines = ["# Tools", "", note, f"| | {' | '.join(f'`{tool.name}`' for tool in tools)} |"]
    lines.append(f"|---|{'---|' * len(tools)}")
    for title, cells in _rows(tools):
        lines.append(f"| {title} | {' | '.join(cell or '–' for cell in cells)} |")
    return "\n".join(lines) + "\n"


def _rows(tools: list[ToolDescriptor]) -> Iterable[tuple[str, list[str]]]:
    yield "program", [tool.title for tool in tools]
    yield "tested version", [tool.connect.tested_version if tool.connect else "" for tool in tools]
    yield "aliases", [_code(tool.aliases) for tool in tools]
    yield "drivers, each with its state reporter", [_drivers(tool.abilities) for tool in tools]
    for name, title in _ABILITIES.items():
        yield title, ["yes" if getattr(tool.abilities, name) else "no" for tool in tools]
    yield "calls Maestro by", [tool.abilities.reach.value for tool in tools]
    yield "longest wait of an MCP call", [_seconds(tool.mcp_wait_seconds) for tool in tools]
    yield "models of the tiers", [_models(tool) for tool in tools]
    yield "permission levels", [_permissions(tool) for tool in tools]
    yield "settings files of the user", [_settings(tool, SettingsScope.USER) for tool in tools]
    yield "settings files of a project", [_settings(tool, SettingsScope.PROJECT) for tool in tools]
    yield "hook events", [_code(tool.hooks.events) if tool.hooks else "" for tool in tools]
    yield "variables that mark the commands of the program", [_code(tool.environment.agent_marks) for tool in tools]
    yield "variables that a new program does not inherit", [_prefixes(tool) for tool in tools]
    yield "exceptions, which a new program inherits", [_code(tool.environment.kept_variables) for tool in tools]


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _drivers(abilities: Abilities) -> str:
    return ", ".join(f"`{driver.value}`: {state.value}" for driver, state in abilities.drivers.items())


def _seconds(seconds: int | None) -> str:
    return f"{seconds} s" if seconds else ""


def _models(tool: ToolDescriptor) -> str:
    return ", ".join(f"{tier}: `{model}`" for tier, model in tool.levels.models.items()) if tool.levels else ""


def _permissions(tool: ToolDescriptor) -> str:
    if tool.levels is None:
        return ""
    return ", ".join(
        f"{level.value}: `{' '.join(arguments)}`" for level, arguments in tool.levels.permissions.items()
    )


def _settings(tool: ToolDescriptor, scope: SettingsScope) -> str:
    """Return the paths of the settings files: of the user below `~`, of a project relative to its directory."""
    if tool.connect is None:
        return ""
    home, directory = Path("/person"), Path("/project")
    top, prefix = (home, "~/") if scope is SettingsScope.USER else (directory, "")
    targets = tool.connect.settings_targets(scope, MaestroCommand("maestro"), directory, {"HOME": str(home)})
    return _code(prefix + target.path.relative_to(top).as_posix() for target in targets)


def _prefixes(tool: ToolDescriptor) -> str:
    return _code(f"{prefix}*" for prefix in tool.environment.dropped_prefixes)
