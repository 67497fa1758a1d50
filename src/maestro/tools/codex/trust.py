"""Folders that Codex trusts in a session. Flags on the command line replace entries in the user's settings."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from maestro.system.small_files import read_small

_POINTER_PREFIX = "gitdir:"


def trust_flags(folder: Path, directory: str, environment: Mapping[str, str], *, may_write: bool) -> list[str]:
    """Return the flags that trust the session's folder, which holds its hooks, and the working directory.

    Codex trusts a working directory with write access anyway, and stores the trust in the user's settings. The flag
    avoids the entry. A directory that the user has decided about gets no flag."""
    trusted = [str(folder)]
    if may_write and not _is_user_projects(directory, _user_projects(environment)):
        trusted.append(directory)
    entries = ",".join(f'{json.dumps(path, ensure_ascii=False)}={{trust_level="trusted"}}' for path in trusted)
    return ["-c", f"projects={{{entries}}}"]


def _user_projects(environment: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the projects in the user's Codex settings."""
    home = environment.get("CODEX_HOME") or str(Path(environment.get("HOME") or "~").expanduser() / ".codex")
    try:
        settings = tomllib.loads((Path(home) / "config.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # no settings, or broken settings, which Codex reports itself
    projects = settings.get("projects")
    return projects if isinstance(projects, dict) else {}


def _is_user_projects(directory: str, decided: Mapping[str, Any]) -> bool:
    return any(str(path) in decided for path in _decision_paths(Path(directory)))


def _decision_paths(directory: Path) -> Iterator[Path]:
    """Yield the paths under which Codex stores a decision about a folder: itself and the top of its repository."""
    yield directory
    top = next((path for path in (directory, *directory.parents) if (path / ".git").exists()), None)
    if top is None:
        return
    yield top
    pointer = os.fsdecode(read_small(str(top / ".git")) or b"")  # a file in a worktree; a folder in a main checkout
    if pointer.startswith(_POINTER_PREFIX):
        yield from Path(pointer.removeprefix(_POINTER_PREFIX).strip()).parents[2:3]  # REPOSITORY/.git/worktrees/NAME
