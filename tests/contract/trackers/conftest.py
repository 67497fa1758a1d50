"""Fixtures of tracker tests: the built-in tracker, each version of the stand-in of Beads, and an installed `bd`."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from maestro.domain.callers import Caller
from maestro.operations.base import Operation
from maestro.server.app import Server
from maestro.testing.beads import REAL, BeadsUser, generations, put_on_path
from maestro.trackers.base import Tracker
from maestro.trackers.beads.program import BeadsProgram
from maestro.trackers.beads.tracker import BeadsTracker
from maestro.trackers.builtin import BuiltinTracker

STANDIN = Path(__file__).parents[2] / "standins" / "bd.py"


def beads_tracker(generation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BeadsTracker:
    is_real = generation == REAL
    if not is_real:
        program = put_on_path(tmp_path / "bin", STANDIN)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("STANDIN_BD", generation)
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    BeadsUser(checkout).init(is_real=is_real)
    return BeadsTracker(BeadsProgram(str(checkout), program="bd", seconds_max=60))


@pytest.fixture(params=["builtin", *generations()])
async def tracker(
    request: pytest.FixtureRequest, server: Server, vc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Tracker:
    if request.param == "builtin":
        return BuiltinTracker(operation_caller(server), "vc")
    beads = beads_tracker(request.param, tmp_path, monkeypatch)
    await beads.read_version()
    return beads


def operation_caller(server: Server) -> Callable[[Operation, msgspec.Struct, Caller, str], Awaitable[Any]]:
    async def call(operation: Operation, request: msgspec.Struct, caller: Caller, key: str) -> Any:
        return await server.call(operation, request, caller=caller, key=key)

    return call
