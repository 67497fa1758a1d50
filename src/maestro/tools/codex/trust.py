"""Which folders codex trusts in one session: what it would write into the user's settings is in its command line."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from maestro.system.small_files import read_small

_POINTS = "gitdir:"


def flags(folder: Path, directory: str, environment: Mapping[str, str], *, writes: bool) -> list[str]:
    """The session's own folder, for its hooks are there. And where it works: if it may write there, codex trusts it
    and notes that for good; so it is told already, unless the user has decided."""
    trusted = [str(folder)]
    if writes and not _is_decided(directory, _decided(environment)):
        trusted.append(directory)
    entries = ",".join(f'{json.dumps(one, ensure_ascii=False)}={{trust_level="trusted"}}' for one in trusted)
    return ["-c", f"projects={{{entries}}}"]


def _decided(environment: Mapping[str, str]) -> Mapping[str, Any]:
    """What the user's own settings say."""
    home = environment.get("CODEX_HOME") or str(Path(environment.get("HOME") or "~").expanduser() / ".codex")
    try:
        told = tomllib.loads((Path(home) / "config.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # it has none, or codex says itself what is wrong with it
    found = told.get("projects")
    return found if isinstance(found, dict) else {}


def _is_decided(directory: str, decided: Mapping[str, Any]) -> bool:
    return any(str(place) in decided for place in _places(Path(directory)))


def _places(directory: Path) -> Iterator[Path]:
    """What a decision about a folder is kept under: itself, or the top of its repository."""
    yield directory
    top = next((place for place in (directory, *directory.parents) if (place / ".git").exists()), None)
    if top is None:
        return
    yield top
    pointer = os.fsdecode(read_small(str(top / ".git")) or b"")  # of a worktree; in a repository it is a folder
    if pointer.startswith(_POINTS):
        yield from Path(pointer.removeprefix(_POINTS).strip()).parents[2:3]  # REPOSITORY/.git/worktrees/NAME
