"""Apply the reports of runners about their programs: a program runs, or has ended. A report moves its session."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Any

import msgspec

from maestro.core import errors, limits
from maestro.domain import manifests
from maestro.domain.callers import Caller
from maestro.domain.documents import ReportKind
from maestro.domain.messages import ReceiptStep
from maestro.domain.sessions import ENDED_STATUSES, Session, SessionStatus, StatusSource
from maestro.domain.spawns import Spawn
from maestro.domain.tasks import Task
from maestro.operations import spawning as ops
from maestro.operations import task_shapes
from maestro.services.access import session_relations
from maestro.services.conversations import reported_events, runner_events
from maestro.services.mail import receipts
from maestro.services.redacting import hide_tokens
from maestro.services.sessions import lifecycle as sessions
from maestro.services.sessions import report_effects, status
from maestro.services.tasks import moves
from maestro.store.base import Tx
from maestro.system import processes
from maestro.text import terminal_text
from maestro.tools import registry
from maestro.wire.runner_reports import BY_SIGNAL, EXITED, STARTED


class ProgramStarted(msgspec.Struct, frozen=True, tag=STARTED, tag_field="kind"):
    """The agent's program runs."""

    pid: int
    pid_started: str
    runner: int
    runner_started: str = ""
    epoch: int = 1


class ProgramExited(msgspec.Struct, frozen=True, tag=EXITED, tag_field="kind"):
    """The agent's program has ended, with everything it started."""

    code: int | None
    signal: str | None = None
    asked: str | None = None  # who asked the program to stop
    tail: str = ""
    problem: str = ""
    epoch: int = 1


RunnerMessage = ProgramStarted | ProgramExited | reported_events.RunnerEvent
_decode = msgspec.json.Decoder(RunnerMessage).decode


class RunnerReports:
    """Accepts the reports of runners. `secret_of` gives the secret of the runner of one start of a session."""

    def __init__(self, secret_of: Callable[[str, int], str]) -> None:
        self._secret_of = secret_of

    def accept_report(self, tx: Tx, caller: Caller, request: ops.RunnerReport) -> ops.RunnerReportAnswer:
        """Apply a report of the runner of the caller's session."""
        session = session_relations.own_session(tx, caller)
        spawn = tx.spawns.get(session.id)
        if spawn is None:
            raise errors.Invalid(f"{session.name} was not started by Maestro and has no runner.")
        self._require_runner(session, spawn, request.secret)
        return _decode_and_apply(tx, session, spawn, request, caller)

    def _require_runner(self, session: Session, spawn: Spawn, secret: str) -> None:
        """Refuse a report of the agent itself: the agent has the session's token, but not its runner's secret."""
        if spawn.has_older_runner:
            return  # a runner that a server of an earlier version started has no secret
        if not hmac.compare_digest(secret.encode(), self._secret_of(session.id, spawn.epoch).encode()):
            raise errors.NotPermitted(f"Only the runner of {session.name} may report about its program.")


def _decode_and_apply(
    tx: Tx, session: Session, spawn: Spawn, request: ops.RunnerReport, caller: Caller
) -> ops.RunnerReportAnswer:
    try:
        report = _decode(request.report)
    except msgspec.DecodeError as error:
        raise errors.Invalid(f"The report of the runner of {session.name} is not valid: {error}.") from None
    if report.epoch != spawn.epoch:
        raise errors.Conflict(
            f"{session.name} was started again: reports of its earlier runner no longer count.",
            data={"epoch": spawn.epoch, "reported_epoch": report.epoch},
        )
    apply_report(tx, session, spawn, report, caller)
    return ops.RunnerReportAnswer(kind=str(report.__struct_config__.tag))


_SENT_BACK_TEXT = "Its work was handed in and sent back, and the program ended without a new report. "


def apply_report(tx: Tx, session: Session, spawn: Spawn, report: RunnerMessage, actor: Caller) -> None:
    if report.epoch != spawn.epoch:
        return  # a report of an earlier start, which is settled
    report = hide_tokens(report)
    if not isinstance(report, ProgramStarted | ProgramExited):
        runner_events.apply_event(tx, session, spawn, report, actor)
        return
    if isinstance(report, ProgramStarted):
        if spawn.has_older_runner and spawn.runner_pid is None:
            spawn = _with_reported_runner(tx, spawn, report)
        if _descends_from_runner(report, spawn):
            tx.spawns.set_process(session.id, pid=report.pid, started=report.pid_started)
        if tx.conversations.get(session.id) is None:
            _mark_directive_read(tx, session)  # else the program reports when the model has the directive
        if session.status is SessionStatus.SPAWNING:
            status.apply_signal(
                tx,
                session,
                SessionStatus.WORKING,
                source=StatusSource.PROCESS,
                detail="program runs",
                actor=actor.name,
            )
        return
    tail = report.problem or report.tail
    tail = tail[-limits.report_tail_chars_max :]
    tx.spawns.record_exit(session.id, epoch=spawn.epoch, code=report.code, signal=report.signal, tail=tail, at=tx.at)
    runner_events.end_conversation(tx, session)
    if session.ended_at is None:
        _end_session(tx, session, spawn, report, actor)


def _with_reported_runner(tx: Tx, spawn: Spawn, report: ProgramStarted) -> Spawn:
    """Record the runner that an earlier version started and that had not reported before the upgrade."""
    agent, runner = processes.find_process(report.pid), processes.find_process(report.runner)
    if agent is None or runner is None or agent.parent_pid != runner.pid or runner.pid == 1:
        return spawn
    tx.spawns.complete_runner(spawn.session_id, epoch=spawn.epoch, pid=runner.pid, started=runner.started)
    return msgspec.structs.replace(spawn, runner_pid=runner.pid, runner_started=runner.started)


def _descends_from_runner(report: ProgramStarted, spawn: Spawn) -> bool:
    """Return whether the reported process runs and descends from the session's recorded runner.

    A short program may have ended before its report arrives. Its process is then not recorded: no caller can descend
    from it.
    """
    try:
        chain = [(process.pid, process.started) for process in processes.ancestors_of(report.pid)]
    except processes.AncestryUnreadable:
        return False
    return chain[0] == (report.pid, report.pid_started) and (spawn.runner_pid, spawn.runner_started) in chain[1:]


def _mark_directive_read(tx: Tx, session: Session) -> None:
    """Mark the first directive as read, since the prompt holds the directive. The receipt says `assumed`."""
    data, caller = tx.spawns.get_manifest(session.id), tx.sessions.live_caller(session.id)
    directive = manifests.decode_manifest(data).directive if data else None
    message = tx.mail.get(directive.message_id) if directive and directive.message_id else None
    if caller is not None and message is not None:
        receipts.record_step(tx, caller, ReceiptStep.READ, session.id, message.seq, via="assumed")


def _end_session(tx: Tx, session: Session, spawn: Spawn, report: ProgramExited, actor: Caller) -> None:
    """End the session of a program that has ended. For some tools the exit code also reports on the tasks."""
    if registry.find_tool(spawn.tool).abilities.exit_means_done and not report.asked:
        _report_tasks(tx, session, report, actor)
    current = tx.sessions.get(session.id) or session
    final, text = _final_status(current, report), _end_text(report)
    sessions.finish_session(tx, current, final, source=StatusSource.PROCESS, actor=actor, detail=text)


def _report_tasks(tx: Tx, session: Session, report: ProgramExited, actor: Caller) -> None:
    """Report on the tasks that a plain program still holds, since such a program sends no reports itself.

    Exit code 0 completes the tasks. It does not complete a task that a gate has sent back after it was handed in.
    """
    for task in report_effects.held_tasks(tx, session):
        sent_back = _SENT_BACK_TEXT if _has_handed_in(tx, session, task) else ""
        kind = ReportKind.COMPLETE if report.code == 0 and not sent_back else ReportKind.ERROR
        request = task_shapes.ReportTask(kind=kind, id=task.id, text=sent_back + _end_text(report))
        try:
            moves.report_task(tx, actor, request)
        except errors.Conflict:
            continue  # the task waits for children or is blocked: the session's end gives the task back


def _has_handed_in(tx: Tx, session: Session, task: Task) -> bool:
    """Return whether the session itself reported the task complete after it started the task."""
    stored = tx.documents.reports_of_task(task.id, limit=limits.page_items_default)
    times = [found.created_at for found in stored if found.by == session.id and found.kind is ReportKind.COMPLETE]
    return bool(times) and (task.started_at is None or max(times) >= task.started_at)


def _final_status(session: Session, report: ProgramExited) -> SessionStatus:
    if report.asked == BY_SIGNAL:
        # Maestro did not ask for the end: the machine shuts down, or a user killed the runner.
        return SessionStatus.LOST
    if report.asked:
        # A session that had reported completion or failure, and only stayed open, keeps the reported status.
        return (
            session.status
            if session.status in (SessionStatus.COMPLETED, SessionStatus.FAILED)
            else SessionStatus.STOPPED
        )
    if report.code != 0:
        return SessionStatus.FAILED
    return session.status if session.status in ENDED_STATUSES else SessionStatus.COMPLETED


def _end_text(report: ProgramExited) -> str:
    if report.problem:
        return f"The program could not be started: {report.problem}"
    if report.asked == BY_SIGNAL:
        return "The system told the session's runner to end."
    if report.asked and report.code is None:
        return f"The session was stopped by {report.asked}. Its runner ended before it could report the exit code."
    cause = f"signal {report.signal}" if report.signal else f"exit code {report.code}"
    last_lines = terminal_text.strip_sequences(report.tail).strip().splitlines()[-5:]
    return f"The program ended with {cause}." + (("\n\n" + "\n".join(last_lines)) if last_lines else "")


def decode_report(report: dict[str, Any]) -> RunnerMessage | None:
    """Return a report from a spool; None for an unreadable report."""
    try:
        decoded_report: RunnerMessage = msgspec.convert(report, RunnerMessage)
    except msgspec.ValidationError:
        return None
    return decoded_report
