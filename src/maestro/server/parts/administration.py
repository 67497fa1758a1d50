"""Operations on the server itself: its status, its stop, the person's settings."""

from __future__ import annotations

import os

import msgspec

from maestro import __version__
from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.operations import server as ops
from maestro.server import settings
from maestro.server.base import ServerBase
from maestro.server.dispatch import Binding
from maestro.server.part import Part
from maestro.store.base import Tx


def build_administration(base: ServerBase) -> Part:
    operations = ServerOperations(base)
    return Part(
        bindings={
            ops.STATUS.name: Binding(operations.read_status),
            ops.STOP.name: Binding(operations.request_stop),
            ops.CONFIG_GET.name: Binding(operations.read_settings),
            ops.CONFIG_SET.name: Binding(operations.change_setting),
        }
    )


class ServerOperations:
    """The operations on the server itself."""

    def __init__(self, base: ServerBase) -> None:
        self._base = base

    def read_status(self, tx: Tx, caller: Caller, request: ops.EmptyRequest) -> ops.ServerStatus:
        base = self._base
        return ops.ServerStatus(
            version=__version__,
            pid=os.getpid(),
            home=str(base.home),
            url=base.state.url,
            started_at=base.state.started_at,
            schema=base.store.schema,
            events=tx.events.last_seq(),
            sessions=tx.sessions.count_live(),
            runs=len(tx.runs.list_live(limit=limits.page_items_max)),
            problems=[problem.text for problem in base.health.problems],
        )

    async def request_stop(self, caller: Caller, request: ops.EmptyRequest) -> ops.StoppedServer:
        base = self._base
        live_sessions = await base.store.read(lambda tx: tx.sessions.count_live(), quick=True)
        base.state.stopping.set()
        home = os.fsencode(base.home).decode("utf-8", "ignore")
        is_utf8 = home == str(base.home)  # a path that is not UTF-8 cannot be sent
        return ops.StoppedServer(pid=os.getpid(), sessions=live_sessions, home=home if is_utf8 else "")

    async def read_settings(self, caller: Caller, request: ops.GetConfig) -> ops.ShownSettings:
        values = msgspec.structs.asdict(settings.load_settings(self._base.home))
        if request.name is not None:
            settings.require_known_setting(request.name)
            values = {request.name: values[request.name]}
        return ops.ShownSettings(settings=values)

    async def change_setting(self, caller: Caller, request: ops.SetConfig) -> ops.ShownSettings:
        changed = settings.change_setting(self._base.home, request.name, request.value)
        return ops.ShownSettings(settings={request.name: getattr(changed, request.name)}, counts_after_restart=True)
