"""Provide sessions that Maestro has spawned, without their programs."""

from __future__ import annotations

from typing import Any

from tests.unit.services.conftest import World

from maestro.domain import manifests
from maestro.domain.callers import Caller
from maestro.domain.manifests import Manifest
from maestro.domain.members import Permission
from maestro.domain.spawns import Spawn
from maestro.store.base import Tx
from maestro.testing.manifests import make_manifest


async def add_spawn(world: World, caller: Caller, *, manifest: Manifest | None = None, **fields: Any) -> None:
    """Store the spawn of a registered session, by default with a plain command as its program."""

    def insert(tx: Tx) -> None:
        values: dict[str, Any] = {
            "session_id": caller.name,
            "tool": "command",
            "arguments": ["true"],
            "model": None,
            "permission": Permission.EDIT,
            "strategy": "simple",
            "template": "execute-simple",
            "directory": "/src/dave/vc",
            "run_id": None,
            "runner_pid": None,
            "runner_started": None,
            "exit_code": None,
            "exit_signal": None,
            "tail": None,
            "created_at": tx.at,
            "ended_at": None,
        }
        tx.spawns.insert(Spawn(**(values | fields)), manifest=manifests.encode_manifest(manifest or make_manifest()))

    await world.store.write(insert)
