"""Starting a session again that has ended: the same session, with its name, token, place, tasks and mailbox."""

from __future__ import annotations

from datetime import timedelta

from maestro.core import errors, limits
from maestro.domain import manifests as shapes
from maestro.domain.callers import Caller
from maestro.domain.events import Change, Kind
from maestro.domain.manifests import Manifest
from maestro.domain.messages import Received
from maestro.domain.sessions import Mode, Session, Signal, Source, Status
from maestro.domain.spawns import Spawn
from maestro.operations import task_shapes
from maestro.services import asks
from maestro.services.programs import manifests
from maestro.services.sessions import notices
from maestro.services.talks import taking
from maestro.services.tasks import moves
from maestro.store.base import Tx
from maestro.store.repositories.deliveries import Wanted


def restart(tx: Tx, actor: Caller, session: Session, spawn: Spawn) -> Session:
    """Write that it is started again. Its program is for `launching`; its last runner speaks for it no more."""
    data = tx.spawns.manifest(session.id)
    assert data is not None
    taken = tx.sessions.by_name(session.project_id, session.name) is not None
    name = f"{session.name}-{session.id[-4:]}" if taken else session.name
    lease = tx.at + timedelta(seconds=limits.session_lease_alone_seconds)
    if not tx.sessions.restart(session.id, name=name, lease_until=lease, at=tx.at):
        raise errors.Conflict(f"{session.name} runs: it is {session.status}.", data={"status": session.status})
    tx.sessions.clear_signals(session.id)
    tx.sessions.put_signal(session.id, Signal(Source.PROCESS, Status.SPAWNING, tx.at, None, "started again"))
    asks.withdraw_all(tx, session.id, actor=actor.name)  # what becomes of its workers
    taking.over(tx, session)  # of one whose runner was lost, nobody said so
    now = tx.sessions.get(session.id)
    assert now is not None
    told = _told(tx, shapes.decode(data), now, ended=session, tail=spawn.tail)
    tx.spawns.restart(session.id, manifest=shapes.encode(told))
    facts = {"name": now.name, "from": session.status.value, "status": now.status.value, "epoch": spawn.epoch + 1}
    tx.log(Change(Kind.SESSION_RESUMED, now.id, now.project_id, facts), actor=actor.name)
    notices.resumed(tx, now, session.status)
    return now


def free_tasks(tx: Tx, session: Session) -> list[str]:
    """Which of its tasks it can take up again: nobody else has them."""
    found = [tx.tasks.get(task_id) for task_id in session.tasks]
    return [task.id for task in found if task is not None and task.ready]


def _told(tx: Tx, before: Manifest, session: Session, *, ended: Session, tail: str | None) -> Manifest:
    """The manifest as it now is: what was said while it was away, and its tasks, coordinator and siblings of now."""
    ids = [task.id for task in before.tasks]
    if session.mode is Mode.EXECUTE:
        ids = _claim(tx, session, ids)
    return manifests.anew(tx, before, session, task_ids=ids, resumed=_away(tx, ended, tail))


def _claim(tx: Tx, session: Session, task_ids: list[str]) -> list[str]:
    worker = tx.sessions.caller(session.id)
    assert worker is not None
    ready = [task_id for task_id in task_ids if (task := tx.tasks.get(task_id)) is not None and task.ready]
    for task_id in ready:
        moves.start(tx, worker, task_shapes.StartTask(id=task_id))
    return ready


def _away(tx: Tx, ended: Session, tail: str | None) -> shapes.Resumed:
    """What a session missed."""
    box = ended.id
    unread = tx.deliveries.open_in(box, reader=box, wanted=Wanted(), limit=limits.prompt_entries_max)
    return shapes.Resumed(
        status=ended.status,
        ended_at=f"{ended.ended_at or tx.at:%Y-%m-%dT%H:%M:%SZ}",
        last_words=(tail or "").strip()[-limits.prompt_line_chars_max :],
        unread=tx.deliveries.count_open(box, reader=box),
        messages=tuple(_letter(message) for message in unread),
    )


def _letter(message: Received) -> shapes.Letter:
    return shapes.Letter(
        message_id=message.id,
        sender=message.sender.name,
        type=message.type,
        priority=message.priority,
        subject=message.subject,
        text=message.body,
    )
