"""Timelines: the log, as far as it concerns one task, session or run."""

from __future__ import annotations

from collections.abc import Iterable

from maestro import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.events import Event
from maestro.operations import timeline as ops
from maestro.services import kin, runs
from maestro.services.scope import task_of
from maestro.store.base import Tx


def show(tx: Tx, caller: Caller, request: ops.ShowTimeline) -> ops.Timeline:
    """Everything that the log has about it and what belongs to it."""
    about, subjects = _subjects(tx, caller, request)
    found: dict[int, Event] = {}
    for subject in subjects:
        for event in tx.events.after(0, subject=subject, limit=limits.page_items_max):
            found[event.seq] = event
    ordered = [found[seq] for seq in sorted(found)]
    names = _Names(tx)
    return ops.Timeline(
        about=about,
        moments=[_moment(event, names) for event in ordered[: request.limit]],
        truncated=len(ordered) > request.limit,
    )


def _subjects(tx: Tx, caller: Caller, request: ops.ShowTimeline) -> tuple[str, Iterable[str]]:
    named = [name for name in (request.task, request.session, request.run) if name]
    if len(named) != 1:
        raise errors.Invalid("Of what?", hint="Say one of --task ID, --session ID or --run RUN.")
    if request.task:
        task = task_of(tx, caller, request.task, project=request.project)
        mail = [message.id for message in tx.mail.of_task(task.id, before=2**62, limit=limits.page_items_default)]
        return task.ref, [task.id, *mail]
    if request.session:
        session = kin.named(tx, caller, request.session, project=request.project)
        return session.name, [session.id, *session.tasks]
    run = runs.run_of(tx, caller, request.run or "")
    standing = runs.standing(tx, run)
    sessions = [attempt.session_id for one in standing for attempt in one.attempts]
    return run.id, [run.id, *(one.task.id for one in standing), *sessions]


class _Names:
    """Ids as people know them, looked up once."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._known: dict[str, str] = {}

    def of(self, name: str) -> str:
        if name not in self._known:
            self._known[name] = self._look_up(name)
        return self._known[name]

    def _look_up(self, name: str) -> str:
        if name.startswith("ses_"):
            found = self._tx.sessions.route(name)
            return found.name if found else name
        if name.startswith("tsk_"):
            task = self._tx.tasks.get(name)
            return task.ref if task else name
        return name


def _moment(event: Event, names: _Names) -> ops.Moment:
    return ops.Moment(
        seq=event.seq,
        at=event.at,
        kind=event.kind,
        who=names.of(event.actor),
        what=str(event.data.get("ref") or names.of(event.subject)),
        data=event.data,
    )
