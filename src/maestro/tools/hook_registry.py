"""All hook dialects by the name of the tool."""

from __future__ import annotations

from maestro.tools.claude.hooks import ClaudeHooks
from maestro.tools.codex.hooks import CodexHooks
from maestro.tools.gemini.hooks import GeminiHooks
from maestro.tools.hook_dialect import HookDialect

DIALECTS: dict[str, HookDialect] = {dialect.tool: dialect for dialect in (ClaudeHooks(), CodexHooks(), GeminiHooks())}
