"""Waiting on tasks without polling: listen first, look second, and look again only when told."""

from __future__ import annotations

import asyncio

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.sight import redact_tasks
from maestro.domain.tasks import FINAL, Status, Task
from maestro.events.hub import Hub, Subscription
from maestro.operations import task_shapes as ops
from maestro.services.scope import task_of
from maestro.services.sessions.kin import own_end, require_live
from maestro.services.sessions.presence import Presence
from maestro.store.base import Store, Tx

_PAST_READY = (Status.IN_PROGRESS, Status.IN_REVIEW, Status.COMPLETED)


class TaskWaits:
    """Blocks until tasks are where a caller wants them."""

    def __init__(self, store: Store, hub: Hub, presence: Presence) -> None:
        self._store = store
        self._hub = hub
        self._presence = presence

    async def wait(self, caller: Caller, request: ops.WaitTasks) -> ops.WaitedTasks:
        """Ends at once when all is reached, or when some task can no longer reach it."""

        def look(tx: Tx) -> list[Task]:
            require_live(tx, caller)
            return [task_of(tx, caller, ref, project=request.project) for ref in request.ids]

        now = await self._store.read(look, quick=True)
        with (
            self._hub.subscribe([*own_end(caller), *(task.id for task in now)]) as subscription,
            self._presence.attached(caller.session_id),
        ):
            try:
                async with asyncio.timeout(request.timeout / 1000):
                    now = await self._store.read(look, quick=True)
                    while (reached := _reached(request.until, now, heard=_heard(subscription, now))) is None:
                        await subscription.wait()
                        now = await self._store.read(look, quick=True)
            except TimeoutError:
                raise _timed_out(request, now) from None
        return ops.WaitedTasks(tasks=redact_tasks(caller, now), reached=reached)


def _heard(subscription: Subscription, tasks: list[Task]) -> bool:
    """Whether anything came that is about one of the tasks."""
    about = {task.id for task in tasks}
    lagging = subscription.lagging
    return any(event.subject in about for event in subscription.take()) or lagging


def _reached(until: ops.Until, now: list[Task], *, heard: bool) -> bool | None:
    """True: all are where they should be. False: one never will be. None: wait on."""
    if until is ops.Until.ANY_CHANGE:
        return True if heard else None
    done = [_one_reached(until, task) for task in now]
    if False in done:
        return False
    return True if all(done) else None


def _one_reached(until: ops.Until, task: Task) -> bool | None:
    if until is ops.Until.READY and (task.ready or task.status in _PAST_READY):
        return True
    if until is ops.Until.COMPLETED and task.status is Status.COMPLETED:
        return True
    return False if task.status in FINAL else None


def _timed_out(request: ops.WaitTasks, now: list[Task]) -> errors.TimedOut:
    states = ", ".join(f"{task.ref} is {task.status}" for task in now)
    return errors.TimedOut(
        f"Not {request.until} within {request.timeout / 1000:g} s: {states}.",
        data={"tasks": [{"id": task.id, "ref": task.ref, "status": task.status} for task in now]},
    )
