"""Which agent programs there are on this machine, and of which version."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

_PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
}
# What everything was tried with, and what hooks and tools can do there.
TRIED = {"claude": "2.1.325", "codex": "0.166.0", "gemini": "0.61.0"}
ABILITIES = {
    "claude": "mail between tool calls; critical mail stops the next one; permission requests are shown",
    "codex": "mail between tool calls; critical mail stops the next one; permission requests are shown; "
    "runs no hook that you have not reviewed",
    "gemini": "mail between tool calls; critical mail stops the next one; permission requests are shown; "
    "does not tell when it has compressed its context by itself",
}
_VERSION_SECONDS_MAX = 20


@dataclass(frozen=True)
class Program:
    """One of them, as it is installed."""

    path: str
    version: str


def find(tool: str) -> Program | None:
    path = shutil.which(tool)
    if path is None:
        return None
    return Program(path, _installed(tool, path) or _asked(path))


def _installed(tool: str, path: str) -> str:
    """What its package says: starting it to ask may take seconds."""
    for folder in Path(os.path.realpath(path)).parents:
        try:
            package = json.loads((folder / "package.json").read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(package, dict) and package.get("name") == _PACKAGES[tool]:
            return str(package.get("version", ""))
    return ""


def _asked(path: str) -> str:
    try:
        said = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_VERSION_SECONDS_MAX,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"\d+\.\d+[\w.-]*", said)
    return found[0] if found else ""
