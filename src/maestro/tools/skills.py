"""Skills for programs that load them from files: a folder inside the session's folder, with a link to each skill.

The user's folders stay unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

_PARENT, _SKILLS = "skills-plugin", "skills"


def link_skills(skills: Sequence[str], folder: str) -> Path:
    """Link the skills into a folder below the session's folder, and return the new folder."""
    skills_folder = Path(folder) / _PARENT / _SKILLS
    skills_folder.mkdir(parents=True, exist_ok=True)
    for link in skills_folder.iterdir():  # links of an earlier start
        link.unlink()
    for skill in skills:
        (skills_folder / Path(skill).name).symlink_to(skill, target_is_directory=True)
    return skills_folder
