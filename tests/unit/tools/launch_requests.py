"""Helpers: requests for the launch of a tool's program, and a reader of its arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from maestro.tools import registry
from maestro.tools.base import LaunchRequest

ENVIRONMENT = {
    "PATH": "/bin",
    "HOME": "/home/dana",
    "MAESTRO_TOKEN": "mst_1",
    "MAESTRO_SERVER_URL": "http://127.0.0.1:1",
}


def launch_request(tool: str, folder: Path, **fields: Any) -> LaunchRequest:
    """Return the request for a worker in /work, with private files in `folder`."""
    values: dict[str, Any] = {
        "session_id": "ses_0123456789abcdef",
        "system_prompt": "You are a worker.",
        "task_prompt": "Write the parser.",
        "directory": "/work",
        "levels": registry.read_levels(tool, None),
        "folder": str(folder),
        "mcp_command": ["/opt/maestro", "mcp"],
        "hook_command": ["/opt/maestro", "hook"],
    }
    return LaunchRequest(**{**values, **fields})


def value_after(arguments: list[str], flag: str) -> str:
    """Return the argument after a flag."""
    return arguments[arguments.index(flag) + 1]
