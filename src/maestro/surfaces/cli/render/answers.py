"""Map every type of answer to its renderer, and render other types with a plain renderer."""

from __future__ import annotations

from typing import Any

import msgspec

from maestro.domain import asks as domain_asks
from maestro.domain import documents as domain_documents
from maestro.domain import events as domain_events
from maestro.domain import manifests as domain_manifests
from maestro.domain import members as domain_members
from maestro.domain import projects as domain_projects
from maestro.domain import runs as domain_runs
from maestro.domain import sessions as domain_sessions
from maestro.domain import tasks as domain_tasks
from maestro.operations import agents as agent_ops
from maestro.operations import asks as ask_ops
from maestro.operations import documents as document_ops
from maestro.operations import files as file_ops
from maestro.operations import hooks as hook_ops
from maestro.operations import issues as issue_ops
from maestro.operations import mail_shapes as mail_ops
from maestro.operations import members as member_ops
from maestro.operations import notifications as notification_ops
from maestro.operations import primer as primer_ops
from maestro.operations import projects as project_ops
from maestro.operations import runs as run_ops
from maestro.operations import server as server_ops
from maestro.operations import session_settings as setting_ops
from maestro.operations import sessions as session_ops
from maestro.operations import spawning as spawn_ops
from maestro.operations import task_shapes as task_ops
from maestro.operations import teams as team_ops
from maestro.operations import terminals as terminal_ops
from maestro.operations import timeline as timeline_ops
from maestro.operations import tools as tool_ops
from maestro.operations import trackers as tracker_ops
from maestro.operations import worktrees as worktree_ops
from maestro.surfaces.cli import local_commands as own_ops
from maestro.surfaces.cli.render import (
    agents,
    asks,
    builtin_commands,
    documents,
    hooks,
    issues,
    mail,
    members,
    notifications,
    projects,
    runs,
    server,
    sessions,
    spawning,
    story_page,
    tasks,
    timeline,
    trackers,
    worktrees,
)
from maestro.surfaces.cli.render.base import Rendered, Renderer, render_pairs
from maestro.surfaces.cli.render.style import View, safe_line

RENDERERS: dict[type, Renderer] = {
    domain_tasks.Task: tasks.render_task,
    task_ops.TaskList: tasks.render_task_list,
    task_ops.ReadyTaskList: tasks.render_ready_list,
    tracker_ops.TrackerStatus: trackers.render_tracker_status,
    task_ops.WaitingTasks: tasks.render_waiting_tasks,
    task_ops.WaitedTasks: tasks.render_waited_tasks,
    task_ops.TaskTree: tasks.render_task_tree,
    task_ops.TaskDetail: tasks.render_task_detail,
    task_ops.MovedTask: tasks.render_moved_task,
    task_ops.ReportedTask: tasks.render_reported_task,
    task_ops.DeletedTask: tasks.render_deleted_task,
    agent_ops.AgentList: agents.render_agent_list,
    issue_ops.OpenedIssue: issues.render_opened_issue,
    issue_ops.IssueList: issues.render_issue_list,
    issue_ops.IssueDetail: issues.render_issue,
    domain_documents.Document: documents.render_document,
    document_ops.DocumentList: documents.render_document_list,
    document_ops.DocumentContent: documents.render_content,
    document_ops.GateOutput: documents.render_content,
    domain_projects.Project: projects.render_project,
    project_ops.ProjectList: projects.render_project_list,
    project_ops.ProjectDetail: projects.render_project_detail,
    project_ops.ProjectLocation: projects.render_location,
    project_ops.ProjectLinks: projects.render_links,
    domain_members.Member: members.render_member,
    member_ops.MemberList: members.render_member_list,
    member_ops.MemberDetail: members.render_member_detail,
    member_ops.ChangedMember: members.render_changed_member,
    domain_members.Team: members.render_team,
    team_ops.TeamList: members.render_team_list,
    team_ops.TeamDetail: members.render_team_detail,
    team_ops.ChangedTeam: members.render_changed_team,
    domain_sessions.Session: sessions.render_session,
    session_ops.RegisteredSession: sessions.render_registered_session,
    session_ops.HeartbeatAnswer: sessions.render_heartbeat,
    session_ops.CallerIdentity: sessions.render_identity,
    primer_ops.Primer: sessions.render_primer,
    session_ops.SessionList: sessions.render_session_list,
    session_ops.SessionDetail: sessions.render_session_detail,
    session_ops.SessionExplanation: sessions.render_explanation,
    session_ops.WaitedSessions: sessions.render_waited_sessions,
    session_ops.ReportedSession: sessions.render_reported_session,
    session_ops.AdoptedSessions: sessions.render_adopted_sessions,
    setting_ops.GrantedSession: sessions.render_granted_session,
    file_ops.CheckedFile: sessions.render_checked_file,
    domain_runs.Run: runs.render_run,
    timeline_ops.Timeline: timeline.render_timeline,
    timeline_ops.ExportedTimeline: story_page.render_story,
    worktree_ops.RemovedWorktrees: worktrees.render_removed_worktrees,
    worktree_ops.WorktreeList: worktrees.render_worktree_list,
    worktree_ops.WorktreeDiff: worktrees.render_diff,
    worktree_ops.MergedWorktree: worktrees.render_merged_worktree,
    run_ops.RunList: runs.render_run_list,
    run_ops.RunView: runs.render_run_view,
    spawn_ops.SpawnedSession: spawning.render_spawned_session,
    spawn_ops.SessionPrompts: spawning.render_prompts,
    terminal_ops.SessionLogs: spawning.render_logs,
    terminal_ops.AgentTerminal: spawning.render_terminal,
    spawn_ops.TemplateList: spawning.render_template_list,
    spawn_ops.TemplateDetail: spawning.render_template,
    spawn_ops.RunnerReportAnswer: spawning.render_received_event,
    tool_ops.ToolList: spawning.render_tool_list,
    hook_ops.HookList: hooks.render_hook_list,
    domain_manifests.Manifest: spawning.render_manifest,
    mail_ops.SentMail: mail.render_sent_mail,
    mail_ops.MailStatus: mail.render_mail_status,
    mail_ops.SentList: mail.render_sent_list,
    mail_ops.InboxPage: mail.render_inbox,
    mail_ops.MessageDetail: mail.render_message_detail,
    mail_ops.Thread: mail.render_thread,
    mail_ops.MessageList: mail.render_message_list,
    mail_ops.ThreadClaim: mail.render_claim,
    mail_ops.AcknowledgedMail: mail.render_acknowledged,
    mail_ops.AttachmentContent: documents.render_content,
    mail_ops.ConfirmedReceipt: mail.render_confirmed,
    domain_asks.Ask: asks.render_ask,
    ask_ops.AskList: asks.render_ask_list,
    notification_ops.NotificationTest: notifications.render_test,
    notification_ops.NotificationList: notifications.render_notification_list,
    server_ops.ServerStatus: server.render_status,
    server_ops.StoppedServer: server.render_stopped,
    server_ops.RecoveryReport: server.render_recovery,
    server_ops.BackupResult: server.render_backup,
    server_ops.ShownSettings: server.render_settings,
    domain_events.Event: server.render_event,
    server_ops.EventList: server.render_event_list,
    server_ops.Resync: server.render_resync,
    own_ops.CommandInfo: builtin_commands.render_command,
    own_ops.CommandList: builtin_commands.render_command_list,
    own_ops.Board: builtin_commands.render_board,
}

_encoder = msgspec.json.Encoder()


def render_answer(answer: Any, view: View) -> Rendered:
    """Render an answer as text."""
    for kind in type(answer).__mro__:
        if kind in RENDERERS:
            return RENDERERS[kind](answer, view)
    return render_plain(answer, view)


def render_next_answer(last: Any, answer: Any, view: View) -> Rendered:
    """Render an answer that follows another answer. Of a run, render only the changes."""
    if isinstance(answer, run_ops.RunView) and isinstance(last, run_ops.RunView):
        return runs.render_run_changes(last, answer)
    return render_answer(answer, view)


def render_plain(answer: Any, view: View) -> Rendered:
    """Render names and values, for a type without a renderer."""
    builtins = msgspec.to_builtins(answer)
    if not isinstance(builtins, dict):
        return Rendered(f"{safe_line(_value_text(builtins))}\n")
    return Rendered(
        render_pairs((safe_line(name), safe_line(_value_text(value))) for name, value in builtins.items())
    )


def encode_json(answer: Any, *, pretty: bool = False) -> bytes:
    """Encode an answer as JSON, with a newline at the end."""
    data = _encoder.encode(answer)
    return (msgspec.json.format(data, indent=2) if pretty else data) + b"\n"


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else _encoder.encode(value).decode()
