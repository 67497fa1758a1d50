"""Spawn sessions: decide and write a session first, and start the program afterwards.

One transaction writes the session, the claims on its tasks, its directive as mail, and its manifest. Therefore two
spawns never get the same task, and the record exists whatever happens to the program.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from maestro.core import errors, limits
from maestro.domain import manifests as shapes
from maestro.domain.callers import Caller
from maestro.domain.conversations import StateReporter
from maestro.domain.manifests import Manifest
from maestro.domain.members import Member
from maestro.domain.messages import MessageType, SenderKind
from maestro.domain.projects import Project
from maestro.domain.sessions import Session, SessionMode, SessionStatus
from maestro.domain.spawns import Spawn, SpawnLimits
from maestro.domain.tasks import Task
from maestro.domain.templates import WorkflowTemplate
from maestro.events.hub import Hub
from maestro.operations import sessions as session_ops
from maestro.operations import spawning as ops
from maestro.operations import task_shapes
from maestro.operations.base import Operation
from maestro.prompts import compose, templates
from maestro.services.access import session_relations
from maestro.services.access.scope import find_project, find_task, require_own_project
from maestro.services.mail.create import Draft, MailTarget, inline_body, post_message, sender_of
from maestro.services.sessions import registration
from maestro.services.supervision import manifests, resume
from maestro.services.supervision.launch import ProgramLauncher
from maestro.services.supervision.manifests import ManifestBrief
from maestro.services.supervision.spawn_options import (
    child_grant,
    choose_directory,
    choose_driver,
    choose_skills,
    choose_template,
    choose_tool,
    count_ancestors,
    find_members,
    require_within_limits,
    start_directory,
    usual_permission,
)
from maestro.services.tasks import moves
from maestro.store.base import RollbackWithAnswer, Store, Tx
from maestro.tools.descriptor import ToolDescriptor

WORKTREES = "worktrees"


class Spawner:
    """Spawns and resumes sessions whose programs Maestro starts."""

    def __init__(
        self,
        store: Store,
        hub: Hub,
        launcher: ProgramLauncher,
        home: Path,
        *,
        token_of: Callable[[str], str],
        operations: Callable[[], Sequence[Operation]],
        bounds: SpawnLimits,
    ) -> None:
        self._store = store
        self._hub = hub
        self._launcher = launcher
        self._home = home
        self._token_of = token_of
        self._operations = operations
        self._bounds = bounds
        self._known_starts: set[tuple[str, int]] = set()

    async def check_spawn(self, caller: Caller, request: ops.SpawnSession) -> None:
        """Refuse a spawn with a worktree where no worktree can be made, before the session is written."""

        def directory(tx: Tx) -> str:
            return choose_directory(tx, request.path, find_project(tx, caller, request.project))

        if request.worktree:
            await self._launcher.check_worktrees(directory)
        with contextlib.suppress(errors.MaestroError):  # `spawn_session` raises the same error
            checkout = await self._store.read(directory, quick=True)
            # Load the templates into the cache before the transaction: no other caller has to wait for the files.
            await asyncio.to_thread(templates.load_templates, Path(checkout) / templates.FOLDER)

    def spawn_session(
        self,
        tx: Tx,
        caller: Caller,
        request: ops.SpawnSession,
        *,
        run_id: str | None = None,
    ) -> ops.SpawnedSession:
        """Decide and write a new session. A dry run undoes all writes."""
        project = find_project(tx, caller, request.project)
        require_own_project(caller, project, action="spawn sessions")
        require_within_limits(tx, caller, project, self._bounds)
        tool = choose_tool(tx, project, request.tool, request.arguments, request.member)
        members = find_members(tx, project, request.member)
        if request.team is not None and tx.members.teams.by_name(project.id, request.team) is None:
            raise errors.NotFound(f"There is no team {request.team!r}.", hint="List the teams: maestro team list")
        tasks = [find_task(tx, caller, ref, project=project.id) for ref in request.task]
        directory = choose_directory(tx, request.path, project)
        template = choose_template(request, directory)
        permission = request.permission or usual_permission(request.mode, members)
        grant = child_grant(tx, caller, request, tool=tool.name, permission=permission)
        request = msgspec.structs.replace(request, grant=grant)
        session = self._register(tx, caller, request, project, tool, members)
        self._claim_tasks(tx, session, request.mode, tasks)
        brief = ManifestBrief(
            session=session,
            project=project,
            directory=directory,
            permission=permission,
            strategy=template.strategy,
            template=template.name,
            model=request.model or next((member.model for member in members if member.model), None),
            reach=tool.reach_with(permission),
            members=members,
            team=request.team,
            tasks=[tx.tasks.get(task.id) or task for task in tasks],
            references=[find_task(tx, caller, ref, project=project.id) for ref in request.reference],
            reader=caller,
            skills=choose_skills(request, members, tool, directory=directory, home=self._home),
            directive=_post_directive(tx, caller, request, session),
            workspace=self._choose_workspace(request, project, session, directory),
            depth_left=self._bounds.depth_max - count_ancestors(tx, session, self._bounds),
        )
        manifest = manifests.build_manifest(tx, brief, self._operations())
        tx.spawns.insert(_spawn_of(tx, brief, request, tool, run_id), manifest=shapes.encode_manifest(manifest))
        driver = choose_driver(tool, request.driver)
        reporter = tool.abilities.drivers[driver]
        if reporter is not StateReporter.NONE:
            tx.conversations.insert(
                session.id, driver=driver, state_reporter=reporter, allow=request.allow, ask_policy=request.asks
            )
        if request.dry_run:
            raise RollbackWithAnswer(_spawned_answer(session, brief, manifest, template))
        return _spawned_answer(session, brief)

    def resume_session(self, tx: Tx, caller: Caller, request: session_ops.OneSession) -> ops.SpawnedSession:
        """Start an ended session again: the same session, with its name, directory, tasks and mailbox."""
        ended = session_relations.find_session(tx, caller, request.id, project=request.project)
        session_relations.require_authority(tx, caller, ended, action="resume")
        spawn = tx.spawns.get(ended.id)
        if spawn is None:
            raise errors.Conflict(
                f"{ended.name} was not started by Maestro.", hint="Start its program again by hand."
            )
        if ended.ended_at is None:
            raise errors.Conflict(f"{ended.name} has not ended: it is {ended.status}.", data={"status": ended.status})
        project = find_project(tx, caller, ended.project_id)
        require_within_limits(tx, caller, project, self._bounds)
        restarted = resume.restart_session(tx, caller, ended, spawn)
        tx.recoveries.clear_next_step(ended.id)
        return _resumed_answer(tx, restarted)

    def _choose_workspace(
        self, request: ops.SpawnSession, project: Project, session: Session, directory: str
    ) -> shapes.ManifestWorkspace:
        """Return the session's workspace: the caller's directory in its checkout, or a worktree of its own."""
        if not request.worktree:
            return shapes.ManifestWorkspace(
                directory=start_directory(request.path, directory), address=session.address
            )
        worktree = self._home / WORKTREES / project.name / f"{session.name}-{session.id[-6:]}"
        branch = f"maestro/{session.name}-{session.id[-6:]}"
        return shapes.ManifestWorkspace(directory=str(worktree), branch=branch, base="HEAD", worktree=True)

    async def launch_program(
        self, caller: Caller, request: ops.SpawnSession, answer: ops.SpawnedSession
    ) -> ops.SpawnedSession:
        """Start the program, after the commit. A session that cannot be started fails and gives its tasks back."""
        start = (answer.id, answer.epoch)
        if answer.dry_run or start in self._known_starts:
            return answer  # a dry run, or a repeated request with the same key
        self._known_starts.add(start)
        warnings: list[str] = []
        with self._hub.subscribe([answer.id]) as subscription, contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limits.spawn_answer_seconds):
                warnings = await self._launcher.start_or_fail(answer.id)
                while (await self._read_session(answer)).status is SessionStatus.SPAWNING:
                    await subscription.wait_for_event()
                    subscription.take_events()
        return msgspec.structs.replace(await self._add_present_state(answer), warnings=warnings)

    async def _add_present_state(self, answer: ops.SpawnedSession) -> ops.SpawnedSession:
        """Return the answer with the session's present state; raise if its program could not be started."""
        session = await self._read_session(answer)
        spawn = await self._store.read(lambda tx: tx.spawns.get(answer.id), quick=True)
        has_failed = session.status is SessionStatus.FAILED and session.pid is None
        if has_failed and spawn is not None and spawn.ended_at is not None:
            raise errors.NotStarted(
                f"{session.name} could not be started: {spawn.tail or 'the reason is not known'}",
                hint=f"maestro session show {session.name}",
                data={"id": session.id},
            )
        return msgspec.structs.replace(answer, **msgspec.structs.asdict(session))

    async def _read_session(self, answer: ops.SpawnedSession) -> Session:
        session = await self._store.read(lambda tx: tx.sessions.get(answer.id), quick=True)
        assert session is not None
        return session

    def _register(
        self,
        tx: Tx,
        caller: Caller,
        request: ops.SpawnSession,
        project: Project,
        tool: ToolDescriptor,
        members: Sequence[Member],
    ) -> Session:
        request_to_register = session_ops.RegisterSession(
            project=project.id,
            mode=request.mode,
            name=request.name,
            member=members[0].name if members else None,
            tool=tool.name,
            task=request.task,
            path=request.path,
            grant=request.grant,
        )
        registered = registration.register_session(tx, caller, request_to_register, self._token_of, is_spawned=True)
        session = tx.sessions.get(registered.id)
        assert session is not None
        return session

    def _claim_tasks(self, tx: Tx, session: Session, mode: SessionMode, tasks: Sequence[Task]) -> None:
        """Claim the tasks for an executing session before its program runs; refuse tasks that are not ready."""
        if mode is not SessionMode.EXECUTE:
            return
        worker = tx.sessions.live_caller(session.id)
        assert worker is not None
        for task in tasks:
            moves.start_task(tx, worker, task_shapes.StartTask(id=task.id))


def _spawned_answer(
    session: Session, brief: ManifestBrief, manifest: Manifest | None = None, template: WorkflowTemplate | None = None
) -> ops.SpawnedSession:
    return ops.SpawnedSession(
        **msgspec.structs.asdict(session),
        strategy=brief.strategy,
        template=brief.template,
        permission=brief.permission,
        directory=brief.workspace.directory if brief.workspace else brief.directory,
        branch=brief.workspace.branch if brief.workspace else None,
        dry_run=manifest is not None,
        manifest=manifest,
        system_prompt=compose.system_prompt(manifest, template) if manifest and template else None,
        task_prompt=compose.task_prompt(manifest) if manifest else None,
    )


def _resumed_answer(tx: Tx, session: Session) -> ops.SpawnedSession:
    """Return the answer for a restarted session."""
    spawn, data = tx.spawns.get(session.id), tx.spawns.get_manifest(session.id)
    assert spawn is not None and data is not None
    manifest = shapes.decode_manifest(data)
    return ops.SpawnedSession(
        **msgspec.structs.asdict(session),
        strategy=spawn.strategy,
        template=spawn.template,
        permission=spawn.permission,
        directory=spawn.directory,
        branch=manifest.workspace.branch if manifest.workspace else None,
        epoch=spawn.epoch,
    )


def _spawn_of(
    tx: Tx, brief: ManifestBrief, request: ops.SpawnSession, tool: ToolDescriptor, run_id: str | None
) -> Spawn:
    return Spawn(
        session_id=brief.session.id,
        tool=tool.name,
        arguments=request.arguments,
        model=brief.model,
        permission=brief.permission,
        strategy=brief.strategy,
        template=brief.template,
        directory=brief.workspace.directory if brief.workspace else brief.directory,
        run_id=run_id,
        runner_pid=None,
        runner_started=None,
        exit_code=None,
        exit_signal=None,
        tail=None,
        created_at=tx.at,
        ended_at=None,
    )


def _post_directive(
    tx: Tx, caller: Caller, request: ops.SpawnSession, session: Session
) -> shapes.ManifestDirective | None:
    """Post the first directive as mail, for the record. The manifest holds the directive too: no race can lose it."""
    if not request.message and not request.subject:
        return None
    subject = request.subject or "Your task"
    sender = sender_of(tx, caller)
    message = post_message(
        tx,
        Draft(
            sender=sender,
            project_id=session.project_id,
            to=[session.name],
            targets=[MailTarget(session.id, session.project_id, name=session.name)],
            type=MessageType.DIRECTIVE,
            subject=subject,
            body=inline_body(request.message),
            task_id=session.tasks[0] if session.tasks else None,
        ),
    )
    kind = SenderKind.SESSION if caller.is_session else SenderKind.PERSON
    return manifests.create_directive(subject, request.message, sender=sender.name, kind=kind, message_id=message.id)
