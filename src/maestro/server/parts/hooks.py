"""Hook events of agent programs: answers, recorded firings, and hooks that fired while no server ran."""

from __future__ import annotations

from maestro.domain.events import EventKind
from maestro.operations import hooks as hook_ops
from maestro.server.base import ServerBase
from maestro.server.dispatch import Binding
from maestro.server.part import Part, PartJob, Reaction
from maestro.server.parts.quotas import QuotaPart
from maestro.server.parts.runners import RunnerPart
from maestro.services.hooks.firings import HookFirings
from maestro.services.hooks.handler import HookHandler
from maestro.services.hooks.late_hooks_job import LateHookJob
from maestro.services.hooks.permission_hold import PermissionHolds
from maestro.services.hooks.self_wait import SelfWaits
from maestro.services.hooks.window_ask_job import WindowAskJob


class HookPart(Part, frozen=True, kw_only=True):
    """The services for hook events."""

    handler: HookHandler
    firings: HookFirings
    late_hooks: LateHookJob
    window_asks: WindowAskJob


def build_hooks(base: ServerBase, quotas: QuotaPart, runners: RunnerPart) -> HookPart:
    holds = PermissionHolds(base.store, base.hub, may_ask=quotas.quotas.count_ask)
    handler = HookHandler(base.store, holds, SelfWaits(runners.runners))
    firings = HookFirings(base.store, base.clock)
    late_hooks = LateHookJob(base.store, handler, base.home, clock=base.clock)
    window_asks = WindowAskJob(base.store)
    session_is_over = (EventKind.SESSION_ENDED, EventKind.SESSION_LOST, EventKind.SESSION_RESUMED)
    return HookPart(
        handler=handler,
        firings=firings,
        late_hooks=late_hooks,
        window_asks=window_asks,
        bindings={hook_ops.LIST.name: Binding(firings.list_all)},
        jobs=(PartJob(late_hooks), PartJob(window_asks, runs_after=(EventKind.ASK_OPENED,))),
        reactions=(
            Reaction(session_is_over, handler.forget_session),
            Reaction((EventKind.SESSION_TURN_ENDED,), handler.handle_turn_end),
        ),
        close=(firings.close,),
    )
