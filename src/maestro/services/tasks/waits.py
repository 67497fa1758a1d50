"""Wait for tasks without polling: subscribe to events first, read the tasks second, and read again after an event."""

from __future__ import annotations

import asyncio

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.tasks import FINAL_STATUSES, Task, TaskStatus
from maestro.domain.visibility import redact_tasks
from maestro.events.hub import Hub, Subscription
from maestro.operations import task_shapes as ops
from maestro.services.access.scope import find_task
from maestro.services.access.session_relations import own_end_subjects, require_live_caller
from maestro.services.presence.tracker import PresenceTracker
from maestro.store.base import Store, Tx

_PAST_READY = (TaskStatus.IN_PROGRESS, TaskStatus.IN_REVIEW, TaskStatus.COMPLETED)


class TaskWaits:
    """Waits until tasks reach the state that a caller asks for."""

    def __init__(self, store: Store, hub: Hub, presence: PresenceTracker) -> None:
        self._store = store
        self._hub = hub
        self._presence = presence

    async def wait_for_tasks(self, caller: Caller, request: ops.WaitTasks) -> ops.WaitedTasks:
        """Return when all tasks have reached the state, or when a task can no longer reach it."""

        def read_tasks(tx: Tx) -> list[Task]:
            require_live_caller(tx, caller)
            return [find_task(tx, caller, ref, project=request.project) for ref in request.ids]

        now = await self._store.read(read_tasks, quick=True)
        with (
            self._hub.subscribe([*own_end_subjects(caller), *(task.id for task in now)]) as subscription,
            self._presence.keep_connected(caller.session_id),
        ):
            try:
                async with asyncio.timeout(request.timeout / 1000):
                    now = await self._store.read(read_tasks, quick=True)
                    while (
                        reached := _are_reached(request.until, now, has_events=_has_events(subscription, now))
                    ) is None:
                        await subscription.wait_for_event()
                        now = await self._store.read(read_tasks, quick=True)
            except TimeoutError:
                raise _timeout_error(request, now) from None
        return ops.WaitedTasks(tasks=redact_tasks(caller, now), reached=reached)


def _has_events(subscription: Subscription, tasks: list[Task]) -> bool:
    """Return whether an event about one of the tasks has come, or may have been missed."""
    task_ids = {task.id for task in tasks}
    is_lagging = subscription.is_lagging
    return any(event.subject in task_ids for event in subscription.take_events()) or is_lagging


def _are_reached(until: ops.TaskWaitUntil, now: list[Task], *, has_events: bool) -> bool | None:
    """Return True if all tasks have reached the state, False if a task never will, None to wait further."""
    if until is ops.TaskWaitUntil.ANY_CHANGE:
        return True if has_events else None
    results = [_is_reached(until, task) for task in now]
    if False in results:
        return False
    return True if all(results) else None


def _is_reached(until: ops.TaskWaitUntil, task: Task) -> bool | None:
    if until is ops.TaskWaitUntil.READY and (task.ready or task.status in _PAST_READY):
        return True
    if until is ops.TaskWaitUntil.COMPLETED and task.status is TaskStatus.COMPLETED:
        return True
    return False if task.status in FINAL_STATUSES else None


def _timeout_error(request: ops.WaitTasks, now: list[Task]) -> errors.TimedOut:
    states = ", ".join(f"{task.ref} is {task.status}" for task in now)
    return errors.TimedOut(
        f"The tasks did not reach {request.until} within {request.timeout / 1000:g} s: {states}.",
        data={"tasks": [{"id": task.id, "ref": task.ref, "status": task.status} for task in now]},
    )
