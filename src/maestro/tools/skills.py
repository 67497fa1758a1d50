"""Skills for programs that load them from files: a folder inside the session's folder, with a link to each skill.

The folder is a folder of skills; together with its parent it is a plugin of Claude Code. The user's
folders stay unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

_PLUGIN, _SKILLS = "skills-plugin", "skills"
_PLUGIN_MANIFEST = {"name": "maestro", "description": "The skills that this session was given.", "version": "1.0.0"}


def plugin_arguments(skills: Sequence[str], folder: str) -> list[str]:
    """Return the arguments that give the skills to Claude Code."""
    if not skills:
        return []
    root = _link_skills(skills, folder).parent
    (root / ".claude-plugin").mkdir(exist_ok=True)
    (root / ".claude-plugin" / "plugin.json").write_text(json.dumps(_PLUGIN_MANIFEST), encoding="utf-8")
    return ["--plugin-dir", str(root)]


def skill_folders(skills: Sequence[str], folder: str) -> list[str]:
    """Return the folders in which Codex looks for more skills."""
    return [str(_link_skills(skills, folder))] if skills else []


def _link_skills(skills: Sequence[str], folder: str) -> Path:
    skills_folder = Path(folder) / _PLUGIN / _SKILLS
    skills_folder.mkdir(parents=True, exist_ok=True)
    for link in skills_folder.iterdir():  # links of an earlier start
        link.unlink()
    for skill in skills:
        (skills_folder / Path(skill).name).symlink_to(skill, target_is_directory=True)
    return skills_folder
