"""Build a session's manifest from the store: all facts for the session's first prompts."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import msgspec

from maestro.core import limits
from maestro.domain import manifests as shapes
from maestro.domain.callers import SERVER_CALLER, Caller, may_call
from maestro.domain.documents import Document
from maestro.domain.manifests import Manifest
from maestro.domain.members import Member, Permission
from maestro.domain.messages import SenderKind
from maestro.domain.projects import Project
from maestro.domain.sessions import Session
from maestro.domain.tasks import Task
from maestro.domain.visibility import may_read_task, redact_task
from maestro.operations.base import Operation
from maestro.services.tasks import moves
from maestro.store.base import Tx


class ManifestBrief(msgspec.Struct, frozen=True, kw_only=True):
    """The input for a manifest besides the store."""

    session: Session
    project: Project
    directory: str
    permission: Permission
    strategy: str
    template: str
    model: str | None
    reach: shapes.AgentReach
    members: Sequence[Member] = ()
    team: str | None = None
    tasks: Sequence[Task] = ()
    references: Sequence[Task] = ()
    reader: Caller = SERVER_CALLER  # the manifest leaves out texts of tasks that the reader may not read
    skills: Sequence[shapes.ManifestSkill] = ()
    directive: shapes.ManifestDirective | None = None
    workspace: shapes.ManifestWorkspace | None = None
    depth_left: int | None = None


def build_manifest(tx: Tx, brief: ManifestBrief, operations: Sequence[Operation]) -> Manifest:
    """Return the manifest of a session that is about to start."""
    session, project = brief.session, brief.project
    caller = tx.sessions.live_caller(session.id)
    return Manifest(
        session=shapes.ManifestSession(
            id=session.id,
            name=session.name,
            mode=session.mode,
            strategy=brief.strategy,
            template=brief.template,
            address=session.address,
            tool=session.tool,
            model=brief.model,
        ),
        project=shapes.ManifestProject(id=project.id, name=project.name, key=project.key, directory=brief.directory),
        human=session.human,
        permission=brief.permission,
        grant=session.grant,
        reach=brief.reach,
        workspace=brief.workspace,
        members=tuple(_member_entry(member) for member in brief.members),
        team=brief.team,
        roster=_team_roster(tx, project),
        tasks=tuple(_task_entry(tx, task, brief.reader, with_texts=False) for task in brief.tasks),
        reference_tasks=tuple(_task_entry(tx, task, brief.reader, with_texts=True) for task in brief.references),
        coordinator=_coordinator(tx, session),
        directive=brief.directive,
        siblings=_siblings(tx, session),
        skills=tuple(brief.skills),
        limits=shapes.ManifestLimits(workers_max=limits.spawns_of_one_coordinator_max, depth_left=brief.depth_left),
        commands=tuple(
            shapes.ManifestCommand(
                operation=operation.name, command=operation.command.command_path, summary=operation.summary
            )
            for operation in operations
            if operation.command is not None
            and caller is not None
            and may_call(caller, operation.name, operation.callers)
        ),
    )


def rebuild_manifest(
    tx: Tx, previous: Manifest, session: Session, *, task_ids: Sequence[str], resumed: shapes.LastStart
) -> Manifest:
    """Return the manifest of a restarted session: the previous manifest with present tasks and sessions."""
    tasks = [task for task_id in task_ids if (task := tx.tasks.get(task_id)) is not None]
    return msgspec.structs.replace(
        previous,
        session=msgspec.structs.replace(previous.session, name=session.name),
        tasks=tuple(_task_entry(tx, task, SERVER_CALLER, with_texts=False) for task in tasks),
        coordinator=_coordinator(tx, session),
        siblings=_siblings(tx, session),
        resumed=resumed,
    )


def create_directive(
    subject: str, text: str, *, sender: str, kind: SenderKind, message_id: str
) -> shapes.ManifestDirective:
    """Return the directive of a new session, in the caller's own text."""
    return shapes.ManifestDirective(
        subject=subject, text=text, sender=sender, sender_kind=kind, message_id=message_id
    )


def _member_entry(member: Member) -> shapes.ManifestMember:
    return shapes.ManifestMember(
        id=member.id,
        name=member.name,
        role=member.role,
        identity=member.identity,
        avatar=member.avatar,
        mail_id=member.mail_id,
        skills=tuple(member.skills),
        model=member.model,
        agent_tool=member.tool,
    )


def _team_roster(tx: Tx, project: Project) -> tuple[shapes.ManifestMember, ...]:
    members = tx.members.list_page(project.id, after=("", ""), limit=limits.team_members_max)
    return tuple(_member_entry(member) for member in members)


def _task_entry(tx: Tx, task: Task, reader: Caller, *, with_texts: bool) -> shapes.ManifestTask:
    limit = limits.page_items_default
    documents = tx.documents.of_task(task.id, limit=limit) if may_read_task(reader, task) else []
    task = redact_task(reader, task)
    parent = tx.tasks.get(task.parent_id) if task.parent_id else None
    blockers = tx.tasks.list_blockers(task.id, limit=limits.blockers_shown_max) if task.open_blockers else []
    return shapes.ManifestTask(
        id=task.id,
        ref=task.ref,
        title=task.title,
        status=task.status,
        priority=task.priority,
        opened_by=_opener_name(tx, task),
        description=task.description,
        ready=task.ready,
        stage=task.stage,
        waits_for_stage=moves.earlier_stage(tx, task),
        parent=parent.ref if parent else None,
        member=task.member,
        holder=task.holder,
        acceptance=tuple(task.accept),
        gates=tuple(task.gates),
        depends_on=_task_links(tx.tasks.list_dependencies(task.id, limit=limit)),
        blockers=_task_links(blockers),
        children=_task_links(tx.tasks.list_children(task.id, limit=limit)),
        documents=tuple(_document_entry(tx, document, with_text=with_texts) for document in documents),
    )


def _document_entry(tx: Tx, document: Document, *, with_text: bool) -> shapes.ManifestDocument:
    """Return a document's entry. `with_text` adds the content if it is text and stored in the document's row.

    The agent fetches any other content itself.
    """
    body = tx.documents.get_content(document).body if with_text else None
    text = ""
    if body is not None:
        with contextlib.suppress(UnicodeDecodeError):
            text = body.decode()
    return shapes.ManifestDocument(
        id=document.id,
        title=document.title,
        file_name=document.file_name,
        bytes=document.bytes,
        text=text[: limits.prompt_text_chars_max],
    )


def _opener_name(tx: Tx, task: Task) -> str | None:
    """Return the agent and project that opened the task as an issue; None for a task of its own project."""
    if task.from_project_id is None or task.from_project_id == task.project_id:
        return None
    project, session = tx.projects.get(task.from_project_id), tx.sessions.get(task.created_by)
    opener = (session.address or session.name) if session else task.created_by
    return f"{opener}, project {project.name}" if project else opener


def _task_links(tasks: Sequence[Task]) -> tuple[shapes.ManifestTaskLink, ...]:
    return tuple(
        shapes.ManifestTaskLink(id=task.id, ref=task.ref, title=task.title, status=task.status) for task in tasks
    )


def _coordinator(tx: Tx, session: Session) -> shapes.ManifestCoordinator | None:
    parent = tx.sessions.get(session.parent_id) if session.parent_id else None
    if parent is None:
        return None
    member = tx.members.by_name(parent.project_id, parent.member) if parent.member else None
    return shapes.ManifestCoordinator(
        session_id=parent.id,
        name=parent.name,
        member_id=member.id if member else None,
        member_name=parent.member,
        address=parent.address,
    )


def _siblings(tx: Tx, session: Session) -> tuple[shapes.SiblingSession, ...]:
    if session.parent_id is None:
        return ()
    children = tx.sessions.list_children(session.parent_id, limit=limits.page_items_default)
    return tuple(
        shapes.SiblingSession(
            session_id=sibling.id,
            name=sibling.name,
            mode=sibling.mode,
            status=sibling.status,
            member=sibling.member,
            tasks=_task_links([task for task_id in sibling.tasks if (task := tx.tasks.get(task_id))]),
        )
        for sibling in children
        if sibling.id != session.id
    )
