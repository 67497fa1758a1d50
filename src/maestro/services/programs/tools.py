"""The published side of what `agents/` knows."""

from __future__ import annotations

from typing import Any

import msgspec

from maestro.domain.callers import Caller
from maestro.operations import tools as ops
from maestro.store.base import Tx
from maestro.tools import registry
from maestro.tools.base import Agent


def _abilities(agent: Agent) -> dict[str, Any]:
    able = agent.abilities
    return msgspec.structs.asdict(able) | {"drivers": list(able.drivers), "deaf_at_work": list(able.deaf_at_work)}


def list_all(tx: Tx, caller: Caller, request: ops.ListTools) -> ops.ToolList:
    return ops.ToolList(
        tools=[
            ops.ToolInfo(name=one.name, aliases=list(one.aliases), **_abilities(one))
            for one in registry.TOOLS.values()
        ]
    )
