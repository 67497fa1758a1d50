"""Codex's hooks, tried with 0.166.0. It skips those that its person has not reviewed, and says nothing of it."""

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
_STAYS = frozenset({"clear", "resume"})
_LAST_SECONDS = 3  # it waits no longer for the last one, and complains if told otherwise


class Codex:
    tool = "codex"
    events: Mapping[str, int] = dict.fromkeys(_MOMENTS, 10) | {"SessionEnd": _LAST_SECONDS}
    asks = "PermissionRequest"

    def own_folder(self, environment: Mapping[str, str]) -> str:
        usual = Path(environment.get("HOME") or "~").expanduser() / ".codex"
        return environment.get("CODEX_HOME") or str(usual)

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
            is_final=payload.reason not in _STAYS,
        )

    def recorded(self, kept: bytes) -> Recorded:
        return Recorded()

    def spell(self, event: str, reply: Reply) -> dict[str, Any] | None:
        return spell(event, reply)
