"""The hook dialect of Codex, tested with 0.166.0. Codex silently skips hooks that the person has not reviewed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maestro.tools.hooks.base import Beginning, Happening, Moment, Payload, Recorded, Reply, call, details, wanted
from maestro.tools.hooks.claude import spell

_BEGINNINGS = {"resume": Beginning.RESUMED, "clear": Beginning.CLEARED, "compact": Beginning.COMPACTED}
_MOMENTS = {
    "SessionStart": Moment.STARTS,
    "UserPromptSubmit": Moment.PROMPT,
    "PreToolUse": Moment.BEFORE_TOOL,
    "PostToolUse": Moment.AFTER_TOOL,
    "Stop": Moment.STOP,
    "PermissionRequest": Moment.ASKS,
    "PostCompact": Moment.COMPACTS,
    "SessionEnd": Moment.ENDS,
}
_NOT_FINAL = frozenset({"clear", "resume"})
_END_SECONDS = 3  # Codex waits no longer for SessionEnd, and rejects a larger value


class Codex:
    tool = "codex"
    events: Mapping[str, int] = dict.fromkeys(_MOMENTS, 10) | {"SessionEnd": _END_SECONDS}
    asks = "PermissionRequest"

    def own_folder(self, environment: Mapping[str, str]) -> str:
        default = Path(environment.get("HOME") or "~").expanduser() / ".codex"
        return environment.get("CODEX_HOME") or str(default)

    def read(self, event: str, payload: Payload) -> Happening | None:
        moment = _MOMENTS.get(event)
        if moment is None:
            return None
        return Happening(
            tool=self.tool,
            event=event,
            moment=moment,
            directory=payload.cwd,
            is_aside=bool(payload.agent_id),
            beginning=_BEGINNINGS.get(payload.source, Beginning.NEW),
            asked=wanted(payload),
            details=details(payload) if moment is Moment.ASKS else "",
            call=call(payload) if moment is Moment.ASKS else "",
            is_final=payload.reason not in _NOT_FINAL,
        )

    def recorded(self, kept: bytes) -> Recorded:
        return Recorded()

    def spell(self, event: str, reply: Reply) -> dict[str, Any] | None:
        return spell(event, reply)
