"""The server's connection to the runners of programs."""

from __future__ import annotations

from maestro.server.base import ServerBase
from maestro.server.part import Part
from maestro.services.runners.runners import Runners


class RunnerPart(Part, frozen=True, kw_only=True):
    """The runners of this server."""

    runners: Runners


def build_runners(base: ServerBase) -> RunnerPart:
    runners = Runners(base.home)
    return RunnerPart(runners=runners, close=(runners.close,))
