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
from maestro.domain.messages import Step
from maestro.domain.sessions import FINAL, Session, Source, Status
from maestro.domain.spawns import Spawn
from maestro.domain.tasks import Task
from maestro.operations import spawning as ops
from maestro.operations import task_shapes
from maestro.services.mail import receipts
from maestro.services.redacting import hide_tokens
from maestro.services.sessions import kin, reports, status
from maestro.services.sessions import records as sessions
from maestro.services.talks import taking, words
from maestro.services.tasks import moves
from maestro.store.base import Tx
from maestro.system import processes
from maestro.text import terminal_text
from maestro.tools import registry


class Started(msgspec.Struct, frozen=True, tag="started", tag_field="kind"):
    """The agent's program runs."""

    pid: int
    pid_started: str
    runner: int
    runner_started: str = ""
    epoch: int = 1


class Exited(msgspec.Struct, frozen=True, tag="exited", tag_field="kind"):
    """The agent's program has ended, with everything it started."""

    code: int | None
    signal: str | None = None
    asked: str | None = None  # who asked the program to stop
    tail: str = ""
    problem: str = ""
    epoch: int = 1


BY_SIGNAL = "signal"  # the value of `asked` when a signal from outside Maestro stopped the runner
Report = Started | Exited | words.Word
_decode = msgspec.json.Decoder(Report).decode


class RunnerReports:
    """Accepts the reports of runners. `secret_of` gives the secret of the runner of one start of a session."""

    def __init__(self, secret_of: Callable[[str, int], str]) -> None:
        self._secret_of = secret_of

    def accept(self, tx: Tx, caller: Caller, request: ops.RunnerReport) -> ops.Heard:
        """Apply a report of the runner of the caller's session."""
        session = kin.own(tx, caller)
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


def _decode_and_apply(tx: Tx, session: Session, spawn: Spawn, request: ops.RunnerReport, caller: Caller) -> ops.Heard:
    try:
        report = _decode(request.report)
    except msgspec.DecodeError as error:
        raise errors.Invalid(f"The report of the runner of {session.name} is not valid: {error}.") from None
    if report.epoch != spawn.epoch:
        raise errors.Conflict(
            f"{session.name} was started again: reports of its earlier runner no longer count.",
            data={"epoch": spawn.epoch, "told": report.epoch},
        )
    take(tx, session, spawn, report, caller)
    return ops.Heard(kind=str(report.__struct_config__.tag))


_SENT_BACK_TEXT = "Its work was handed in and sent back, and the program ended without a new report. "


def take(tx: Tx, session: Session, spawn: Spawn, told: Report, actor: Caller) -> None:
    if told.epoch != spawn.epoch:
        return  # a report of an earlier start, which is settled
    told = hide_tokens(told)
    if not isinstance(told, Started | Exited):
        taking.take(tx, session, spawn, told, actor)
        return
    if isinstance(told, Started):
        if spawn.has_older_runner and spawn.runner_pid is None:
            spawn = _with_reported_runner(tx, spawn, told)
        if _descends_from_runner(told, spawn):
            tx.spawns.set_process(session.id, pid=told.pid, started=told.pid_started)
        if tx.talks.get(session.id) is None:
            _mark_directive_read(tx, session)  # else the program reports when the model has the directive
        if session.status is Status.SPAWNING:
            status.say(tx, session, Status.WORKING, source=Source.PROCESS, detail="program runs", actor=actor.name)
        return
    tail = told.problem or told.tail
    tail = tail[-limits.report_tail_chars_max :]
    tx.spawns.end(session.id, epoch=spawn.epoch, code=told.code, signal=told.signal, tail=tail, at=tx.at)
    taking.over(tx, session)
    if session.ended_at is None:
        _end_session(tx, session, spawn, told, actor)


def _with_reported_runner(tx: Tx, spawn: Spawn, report: Started) -> Spawn:
    """Record the runner that an earlier version started and that had not reported before the upgrade."""
    agent, runner = processes.look_up(report.pid), processes.look_up(report.runner)
    if agent is None or runner is None or agent.parent != runner.pid or runner.pid == 1:
        return spawn
    tx.spawns.complete_runner(spawn.session_id, epoch=spawn.epoch, pid=runner.pid, started=runner.started)
    return msgspec.structs.replace(spawn, runner_pid=runner.pid, runner_started=runner.started)


def _descends_from_runner(report: Started, spawn: Spawn) -> bool:
    """Return whether the reported process runs and descends from the session's recorded runner.

    A short program may have ended before its report arrives. Its process is then not recorded: no caller can descend
    from it.
    """
    try:
        chain = [(process.pid, process.started) for process in processes.ancestry(report.pid)]
    except processes.ChainBroken:
        return False
    return chain[0] == (report.pid, report.pid_started) and (spawn.runner_pid, spawn.runner_started) in chain[1:]


def _mark_directive_read(tx: Tx, session: Session) -> None:
    """Mark the first directive as read, since the prompt holds the directive. The receipt says `assumed`."""
    data, caller = tx.spawns.manifest(session.id), tx.sessions.caller(session.id)
    directive = manifests.decode(data).directive if data else None
    message = tx.mail.get(directive.message_id) if directive and directive.message_id else None
    if caller is not None and message is not None:
        receipts.take(tx, caller, Step.READ, session.id, message.seq, via="assumed")


def _end_session(tx: Tx, session: Session, spawn: Spawn, report: Exited, actor: Caller) -> None:
    """End the session of a program that has ended. For some tools the exit code also reports on the tasks."""
    if registry.find(spawn.tool).abilities.exit_means_done and not report.asked:
        _report_tasks(tx, session, report, actor)
    current = tx.sessions.get(session.id) or session
    final, text = _final_status(current, report), _end_text(report)
    sessions.finish(tx, current, final, source=Source.PROCESS, actor=actor, detail=text)


def _report_tasks(tx: Tx, session: Session, report: Exited, actor: Caller) -> None:
    """Report on the tasks that a plain program still holds, since such a program sends no reports itself.

    Exit code 0 completes the tasks. It does not complete a task that a gate has sent back after it was handed in.
    """
    for task in reports.holds(tx, session):
        sent_back = _SENT_BACK_TEXT if _has_handed_in(tx, session, task) else ""
        kind = ReportKind.COMPLETE if report.code == 0 and not sent_back else ReportKind.ERROR
        request = task_shapes.ReportTask(kind=kind, id=task.id, text=sent_back + _end_text(report))
        try:
            moves.report(tx, actor, request)
        except errors.Conflict:
            continue  # the task waits for children or is blocked: the session's end gives the task back


def _has_handed_in(tx: Tx, session: Session, task: Task) -> bool:
    """Return whether the session itself reported the task complete after it started the task."""
    stored = tx.documents.reports(task.id, limit=limits.page_items_default)
    times = [found.created_at for found in stored if found.by == session.id and found.kind is ReportKind.COMPLETE]
    return bool(times) and (task.started_at is None or max(times) >= task.started_at)


def _final_status(session: Session, report: Exited) -> Status:
    if report.asked == BY_SIGNAL:
        return Status.LOST  # Maestro did not ask for the end: the machine shuts down, or a user killed the runner
    if report.asked:
        # A session that had reported completion or failure, and only stayed open, keeps the reported status.
        return session.status if session.status in (Status.COMPLETED, Status.FAILED) else Status.STOPPED
    if report.code != 0:
        return Status.FAILED
    return session.status if session.status in FINAL else Status.COMPLETED


def _end_text(report: Exited) -> str:
    if report.problem:
        return f"The program could not be started: {report.problem}"
    if report.asked == BY_SIGNAL:
        return "The system told the session's runner to end."
    if report.asked and report.code is None:
        return f"The session was stopped by {report.asked}. Its runner ended before it could report the exit code."
    cause = f"signal {report.signal}" if report.signal else f"exit code {report.code}"
    last_lines = terminal_text.plain(report.tail).strip().splitlines()[-5:]
    return f"The program ended with {cause}." + (("\n\n" + "\n".join(last_lines)) if last_lines else "")


def decoded(report: dict[str, Any]) -> Report | None:
    """Return a report from a spool; None for an unreadable report."""
    try:
        decoded_report: Report = msgspec.convert(report, Report)
    except msgspec.ValidationError:
        return None
    return decoded_report
