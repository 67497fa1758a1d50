"""The skills of a session as a plugin of Claude Code."""

from __future__ import annotations

import json
from collections.abc import Sequence

from maestro.tools.skills import link_skills

_MANIFEST = {"name": "maestro", "description": "The skills that this session was given.", "version": "1.0.0"}


def plugin_arguments(skills: Sequence[str], folder: str) -> list[str]:
    """Return the arguments that give the skills to Claude Code. The parent of the linked skills is the plugin."""
    if not skills:
        return []
    root = link_skills(skills, folder).parent
    (root / ".claude-plugin").mkdir(exist_ok=True)
    (root / ".claude-plugin" / "plugin.json").write_text(json.dumps(_MANIFEST), encoding="utf-8")
    return ["--plugin-dir", str(root)]
