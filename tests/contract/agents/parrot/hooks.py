"""The hook dialect of the parrot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from maestro.tools.hook_dialect import HookDialect, HookEvent, HookMoment, HookPayload

_MOMENTS = {
    "Wakes": HookMoment.STARTS,
    "Listens": HookMoment.PROMPT,
    "Flies": HookMoment.BEFORE_TOOL,
    "Lands": HookMoment.AFTER_TOOL,
    "Begs": HookMoment.ASKS,
    "Sleeps": HookMoment.STOP,
    "Dies": HookMoment.ENDS,
}


class ParrotPayload(HookPayload, frozen=True):
    """The payload of the parrot's hooks."""

    feather: str = ""


class ParrotHooks(HookDialect):
    tool = "parrot"
    payload_type = ParrotPayload
    events: Mapping[str, int] = dict.fromkeys(_MOMENTS, 10)
    permission_event = "Begs"
    events_of_protocol = frozenset({"Begs", "Dies"})

    def own_folder(self, environment: Mapping[str, str]) -> str:
        return environment.get("PARROT_HOME") or str(Path(environment.get("HOME") or "~").expanduser() / ".parrot")

    def read_event(self, event: str, payload: HookPayload) -> HookEvent | None:
        moment = _MOMENTS.get(event)
        if moment is None or not isinstance(payload, ParrotPayload):
            return None
        return HookEvent(tool=self.tool, event=event, moment=moment, directory=payload.cwd, summary=payload.feather)


DIALECT = ParrotHooks()
