"""Find the installed programs of the tools on this machine, and their versions."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from maestro.tools import registry

_VERSION_SECONDS_MAX = 20


@dataclass(frozen=True)
class InstalledProgram:
    """The installed program of a tool."""

    path: str
    version: str


def find_program(tool: str) -> InstalledProgram | None:
    path = shutil.which(registry.read_levels(tool, None).program)
    if path is None:
        return None
    return InstalledProgram(path, _packaged_version(tool, path) or _printed_version(path))


def _packaged_version(tool: str, path: str) -> str:
    """Return the version from the program's package: a start of the program may take seconds."""
    for folder in Path(os.path.realpath(path)).parents:
        try:
            package = json.loads((folder / "package.json").read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(package, dict) and package.get("name") == registry.CONNECTABLE[tool].package:
            return str(package.get("version", ""))
    return ""


def _printed_version(path: str) -> str:
    try:
        output = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_VERSION_SECONDS_MAX,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    version = re.search(r"\d+\.\d+[\w.-]*", output)
    return version[0] if version else ""
