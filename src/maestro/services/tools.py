"""The published side of what `agents/` knows."""

from __future__ import annotations

import msgspec

from maestro.agents import known
from maestro.domain.callers import Caller
from maestro.operations import tools as ops
from maestro.store.base import Tx


def list_all(tx: Tx, caller: Caller, request: ops.ListTools) -> ops.ToolList:
    return ops.ToolList(
        tools=[
            ops.ToolInfo(name=one.name, aliases=list(one.aliases), **msgspec.structs.asdict(one.abilities))
            for one in known.TOOLS.values()
        ]
    )
