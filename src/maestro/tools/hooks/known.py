"""All hook dialects by the name of the tool."""

from __future__ import annotations

from maestro.tools.hooks.base import Dialect
from maestro.tools.hooks.claude import Claude
from maestro.tools.hooks.codex import Codex
from maestro.tools.hooks.gemini import Gemini

DIALECTS: dict[str, Dialect] = {dialect.tool: dialect for dialect in (Claude(), Codex(), Gemini())}
