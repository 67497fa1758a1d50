"""Puts a manifest together from the store: all that a session is told when it starts."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import msgspec

from maestro.core import limits
from maestro.domain import manifests as shapes
from maestro.domain.callers import THE_SERVER, Caller, may_call
from maestro.domain.documents import Document
from maestro.domain.manifests import Manifest
from maestro.domain.members import Member, Permission
from maestro.domain.messages import SenderKind
from maestro.domain.projects import Project
from maestro.domain.sessions import Session
from maestro.domain.sight import may_read_task, redact_task
from maestro.domain.tasks import Task
from maestro.operations.base import Operation
from maestro.services.tasks import moves
from maestro.store.base import Tx


class Brief(msgspec.Struct, frozen=True, kw_only=True):
    """What a manifest is made from, besides the store."""

    session: Session
    project: Project
    directory: str
    permission: Permission
    strategy: str
    template: str
    model: str | None
    reach: shapes.Reach
    members: Sequence[Member] = ()
    team: str | None = None
    tasks: Sequence[Task] = ()
    references: Sequence[Task] = ()
    reader: Caller = THE_SERVER  # on whose behalf tasks are told: what that caller may not read is left out
    skills: Sequence[shapes.Skill] = ()
    directive: shapes.Directive | None = None
    workspace: shapes.Workspace | None = None
    depth_left: int | None = None


def build(tx: Tx, brief: Brief, operations: Sequence[Operation]) -> Manifest:
    """The manifest of a session that is about to start."""
    session, project = brief.session, brief.project
    caller = tx.sessions.caller(session.id)
    return Manifest(
        session=shapes.Session(
            id=session.id,
            name=session.name,
            mode=session.mode,
            strategy=brief.strategy,
            template=brief.template,
            address=session.address,
            tool=session.tool,
            model=brief.model,
        ),
        project=shapes.Project(id=project.id, name=project.name, key=project.key, directory=brief.directory),
        human=session.human,
        permission=brief.permission,
        grant=session.grant,
        reach=brief.reach,
        workspace=brief.workspace,
        members=tuple(_member(member) for member in brief.members),
        team=brief.team,
        roster=_roster(tx, project),
        tasks=tuple(_task(tx, task, brief.reader, texts=False) for task in brief.tasks),
        reference_tasks=tuple(_task(tx, task, brief.reader, texts=True) for task in brief.references),
        coordinator=_coordinator(tx, session),
        directive=brief.directive,
        siblings=_siblings(tx, session),
        skills=tuple(brief.skills),
        limits=shapes.Limits(workers_max=limits.spawns_of_one_coordinator_max, depth_left=brief.depth_left),
        commands=tuple(
            shapes.Command(operation=one.name, words=one.command.words, summary=one.summary)
            for one in operations
            if one.command is not None and caller is not None and may_call(caller, one.name, one.callers)
        ),
    )


def anew(tx: Tx, before: Manifest, session: Session, *, task_ids: Sequence[str], resumed: shapes.Resumed) -> Manifest:
    """The manifest of a session that is started again: as before, with what has changed around it."""
    found = [task for task_id in task_ids if (task := tx.tasks.get(task_id)) is not None]
    return msgspec.structs.replace(
        before,
        session=msgspec.structs.replace(before.session, name=session.name),
        tasks=tuple(_task(tx, task, THE_SERVER, texts=False) for task in found),
        coordinator=_coordinator(tx, session),
        siblings=_siblings(tx, session),
        resumed=resumed,
    )


def directive(subject: str, text: str, *, sender: str, kind: SenderKind, message_id: str) -> shapes.Directive:
    """What a session is started with, in the words of whoever starts it."""
    return shapes.Directive(subject=subject, text=text, sender=sender, sender_kind=kind, message_id=message_id)


def _member(member: Member) -> shapes.TeamMember:
    return shapes.TeamMember(
        id=member.id,
        name=member.name,
        role=member.role,
        identity=member.identity,
        avatar=member.avatar,
        mail_id=member.mail_id,
        skills=tuple(member.skills),
        model=member.model,
        agent_tool=member.tool.value if member.tool else None,
    )


def _roster(tx: Tx, project: Project) -> tuple[shapes.TeamMember, ...]:
    found = tx.members.page(project.id, after=("", ""), limit=limits.team_members_max)
    return tuple(_member(member) for member in found)


def _task(tx: Tx, task: Task, reader: Caller, *, texts: bool) -> shapes.Task:
    many = limits.page_items_default
    documents = tx.documents.of_task(task.id, limit=many) if may_read_task(reader, task) else []
    task = redact_task(reader, task)
    parent = tx.tasks.get(task.parent_id) if task.parent_id else None
    blockers = tx.tasks.blockers(task.id, limit=limits.blockers_shown_max) if task.open_blockers else []
    return shapes.Task(
        id=task.id,
        ref=task.ref,
        title=task.title,
        status=task.status,
        priority=task.priority,
        opened_by=_opened_by(tx, task),
        description=task.description,
        ready=task.ready,
        stage=task.stage,
        waits_for_stage=moves.earlier_stage(tx, task),
        parent=parent.ref if parent else None,
        member=task.member,
        holder=task.holder,
        acceptance=tuple(task.accept),
        gates=tuple(task.gates),
        depends_on=_links(tx.tasks.dependencies(task.id, limit=many)),
        blockers=_links(blockers),
        children=_links(tx.tasks.children(task.id, limit=many)),
        documents=tuple(_document(tx, one, texts=texts) for one in documents),
    )


def _document(tx: Tx, document: Document, *, texts: bool) -> shapes.Document:
    """`texts`: with what it says, if that is text and lies in its row; else its reader fetches it."""
    kept = tx.documents.content(document).body if texts else None
    text = ""
    if kept is not None:
        with contextlib.suppress(UnicodeDecodeError):
            text = kept.decode()
    return shapes.Document(
        id=document.id,
        title=document.title,
        file_name=document.file_name,
        bytes=document.bytes,
        text=text[: limits.prompt_text_chars_max],
    )


def _opened_by(tx: Tx, task: Task) -> str | None:
    """Who of another project asks for it, as the server knows."""
    if task.from_project_id is None or task.from_project_id == task.project_id:
        return None
    project, session = tx.projects.get(task.from_project_id), tx.sessions.get(task.created_by)
    who = (session.address or session.name) if session else task.created_by
    return f"{who}, project {project.name}" if project else who


def _links(found: Sequence[Task]) -> tuple[shapes.TaskLink, ...]:
    return tuple(shapes.TaskLink(id=task.id, ref=task.ref, title=task.title, status=task.status) for task in found)


def _coordinator(tx: Tx, session: Session) -> shapes.Coordinator | None:
    parent = tx.sessions.get(session.parent_id) if session.parent_id else None
    if parent is None:
        return None
    member = tx.members.by_name(parent.project_id, parent.member) if parent.member else None
    return shapes.Coordinator(
        session_id=parent.id,
        name=parent.name,
        member_id=member.id if member else None,
        member_name=parent.member,
        address=parent.address,
    )


def _siblings(tx: Tx, session: Session) -> tuple[shapes.Sibling, ...]:
    if session.parent_id is None:
        return ()
    found = tx.sessions.children(session.parent_id, limit=limits.page_items_default)
    return tuple(
        shapes.Sibling(
            session_id=one.id,
            name=one.name,
            mode=one.mode,
            status=one.status,
            member=one.member,
            tasks=_links([task for task_id in one.tasks if (task := tx.tasks.get(task_id))]),
        )
        for one in found
        if one.id != session.id
    )
