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
from maestro.operations import primer as primer_ops
from maestro.operations import projects as project_ops
from maestro.operations import runs as run_ops
from maestro.operations import server as server_ops
from maestro.operations import sessions as session_ops
from maestro.operations import spawning as spawn_ops
from maestro.operations import task_shapes as task_ops
from maestro.operations import teams as team_ops
from maestro.operations import terminals as terminal_ops
from maestro.operations import timeline as timeline_ops
from maestro.operations import tools as tool_ops
from maestro.operations import trackers as tracker_ops
from maestro.operations import worktrees as worktree_ops
from maestro.surfaces.cli import own as own_ops
from maestro.surfaces.cli.render import (
    agents,
    asks,
    documents,
    hooks,
    issues,
    mail,
    members,
    own,
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
from maestro.surfaces.cli.render.base import Rendered, Renderer, pairs
from maestro.surfaces.cli.render.style import View, line

RENDERERS: dict[type, Renderer] = {
    domain_tasks.Task: tasks.task,
    task_ops.TaskList: tasks.task_list,
    tracker_ops.TrackerStatus: trackers.status,
    task_ops.WaitingTasks: tasks.waiting_tasks,
    task_ops.WaitedTasks: tasks.waited_tasks,
    task_ops.TaskTree: tasks.tree,
    task_ops.TaskDetail: tasks.detail,
    task_ops.MovedTask: tasks.moved,
    task_ops.ReportedTask: tasks.reported,
    task_ops.Deleted: tasks.deleted,
    agent_ops.AgentList: agents.agent_list,
    issue_ops.OpenedIssue: issues.opened,
    issue_ops.IssueList: issues.issue_list,
    issue_ops.IssueDetail: issues.detail,
    domain_documents.Document: documents.document,
    document_ops.DocumentList: documents.document_list,
    document_ops.DocumentContent: documents.content,
    document_ops.GateOutput: documents.content,
    domain_projects.Project: projects.project,
    project_ops.ProjectList: projects.project_list,
    project_ops.ProjectDetail: projects.detail,
    project_ops.Place: projects.place,
    project_ops.Linked: projects.linked,
    domain_members.Member: members.member,
    member_ops.MemberList: members.member_list,
    member_ops.MemberDetail: members.member_detail,
    member_ops.ChangedMember: members.changed_member,
    domain_members.Team: members.team,
    team_ops.TeamList: members.team_list,
    team_ops.TeamDetail: members.team_detail,
    team_ops.ChangedTeam: members.changed_team,
    domain_sessions.Session: sessions.session,
    session_ops.RegisteredSession: sessions.registered,
    session_ops.Beat: sessions.beat,
    session_ops.Identity: sessions.identity,
    primer_ops.Primer: sessions.primer,
    session_ops.SessionList: sessions.session_list,
    session_ops.SessionDetail: sessions.detail,
    session_ops.Explanation: sessions.explanation,
    session_ops.WaitedSessions: sessions.waited,
    session_ops.ReportedSession: sessions.reported,
    session_ops.Adopted: sessions.adopted,
    session_ops.GrantedSession: sessions.granted,
    file_ops.CheckedFile: sessions.checked_file,
    domain_runs.Run: runs.run,
    timeline_ops.Timeline: timeline.timeline,
    timeline_ops.Story: story_page.page,
    worktree_ops.RemovedWorktrees: worktrees.removed,
    worktree_ops.WorktreeList: worktrees.worktree_list,
    worktree_ops.Diff: worktrees.diff,
    worktree_ops.MergedWorktree: worktrees.merged,
    run_ops.RunList: runs.run_list,
    run_ops.RunView: runs.run_view,
    spawn_ops.SpawnedSession: spawning.spawned,
    spawn_ops.Prompts: spawning.prompts,
    terminal_ops.Logs: spawning.logs,
    terminal_ops.AgentTerminal: spawning.terminal,
    spawn_ops.TemplateList: spawning.template_list,
    spawn_ops.TemplateDetail: spawning.template,
    spawn_ops.Heard: spawning.heard,
    tool_ops.ToolList: spawning.tool_list,
    hook_ops.HookList: hooks.hook_list,
    domain_manifests.Manifest: spawning.manifest,
    mail_ops.SentMail: mail.sent,
    mail_ops.MailStatus: mail.status,
    mail_ops.SentList: mail.sent_list,
    mail_ops.Inbox: mail.inbox,
    mail_ops.MessageDetail: mail.detail,
    mail_ops.Thread: mail.thread,
    mail_ops.MessageList: mail.message_list,
    mail_ops.ThreadClaim: mail.claim,
    mail_ops.Acknowledged: mail.acknowledged,
    mail_ops.AttachmentContent: documents.content,
    mail_ops.Confirmed: mail.confirmed,
    domain_asks.Ask: asks.ask,
    ask_ops.AskList: asks.ask_list,
    server_ops.ServerStatus: server.status,
    server_ops.Stopped: server.stopped,
    server_ops.Recovery: server.recovery,
    server_ops.BackupDone: server.backup,
    server_ops.Settings: server.settings,
    domain_events.Event: server.event,
    server_ops.EventList: server.event_list,
    server_ops.Resync: server.resync,
    own_ops.CommandInfo: own.command,
    own_ops.CommandList: own.command_list,
    own_ops.Board: own.board,
}

_encoder = msgspec.json.Encoder()


def render(answer: Any, view: View) -> Rendered:
    """Render an answer as text."""
    for kind in type(answer).__mro__:
        if kind in RENDERERS:
            return RENDERERS[kind](answer, view)
    return plain(answer, view)


def render_next(last: Any, answer: Any, view: View) -> Rendered:
    """Render an answer that follows another answer. Of a run, render only the changes."""
    if isinstance(answer, run_ops.RunView) and isinstance(last, run_ops.RunView):
        return runs.changed(last, answer)
    return render(answer, view)


def plain(answer: Any, view: View) -> Rendered:
    """Render names and values, for a type without a renderer."""
    builtins = msgspec.to_builtins(answer)
    if not isinstance(builtins, dict):
        return Rendered(f"{line(_value_text(builtins))}\n")
    return Rendered(pairs((line(name), line(_value_text(value))) for name, value in builtins.items()))


def as_json(answer: Any, *, pretty: bool = False) -> bytes:
    """Encode an answer as JSON, with a newline at the end."""
    data = _encoder.encode(answer)
    return (msgspec.json.format(data, indent=2) if pretty else data) + b"\n"


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else _encoder.encode(value).decode()
