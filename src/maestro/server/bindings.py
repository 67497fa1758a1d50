"""Bind each operation to its service. A test checks that each operation is bound exactly once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from maestro.domain.callers import Caller
from maestro.operations import agents as agent_ops
from maestro.operations import asks as ask_ops
from maestro.operations import documents as document_ops
from maestro.operations import files as file_ops
from maestro.operations import hooks as hook_ops
from maestro.operations import issues as issue_ops
from maestro.operations import mail as mail_ops
from maestro.operations import members as member_ops
from maestro.operations import primer as primer_ops
from maestro.operations import projects as project_ops
from maestro.operations import runs as run_ops
from maestro.operations import server as server_ops
from maestro.operations import sessions as session_ops
from maestro.operations import spawning as spawn_ops
from maestro.operations import tasks as task_ops
from maestro.operations import teams as team_ops
from maestro.operations import terminals as terminal_ops
from maestro.operations import timeline as timeline_ops
from maestro.operations import tools as tool_ops
from maestro.operations import trackers as tracker_ops
from maestro.operations import worktrees as worktree_ops
from maestro.server.dispatch import Binding
from maestro.services import asks, client_files, timelines
from maestro.services.issues import moves as issue_moves
from maestro.services.issues import views
from maestro.services.issues.desk import is_simple
from maestro.services.mail import receipts
from maestro.services.members import records as members
from maestro.services.members import teams
from maestro.services.programs import control as session_control
from maestro.services.programs import tools
from maestro.services.programs.template_views import TemplateViews
from maestro.services.projects import records as projects
from maestro.services.runs import records as runs
from maestro.services.sessions import adoption, primers
from maestro.services.sessions import records as sessions
from maestro.services.sessions import reporting as session_reports
from maestro.services.sessions import views as session_views
from maestro.services.tasks import dependencies, moves
from maestro.services.tasks import records as tasks
from maestro.store.base import Tx

if TYPE_CHECKING:
    from maestro.server.app import Server


def bindings(server: Server) -> dict[str, Binding]:
    """Return the binding of every operation, by the operation's name."""
    return {
        **_task_bindings(server),
        **_issue_bindings(server),
        **_project_bindings(server),
        **_member_bindings(),
        **_session_bindings(server),
        **_spawn_bindings(server),
        **_run_bindings(server),
        **_mail_bindings(server),
        **_ask_bindings(server),
        **_server_bindings(server),
    }


def _with_quota(check_quota: Callable[[Tx, Caller, Any], None], carry_out: Callable[..., Any]) -> Callable[..., Any]:
    """Return `carry_out` with a check of the quota before it."""

    def carry_out_within_quota(tx: Tx, caller: Caller, request: Any) -> Any:
        check_quota(tx, caller, request)
        return carry_out(tx, caller, request)

    return carry_out_within_quota


def _is_always_quick(request: object) -> bool:
    return True


def _task_bindings(server: Server) -> dict[str, Binding]:
    documents, quotas = server.documents, server.quotas
    return {
        task_ops.CREATE.name: Binding(
            _with_quota(quotas.may_create_task, tasks.create), before=server.names.before, quick=tasks.is_simple
        ),
        task_ops.LIST.name: Binding(tasks.list_page),
        task_ops.READY.name: Binding(tasks.ready),
        task_ops.BLOCKED.name: Binding(tasks.blocked),
        task_ops.TREE.name: Binding(tasks.tree),
        task_ops.SHOW.name: Binding(tasks.show),
        task_ops.CHILDREN.name: Binding(tasks.children),
        task_ops.EDIT.name: Binding(_with_quota(quotas.may_edit_task, tasks.edit)),
        task_ops.START.name: Binding(moves.start, quick=_is_always_quick),
        task_ops.RELEASE.name: Binding(moves.release),
        task_ops.COMPLETE.name: Binding(moves.complete),
        task_ops.REJECT.name: Binding(moves.reject),
        task_ops.BLOCK.name: Binding(moves.block),
        task_ops.UNBLOCK.name: Binding(moves.unblock),
        task_ops.FAIL.name: Binding(moves.fail),
        task_ops.CANCEL.name: Binding(moves.cancel),
        task_ops.REOPEN.name: Binding(moves.reopen),
        task_ops.REMOVE.name: Binding(tasks.delete),
        task_ops.DEPEND.name: Binding(dependencies.depend, before=server.names.before),
        task_ops.REPORT.name: Binding(_with_quota(quotas.may_report, moves.report)),
        task_ops.WAIT.name: Binding(server.waits.wait),
        document_ops.ADD.name: Binding(
            documents.add, check=documents.check, weighs=documents.weigh, prepare=documents.prepare
        ),
        document_ops.LIST.name: Binding(documents.list_of),
        document_ops.SHOW.name: Binding(documents.show),
        document_ops.GATE.name: Binding(documents.gate),
    }


def _issue_bindings(server: Server) -> dict[str, Binding]:
    desk, sending, discover = server.desk, server.sending, server.names.before
    return {
        issue_ops.OPEN.name: Binding(
            desk.open,
            before=discover,
            check=desk.check_open,
            prepare=sending.prepare,
            weighs=sending.weigh,
            prepares=sending.needs_files,
            quick=lambda request: sending.is_quick(request) and is_simple(request),
        ),
        issue_ops.LIST.name: Binding(views.list_page),
        issue_ops.SHOW.name: Binding(server.issue_views.show),
        issue_ops.REPLY.name: Binding(
            desk.reply,
            after=server.receipt_waits.after,
            check=desk.check_reply,
            prepare=sending.prepare,
            weighs=sending.weigh,
            prepares=sending.needs_files,
        ),
        issue_ops.CLAIM.name: Binding(issue_moves.claim, quick=_is_always_quick),
        issue_ops.CLOSE.name: Binding(issue_moves.close),
        issue_ops.REOPEN.name: Binding(issue_moves.reopen),
    }


def _project_bindings(server: Server) -> dict[str, Binding]:
    return {
        project_ops.INIT.name: Binding(server.places.init),
        project_ops.LOCATE.name: Binding(server.places.locate),
        project_ops.LIST.name: Binding(projects.list_page),
        project_ops.SHOW.name: Binding(projects.show),
        project_ops.EDIT.name: Binding(projects.edit),
        project_ops.LINK.name: Binding(server.linking.link),
        project_ops.UNLINK.name: Binding(server.linking.unlink),
        tracker_ops.STATUS.name: Binding(server.tracker_views.status),
        tracker_ops.SYNC.name: Binding(server.tracker_views.sync),
    }


def _member_bindings() -> dict[str, Binding]:
    return {
        member_ops.CREATE.name: Binding(members.create),
        member_ops.LIST.name: Binding(members.list_page),
        member_ops.SHOW.name: Binding(members.show),
        member_ops.EDIT.name: Binding(members.edit),
        member_ops.ARCHIVE.name: Binding(members.archive),
        team_ops.CREATE.name: Binding(teams.create),
        team_ops.LIST.name: Binding(teams.list_page),
        team_ops.SHOW.name: Binding(teams.show),
        team_ops.ADD.name: Binding(teams.add),
        team_ops.REMOVE.name: Binding(teams.remove),
    }


def _session_bindings(server: Server) -> dict[str, Binding]:
    token_of = server.secrets.session_token
    return {
        session_ops.REGISTER.name: Binding(
            _with_quota(
                server.quotas.may_register,
                lambda tx, caller, request: sessions.register(tx, caller, request, token_of),
            ),
            conceal=lambda answer: msgspec.structs.replace(answer, token=""),
            reveal=lambda answer: msgspec.structs.replace(answer, token=token_of(answer.id)),
        ),
        session_ops.HEARTBEAT.name: Binding(server.heartbeats.beat),
        session_ops.END.name: Binding(sessions.end, after=server.control.after_end),
        session_ops.LIST.name: Binding(session_views.list_page),
        session_ops.SHOW.name: Binding(session_views.show),
        session_ops.EXPLAIN.name: Binding(server.explaining.explain),
        session_ops.WAIT.name: Binding(server.session_waits.wait),
        session_ops.REPORT.name: Binding(session_reports.report),
        session_ops.ADOPT.name: Binding(adoption.adopt),
        session_ops.GRANT.name: Binding(sessions.set_grant),
        agent_ops.LIST.name: Binding(server.agents.list_page),
        session_ops.WHOAMI.name: Binding(sessions.whoami),
        primer_ops.PRIMER.name: Binding(primers.read),
        file_ops.CHECK.name: Binding(client_files.check),
    }


def _spawn_bindings(server: Server) -> dict[str, Binding]:
    spawning, control = server.spawning, server.control
    template_views = TemplateViews(server.store)
    return {
        spawn_ops.SPAWN.name: Binding(spawning.spawn, before=spawning.check, after=spawning.launch),
        spawn_ops.PROMPT.name: Binding(session_control.prompt, after=control.push),
        spawn_ops.INTERRUPT.name: Binding(control.interrupt),
        spawn_ops.STOP.name: Binding(control.stop),
        spawn_ops.RESUME.name: Binding(spawning.resume, after=spawning.launch),
        terminal_ops.LOGS.name: Binding(server.terminals.logs),
        terminal_ops.ATTACH.name: Binding(server.terminals.attach),
        spawn_ops.MANIFEST.name: Binding(session_control.manifest),
        spawn_ops.PROMPTS.name: Binding(control.prompts),
        spawn_ops.TEMPLATES.name: Binding(template_views.list_all),
        spawn_ops.TEMPLATE.name: Binding(template_views.show),
        spawn_ops.REPORT.name: Binding(server.runner_reports.accept),
        tool_ops.LIST.name: Binding(tools.list_all),
        hook_ops.LIST.name: Binding(server.hook_firings.list_all),
    }


def _run_bindings(server: Server) -> dict[str, Binding]:
    control = server.run_control
    return {
        run_ops.START.name: Binding(control.start, stream=control.start_and_follow),
        run_ops.LIST.name: Binding(runs.list_page),
        run_ops.SHOW.name: Binding(control.show, stream=control.show_and_follow),
        run_ops.STOP.name: Binding(control.stop),
        run_ops.RESUME.name: Binding(control.resume, stream=control.resume_and_follow),
        timeline_ops.SHOW.name: Binding(timelines.show),
        timeline_ops.EXPORT.name: Binding(timelines.export),
        worktree_ops.LIST.name: Binding(server.worktrees.list_page),
        worktree_ops.DIFF.name: Binding(server.worktrees.diff),
        worktree_ops.MERGE.name: Binding(server.worktrees.merge),
        worktree_ops.REMOVE.name: Binding(server.clearing.remove),
    }


def _mail_bindings(server: Server) -> dict[str, Binding]:
    sending, reading = server.sending, server.reading
    return {
        mail_ops.SEND.name: Binding(
            sending.send,
            before=server.names.before,
            after=server.receipt_waits.after,
            check=sending.check_send,
            prepare=sending.prepare,
            weighs=sending.weigh,
            prepares=sending.needs_files,
            quick=sending.is_quick,
        ),
        mail_ops.POST_TO_PROJECT.name: Binding(
            sending.post_to_project,
            check=sending.check_post_to_project,
            prepare=sending.prepare,
            weighs=sending.weigh,
            prepares=sending.needs_files,
            quick=sending.is_quick,
        ),
        mail_ops.BROADCAST.name: Binding(
            sending.broadcast,
            check=sending.check_broadcast,
            prepare=sending.prepare,
            weighs=sending.weigh,
            prepares=sending.needs_files,
        ),
        mail_ops.INBOX.name: Binding(reading.inbox),
        mail_ops.WAIT.name: Binding(server.mail_waits.wait),
        mail_ops.SHOW.name: Binding(reading.show),
        mail_ops.THREAD.name: Binding(reading.thread),
        mail_ops.CLAIM.name: Binding(issue_moves.claim_thread, quick=_is_always_quick),
        mail_ops.RELEASE.name: Binding(issue_moves.release_thread, quick=_is_always_quick),
        mail_ops.REPLY.name: Binding(
            sending.reply,
            after=server.receipt_waits.after,
            check=sending.check_reply,
            prepare=sending.prepare,
            weighs=sending.weigh,
            prepares=sending.needs_files,
            quick=sending.is_quick,
        ),
        mail_ops.ACK.name: Binding(receipts.acknowledge, quick=_is_always_quick),
        mail_ops.STATUS.name: Binding(receipts.status),
        mail_ops.SENT.name: Binding(reading.sent),
        mail_ops.SEARCH.name: Binding(server.search.search),
        mail_ops.ATTACHMENT.name: Binding(reading.attachment),
        mail_ops.PROJECT_INBOX.name: Binding(reading.project_inbox),
        mail_ops.OF_TASK.name: Binding(reading.of_task),
        mail_ops.CONFIRM.name: Binding(receipts.confirm, quick=_is_always_quick),
    }


def _ask_bindings(server: Server) -> dict[str, Binding]:
    return {
        ask_ops.LIST.name: Binding(asks.list_page),
        ask_ops.SHOW.name: Binding(asks.show),
        ask_ops.ANSWER.name: Binding(asks.answer),
        ask_ops.CREATE.name: Binding(
            _with_quota(lambda tx, caller, request: server.quotas.may_ask(tx, caller), asks.create),
            after=server.ask_waits.after,
        ),
        ask_ops.WAIT.name: Binding(server.ask_waits.wait),
        ask_ops.WITHDRAW.name: Binding(asks.withdraw),
    }


def _server_bindings(server: Server) -> dict[str, Binding]:
    return {
        server_ops.STATUS.name: Binding(server.status),
        server_ops.STOP.name: Binding(server.stop),
        server_ops.RECOVERY.name: Binding(server.findings.show),
        server_ops.BACKUP.name: Binding(server.backups.create),
        server_ops.EVENTS.name: Binding(server.log.page, stream=server.log.stream),
        server_ops.CONFIG_GET.name: Binding(server.config_get),
        server_ops.CONFIG_SET.name: Binding(server.config_set),
    }
