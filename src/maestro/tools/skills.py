"""Skills for programs that take them as files: one folder in the session's own, with a link to each.

It is a folder of skills, and with its parent a plugin of Claude Code. So nothing is written where the user's own are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

_PLUGIN, _SKILLS = "skills-plugin", "skills"
_ABOUT = {"name": "maestro", "description": "The skills that this session was given.", "version": "1.0.0"}


def as_plugin(skills: Sequence[str], folder: str) -> list[str]:
    """The words with which Claude Code gets them."""
    if not skills:
        return []
    root = _gathered(skills, folder).parent
    (root / ".claude-plugin").mkdir(exist_ok=True)
    (root / ".claude-plugin" / "plugin.json").write_text(json.dumps(_ABOUT), encoding="utf-8")
    return ["--plugin-dir", str(root)]


def as_roots(skills: Sequence[str], folder: str) -> list[str]:
    """The folders in which Codex is to look for more."""
    return [str(_gathered(skills, folder))] if skills else []


def _gathered(skills: Sequence[str], folder: str) -> Path:
    place = Path(folder) / _PLUGIN / _SKILLS
    place.mkdir(parents=True, exist_ok=True)
    for link in place.iterdir():  # of an earlier start
        link.unlink()
    for skill in skills:
        (place / Path(skill).name).symlink_to(skill, target_is_directory=True)
    return place
