"""What runners tell of their agents: that one runs, that it has ended and how. Each moves the session it is about."""

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
    asked: str | None = None  # who told it to stop
    tail: str = ""
    problem: str = ""
    epoch: int = 1


BY_SIGNAL = "signal"  # who told a runner to stop that was not told by Maestro
Report = Started | Exited | words.Word
_decode = msgspec.json.Decoder(Report).decode


class RunnerReports:
    """Accepts the reports of runners. `secret_of` gives the secret of the runner of one start of a session."""

    def __init__(self, secret_of: Callable[[str, int], str]) -> None:
        self._secret_of = secret_of

    def accept(self, tx: Tx, caller: Caller, request: ops.RunnerReport) -> ops.Heard:
        """Apply one report of the runner of the caller's session."""
        session = kin.own(tx, caller)
        spawn = tx.spawns.get(session.id)
        if spawn is None:
            raise errors.Invalid("This session was not started by Maestro.")
        self._require_runner(session, spawn, request.secret)
        return _accept(tx, session, spawn, request, caller)

    def _require_runner(self, session: Session, spawn: Spawn, secret: str) -> None:
        """Refuse a report of the agent itself: the agent has the session's token, but not its runner's secret."""
        if spawn.has_older_runner:
            return  # a runner that a server of an earlier version started has no secret
        if not hmac.compare_digest(secret.encode(), self._secret_of(session.id, spawn.epoch).encode()):
            raise errors.NotPermitted(f"Only the runner of {session.name} reports about its program.")


def _accept(tx: Tx, session: Session, spawn: Spawn, request: ops.RunnerReport, caller: Caller) -> ops.Heard:
    try:
        told = _decode(request.report)
    except msgspec.DecodeError as error:
        raise errors.Invalid(f"This is no report of a runner: {error}.") from None
    if told.epoch != spawn.epoch:
        raise errors.Conflict(
            f"{session.name} was started again since: this runner no longer speaks for it.",
            data={"epoch": spawn.epoch, "told": told.epoch},
        )
    take(tx, session, spawn, told, caller)
    return ops.Heard(kind=str(told.__struct_config__.tag))


_SENT_BACK = "What it had handed in was sent back, and it ended without another word. "


def take(tx: Tx, session: Session, spawn: Spawn, told: Report, actor: Caller) -> None:
    if told.epoch != spawn.epoch:
        return  # of an earlier start: it has been settled
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
            _told_at_start(tx, session)  # else its program says when the model has it
        if session.status is Status.SPAWNING:
            status.say(
                tx, session, Status.WORKING, source=Source.PROCESS, detail="its program runs", actor=actor.name
            )
        return
    tail = told.problem or told.tail
    tail = tail[-limits.report_tail_chars_max :]
    tx.spawns.end(session.id, epoch=spawn.epoch, code=told.code, signal=told.signal, tail=tail, at=tx.at)
    taking.over(tx, session)
    if session.ended_at is None:
        _close(tx, session, spawn, told, actor)


def _with_reported_runner(tx: Tx, spawn: Spawn, told: Started) -> Spawn:
    """Record the runner that an earlier version started, and of which the server had not heard before the upgrade."""
    agent, runner = processes.look_up(told.pid), processes.look_up(told.runner)
    if agent is None or runner is None or agent.parent != runner.pid or runner.pid == 1:
        return spawn
    tx.spawns.complete_runner(spawn.session_id, epoch=spawn.epoch, pid=runner.pid, started=runner.started)
    return msgspec.structs.replace(spawn, runner_pid=runner.pid, runner_started=runner.started)


def _descends_from_runner(told: Started, spawn: Spawn) -> bool:
    """Return whether the reported process is there and descends from the session's recorded runner.

    A short program may have ended before its report arrives. Its process is then not recorded: no caller can descend
    from it.
    """
    try:
        chain = [(process.pid, process.started) for process in processes.ancestry(told.pid)]
    except processes.ChainBroken:
        return False
    return chain[0] == (told.pid, told.pid_started) and (spawn.runner_pid, spawn.runner_started) in chain[1:]


def _told_at_start(tx: Tx, session: Session) -> None:
    """Its first directive is in its prompt: that it was taken in is assumed, and said so."""
    data, caller = tx.spawns.manifest(session.id), tx.sessions.caller(session.id)
    directive = manifests.decode(data).directive if data else None
    message = tx.mail.get(directive.message_id) if directive and directive.message_id else None
    if caller is not None and message is not None:
        receipts.take(tx, caller, Step.READ, session.id, message.seq, via="assumed")


def _close(tx: Tx, session: Session, spawn: Spawn, told: Exited, actor: Caller) -> None:
    """What a program's end means: for its tasks, where it speaks for them; and for the session."""
    if registry.find(spawn.tool).abilities.exit_means_done and not told.asked:
        _report_tasks(tx, session, told, actor)
    said = tx.sessions.get(session.id) or session
    sessions.finish(tx, said, _final(said, told), source=Source.PROCESS, actor=actor, detail=_words(told))


def _report_tasks(tx: Tx, session: Session, told: Exited, actor: Caller) -> None:
    """A plain program knows no reports: that it ended well is its word for what it still holds. One that had handed
    its work in, and got it back from a gate, has not mended it by ending."""
    for task in reports.holds(tx, session):
        sent_back = _SENT_BACK if _has_handed_in(tx, session, task) else ""
        kind = ReportKind.COMPLETE if told.code == 0 and not sent_back else ReportKind.ERROR
        said = task_shapes.ReportTask(kind=kind, id=task.id, text=sent_back + _words(told))
        try:
            moves.report(tx, actor, said)
        except errors.Conflict:
            continue  # it waits on its children, or is blocked: it is given back with the rest


def _has_handed_in(tx: Tx, session: Session, task: Task) -> bool:
    """Whether a session said itself that a task is done, since it took it up."""
    found = tx.documents.reports(task.id, limit=limits.page_items_default)
    said = [one.created_at for one in found if one.by == session.id and one.kind is ReportKind.COMPLETE]
    return bool(said) and (task.started_at is None or max(said) >= task.started_at)


def _final(session: Session, told: Exited) -> Status:
    if told.asked == BY_SIGNAL:
        return Status.LOST  # nobody of us wanted that: the machine goes down, or someone ended its runner
    if told.asked:
        # Who had said that it is done, or that it failed, and only stayed, has said how it ended.
        return session.status if session.status in (Status.COMPLETED, Status.FAILED) else Status.STOPPED
    if told.code != 0:
        return Status.FAILED
    return session.status if session.status in FINAL else Status.COMPLETED


def _words(told: Exited) -> str:
    if told.problem:
        return f"It could not be started: {told.problem}"
    if told.asked == BY_SIGNAL:
        return "Its runner was told to end by the system."
    if told.asked and told.code is None:
        return f"It was stopped by {told.asked}. Its runner ended before it could tell the exit code."
    how = f"signal {told.signal}" if told.signal else f"exit code {told.code}"
    end = terminal_text.plain(told.tail).strip().splitlines()[-5:]
    return f"Its program ended with {how}." + (("\n\n" + "\n".join(end)) if end else "")


def decoded(report: dict[str, Any]) -> Report | None:
    """A report from a spool; None for what is no longer worth anything."""
    try:
        found: Report = msgspec.convert(report, Report)
    except msgspec.ValidationError:
        return None
    return found
