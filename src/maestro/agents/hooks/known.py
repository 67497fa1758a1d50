"""Every program whose hooks are understood, by name."""

from __future__ import annotations

from maestro.agents.hooks.base import Dialect
from maestro.agents.hooks.claude import Claude
from maestro.agents.hooks.codex import Codex
from maestro.agents.hooks.gemini import Gemini

DIALECTS: dict[str, Dialect] = {dialect.tool: dialect for dialect in (Claude(), Codex(), Gemini())}
