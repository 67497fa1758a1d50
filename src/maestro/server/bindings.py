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
from maestro.services import timelines
from maestro.services.access import client_files
from maestro.services.asks import asks
from maestro.services.issues import moves as issue_moves
from maestro.services.issues import views
from maestro.services.issues.operations import needs_no_cycle_check
from maestro.services.mail import receipts
from maestro.services.members import registry as members
from maestro.services.members import teams
from maestro.services.projects import registry as projects
from maestro.services.runs import control as runs
from maestro.services.sessions import adoption, primers, registration
from maestro.services.sessions import lifecycle as sessions
from maestro.services.sessions import views as session_views
from maestro.services.supervision import control as session_control
from maestro.services.supervision import tool_views
from maestro.services.supervision.template_views import TemplateViews
from maestro.services.tasks import dependencies, moves
from maestro.services.tasks import editing as tasks
from maestro.services.tasks import session_report as session_reports
from maestro.store.base import Tx

if TYPE_CHECKING:
    from maestro.server.app import Server


def build_bindings(server: Server) -> dict[str, Binding]:
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
            _with_quota(quotas.count_new_task, tasks.create_task),
            before_write=server.project_names.make_names_known,
            is_quick=tasks.is_simple_creation,
        ),
        task_ops.LIST.name: Binding(tasks.list_tasks),
        task_ops.READY.name: Binding(tasks.list_ready_tasks),
        task_ops.BLOCKED.name: Binding(tasks.list_blocked_tasks),
        task_ops.TREE.name: Binding(tasks.show_tree),
        task_ops.SHOW.name: Binding(tasks.show_task),
        task_ops.CHILDREN.name: Binding(tasks.list_children),
        task_ops.EDIT.name: Binding(_with_quota(quotas.count_edited_task, tasks.edit_task)),
        task_ops.START.name: Binding(moves.start_task, is_quick=_is_always_quick),
        task_ops.RELEASE.name: Binding(moves.release_task),
        task_ops.COMPLETE.name: Binding(moves.complete_task),
        task_ops.REJECT.name: Binding(moves.reject_task),
        task_ops.BLOCK.name: Binding(moves.block_task),
        task_ops.UNBLOCK.name: Binding(moves.unblock_task),
        task_ops.FAIL.name: Binding(moves.fail_task),
        task_ops.CANCEL.name: Binding(moves.cancel_task),
        task_ops.REOPEN.name: Binding(moves.reopen_task),
        task_ops.REMOVE.name: Binding(tasks.delete_task),
        task_ops.DEPEND.name: Binding(
            dependencies.change_dependencies, before_write=server.project_names.make_names_known
        ),
        task_ops.REPORT.name: Binding(_with_quota(quotas.count_report, moves.report_task)),
        task_ops.WAIT.name: Binding(server.task_waits.wait_for_tasks),
        document_ops.ADD.name: Binding(
            documents.add_document,
            check_upload=documents.check_addition,
            count_bytes=documents.quota_bytes,
            prepare_contents=documents.store_content,
        ),
        document_ops.LIST.name: Binding(documents.list_documents),
        document_ops.SHOW.name: Binding(documents.show_document),
        document_ops.GATE.name: Binding(documents.show_gate_output),
    }


def _issue_bindings(server: Server) -> dict[str, Binding]:
    desk, sending, discover = server.issue_operations, server.mail_sending, server.project_names.make_names_known
    return {
        issue_ops.OPEN.name: Binding(
            desk.open_issue,
            before_write=discover,
            check_upload=desk.check_open,
            prepare_contents=sending.store_contents,
            count_bytes=sending.quota_bytes,
            needs_preparation=sending.needs_files,
            is_quick=lambda request: sending.is_quick(request) and needs_no_cycle_check(request),
        ),
        issue_ops.LIST.name: Binding(views.list_issues),
        issue_ops.SHOW.name: Binding(server.issue_views.show_issue),
        issue_ops.REPLY.name: Binding(
            desk.reply_to_issue,
            after_commit=server.receipt_waits.wait_for_receipts,
            check_upload=desk.check_reply,
            prepare_contents=sending.store_contents,
            count_bytes=sending.quota_bytes,
            needs_preparation=sending.needs_files,
        ),
        issue_ops.CLAIM.name: Binding(issue_moves.claim_issue, is_quick=_is_always_quick),
        issue_ops.CLOSE.name: Binding(issue_moves.close_issue),
        issue_ops.REOPEN.name: Binding(issue_moves.reopen_issue),
    }


def _project_bindings(server: Server) -> dict[str, Binding]:
    return {
        project_ops.INIT.name: Binding(server.project_locator.register_directory),
        project_ops.LOCATE.name: Binding(server.project_locator.locate_directory),
        project_ops.LIST.name: Binding(projects.list_projects),
        project_ops.SHOW.name: Binding(projects.show_project),
        project_ops.EDIT.name: Binding(projects.edit_project),
        project_ops.LINK.name: Binding(server.project_links.link_project),
        project_ops.UNLINK.name: Binding(server.project_links.unlink_project),
        tracker_ops.STATUS.name: Binding(server.tracker_views.show_status),
        tracker_ops.SYNC.name: Binding(server.tracker_views.request_sync),
    }


def _member_bindings() -> dict[str, Binding]:
    return {
        member_ops.CREATE.name: Binding(members.create_member),
        member_ops.LIST.name: Binding(members.list_members),
        member_ops.SHOW.name: Binding(members.show_member),
        member_ops.EDIT.name: Binding(members.edit_member),
        member_ops.ARCHIVE.name: Binding(members.archive_member),
        team_ops.CREATE.name: Binding(teams.create_team),
        team_ops.LIST.name: Binding(teams.list_teams),
        team_ops.SHOW.name: Binding(teams.show_team),
        team_ops.ADD.name: Binding(teams.add_to_team),
        team_ops.REMOVE.name: Binding(teams.remove_from_team),
    }


def _session_bindings(server: Server) -> dict[str, Binding]:
    token_of = server.secrets.session_token
    return {
        session_ops.REGISTER.name: Binding(
            _with_quota(
                server.quotas.count_registration,
                lambda tx, caller, request: registration.register_session(tx, caller, request, token_of),
            ),
            hide_secret=lambda answer: msgspec.structs.replace(answer, token=""),
            restore_secret=lambda answer: msgspec.structs.replace(answer, token=token_of(answer.id)),
        ),
        session_ops.HEARTBEAT.name: Binding(server.heartbeats.answer_heartbeat),
        session_ops.END.name: Binding(sessions.end_session, after_commit=server.program_control.stop_ended_session),
        session_ops.LIST.name: Binding(session_views.list_page),
        session_ops.SHOW.name: Binding(session_views.show_session),
        session_ops.EXPLAIN.name: Binding(server.session_explainer.explain_session),
        session_ops.WAIT.name: Binding(server.session_waits.wait_for_sessions),
        session_ops.REPORT.name: Binding(session_reports.report_work),
        session_ops.ADOPT.name: Binding(adoption.adopt_sessions),
        session_ops.GRANT.name: Binding(sessions.set_grant),
        agent_ops.LIST.name: Binding(server.agent_views.list_page),
        session_ops.WHOAMI.name: Binding(sessions.identify_caller),
        primer_ops.PRIMER.name: Binding(primers.read_primer),
        file_ops.CHECK.name: Binding(client_files.check_file),
    }


def _spawn_bindings(server: Server) -> dict[str, Binding]:
    spawning, control = server.spawning, server.program_control
    template_views = TemplateViews(server.store)
    return {
        spawn_ops.SPAWN.name: Binding(
            spawning.spawn_session, before_write=spawning.check_spawn, after_commit=spawning.launch_program
        ),
        spawn_ops.PROMPT.name: Binding(session_control.send_prompt, after_commit=control.push_prompt),
        spawn_ops.INTERRUPT.name: Binding(control.interrupt_session),
        spawn_ops.STOP.name: Binding(control.stop_session),
        spawn_ops.RESUME.name: Binding(spawning.resume_session, after_commit=spawning.launch_program),
        terminal_ops.LOGS.name: Binding(server.terminals.read_logs),
        terminal_ops.ATTACH.name: Binding(server.terminals.find_terminal),
        spawn_ops.MANIFEST.name: Binding(session_control.read_manifest),
        spawn_ops.PROMPTS.name: Binding(control.show_prompts),
        spawn_ops.TEMPLATES.name: Binding(template_views.list_templates),
        spawn_ops.TEMPLATE.name: Binding(template_views.show_template),
        spawn_ops.REPORT.name: Binding(server.runner_reports.accept_report),
        tool_ops.LIST.name: Binding(tool_views.list_tools),
        hook_ops.LIST.name: Binding(server.hook_firings.list_all),
    }


def _run_bindings(server: Server) -> dict[str, Binding]:
    control = server.run_control
    return {
        run_ops.START.name: Binding(control.start_run, stream_answers=control.start_and_follow),
        run_ops.LIST.name: Binding(runs.list_runs),
        run_ops.SHOW.name: Binding(control.show_run, stream_answers=control.show_and_follow),
        run_ops.STOP.name: Binding(control.stop_run),
        run_ops.RESUME.name: Binding(control.resume_run, stream_answers=control.resume_and_follow),
        timeline_ops.SHOW.name: Binding(timelines.show_timeline),
        timeline_ops.EXPORT.name: Binding(timelines.export_timeline),
        worktree_ops.LIST.name: Binding(server.worktrees.list_worktrees),
        worktree_ops.DIFF.name: Binding(server.worktrees.show_diff),
        worktree_ops.MERGE.name: Binding(server.worktrees.merge_worktree),
        worktree_ops.REMOVE.name: Binding(server.worktree_removal.remove_worktrees),
    }


def _mail_bindings(server: Server) -> dict[str, Binding]:
    sending, reading = server.mail_sending, server.mail_reading
    return {
        mail_ops.SEND.name: Binding(
            sending.send_mail,
            before_write=server.project_names.make_names_known,
            after_commit=server.receipt_waits.wait_for_receipts,
            check_upload=sending.check_send,
            prepare_contents=sending.store_contents,
            count_bytes=sending.quota_bytes,
            needs_preparation=sending.needs_files,
            is_quick=sending.is_quick,
        ),
        mail_ops.POST_TO_PROJECT.name: Binding(
            sending.post_to_project,
            check_upload=sending.check_post_to_project,
            prepare_contents=sending.store_contents,
            count_bytes=sending.quota_bytes,
            needs_preparation=sending.needs_files,
            is_quick=sending.is_quick,
        ),
        mail_ops.BROADCAST.name: Binding(
            sending.send_broadcast,
            check_upload=sending.check_broadcast,
            prepare_contents=sending.store_contents,
            count_bytes=sending.quota_bytes,
            needs_preparation=sending.needs_files,
        ),
        mail_ops.INBOX.name: Binding(reading.read_inbox),
        mail_ops.WAIT.name: Binding(server.mail_waits.wait_for_mail),
        mail_ops.SHOW.name: Binding(reading.show_message),
        mail_ops.THREAD.name: Binding(reading.show_thread),
        mail_ops.CLAIM.name: Binding(issue_moves.claim_thread_or_issue, is_quick=_is_always_quick),
        mail_ops.RELEASE.name: Binding(issue_moves.release_thread_or_issue, is_quick=_is_always_quick),
        mail_ops.REPLY.name: Binding(
            sending.send_reply,
            after_commit=server.receipt_waits.wait_for_receipts,
            check_upload=sending.check_reply,
            prepare_contents=sending.store_contents,
            count_bytes=sending.quota_bytes,
            needs_preparation=sending.needs_files,
            is_quick=sending.is_quick,
        ),
        mail_ops.ACK.name: Binding(receipts.acknowledge_messages, is_quick=_is_always_quick),
        mail_ops.STATUS.name: Binding(receipts.show_status),
        mail_ops.SENT.name: Binding(reading.list_sent_mail),
        mail_ops.SEARCH.name: Binding(server.mail_search.search_mail),
        mail_ops.ATTACHMENT.name: Binding(reading.read_attachment),
        mail_ops.PROJECT_INBOX.name: Binding(reading.read_project_inbox),
        mail_ops.OF_TASK.name: Binding(reading.list_task_mail),
        mail_ops.CONFIRM.name: Binding(receipts.confirm, is_quick=_is_always_quick),
    }


def _ask_bindings(server: Server) -> dict[str, Binding]:
    return {
        ask_ops.LIST.name: Binding(asks.list_asks),
        ask_ops.SHOW.name: Binding(asks.show_ask),
        ask_ops.ANSWER.name: Binding(asks.answer_ask),
        ask_ops.CREATE.name: Binding(
            _with_quota(lambda tx, caller, request: server.quotas.count_ask(tx, caller), asks.create_ask),
            after_commit=server.ask_waits.wait_if_requested,
        ),
        ask_ops.WAIT.name: Binding(server.ask_waits.wait_for_answer),
        ask_ops.WITHDRAW.name: Binding(asks.withdraw_ask),
    }


def _server_bindings(server: Server) -> dict[str, Binding]:
    return {
        server_ops.STATUS.name: Binding(server.read_status),
        server_ops.STOP.name: Binding(server.request_stop),
        server_ops.RECOVERY.name: Binding(server.restart_findings.show_findings),
        server_ops.BACKUP.name: Binding(server.backups.create_backup),
        server_ops.EVENTS.name: Binding(server.event_log.read_page, stream_answers=server.event_log.stream_events),
        server_ops.CONFIG_GET.name: Binding(server.read_settings),
        server_ops.CONFIG_SET.name: Binding(server.change_setting),
    }
