"""Start an ended session again: the same session, with its name, token, directory, tasks and mailbox."""

from __future__ import annotations

from datetime import timedelta

from maestro.core import errors, limits
from maestro.domain import manifests as shapes
from maestro.domain.callers import Caller
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.manifests import Manifest
from maestro.domain.messages import ReceivedMessage
from maestro.domain.sessions import Session, SessionMode, SessionStatus, StatusSignal, StatusSource
from maestro.domain.spawns import Spawn
from maestro.operations import task_shapes
from maestro.services.asks import asks
from maestro.services.conversations import runner_events
from maestro.services.sessions import notices
from maestro.services.supervision import manifests
from maestro.services.tasks import moves
from maestro.store.base import Tx
from maestro.store.repositories.deliveries import MessageFilter


def restart_session(tx: Tx, actor: Caller, session: Session, spawn: Spawn) -> Session:
    """Write the restart of a session. `launch` starts the program; reports of the last runner no longer count."""
    data = tx.spawns.get_manifest(session.id)
    assert data is not None
    is_name_taken = tx.sessions.by_name(session.project_id, session.name) is not None
    name = f"{session.name}-{session.id[-4:]}" if is_name_taken else session.name
    lease = tx.at + timedelta(seconds=limits.session_lease_without_process_seconds)
    if not tx.sessions.restart(session.id, name=name, lease_until=lease, at=tx.at):
        raise errors.Conflict(
            f"{session.name} has not ended: it is {session.status}.", data={"status": session.status}
        )
    tx.sessions.clear_signals(session.id)
    tx.sessions.put_signal(
        session.id, StatusSignal(StatusSource.PROCESS, SessionStatus.SPAWNING, tx.at, None, "started again")
    )
    asks.withdraw_all_asks(tx, session.id, actor=actor.name)  # the ask about its workers is settled
    runner_events.end_conversation(tx, session)  # a lost runner did not report the end of the conversation
    restarted = tx.sessions.get(session.id)
    assert restarted is not None
    manifest = _new_manifest(tx, shapes.decode_manifest(data), restarted, ended=session, tail=spawn.tail)
    tx.spawns.reset_for_restart(session.id, manifest=shapes.encode_manifest(manifest))
    facts = {
        "name": restarted.name,
        "from": session.status.value,
        "status": restarted.status.value,
        "epoch": spawn.epoch + 1,
    }
    tx.log(NewEvent(EventKind.SESSION_RESUMED, restarted.id, restarted.project_id, facts), actor=actor.name)
    notices.notify_resumed(tx, restarted, session.status)
    return restarted


def tasks_to_resume(tx: Tx, session: Session) -> list[str]:
    """Return the session's ready tasks: no other session holds a ready task."""
    tasks = [tx.tasks.get(task_id) for task_id in session.tasks]
    return [task.id for task in tasks if task is not None and task.ready]


def _new_manifest(tx: Tx, previous: Manifest, session: Session, *, ended: Session, tail: str | None) -> Manifest:
    """Return the manifest with the mail that the session missed, and its present tasks, coordinator and siblings."""
    task_ids = [task.id for task in previous.tasks]
    if session.mode is SessionMode.EXECUTE:
        task_ids = _claim_ready_tasks(tx, session, task_ids)
    return manifests.rebuild_manifest(tx, previous, session, task_ids=task_ids, resumed=_missed_mail(tx, ended, tail))


def _claim_ready_tasks(tx: Tx, session: Session, task_ids: list[str]) -> list[str]:
    worker = tx.sessions.live_caller(session.id)
    assert worker is not None
    ready = [task_id for task_id in task_ids if (task := tx.tasks.get(task_id)) is not None and task.ready]
    for task_id in ready:
        moves.start_task(tx, worker, task_shapes.StartTask(id=task_id))
    return ready


def _missed_mail(tx: Tx, ended: Session, tail: str | None) -> shapes.LastStart:
    """Return how the session ended, and its unread mail."""
    mailbox = ended.id
    unread = tx.deliveries.list_offered(
        mailbox, reader=mailbox, wanted=MessageFilter(), limit=limits.prompt_entries_max
    )
    return shapes.LastStart(
        status=ended.status,
        ended_at=f"{ended.ended_at or tx.at:%Y-%m-%dT%H:%M:%SZ}",
        last_output=(tail or "").strip()[-limits.prompt_line_chars_max :],
        unread=tx.deliveries.count_open(mailbox, reader=mailbox),
        messages=tuple(_manifest_message(message) for message in unread),
    )


def _manifest_message(message: ReceivedMessage) -> shapes.UnreadMessage:
    return shapes.UnreadMessage(
        message_id=message.id,
        sender=message.sender.name,
        type=message.type,
        priority=message.priority,
        subject=message.subject,
        text=message.body,
    )
