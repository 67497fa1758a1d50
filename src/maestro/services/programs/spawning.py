"""Starting agents: what a session will be is decided and written first, then its program is started.

In one transaction: the session, the claims on its tasks, its directive as mail, its manifest. So two spawns never get
one task, and whatever happens to the program afterwards, the record is there.
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
from maestro.domain.manifests import Manifest
from maestro.domain.members import Member
from maestro.domain.messages import SenderKind, Type
from maestro.domain.projects import Project
from maestro.domain.sessions import Mode, Session, Status
from maestro.domain.spawns import Bounds, Spawn
from maestro.domain.talks import Teller
from maestro.domain.tasks import Task
from maestro.domain.templates import Template
from maestro.events.hub import Hub
from maestro.operations import sessions as session_ops
from maestro.operations import spawning as ops
from maestro.operations import task_shapes
from maestro.operations.base import Operation
from maestro.prompts import compose, templates
from maestro.services.mail.post import Draft, Target, post, sender_of, small
from maestro.services.programs import manifests, resuming
from maestro.services.programs.choices import (
    child_grant,
    depth_of,
    directory_of,
    driver_of,
    members_of,
    skills_of,
    start_directory,
    template_of,
    tool_of,
    usual_permission,
    within_limits,
)
from maestro.services.programs.launching import Launching
from maestro.services.programs.manifests import Brief
from maestro.services.scope import may_write, project_of, task_of
from maestro.services.sessions import kin
from maestro.services.sessions import records as sessions
from maestro.services.tasks import moves
from maestro.store.base import Store, Tx, Undo
from maestro.tools.base import Agent

WORKTREES = "worktrees"


class Spawning:
    """Sessions that Maestro starts itself."""

    def __init__(
        self,
        store: Store,
        hub: Hub,
        launching: Launching,
        home: Path,
        *,
        token_of: Callable[[str], str],
        operations: Callable[[], Sequence[Operation]],
        bounds: Bounds,
    ) -> None:
        self._store = store
        self._hub = hub
        self._launching = launching
        self._home = home
        self._token_of = token_of
        self._operations = operations
        self._bounds = bounds
        self._started: set[tuple[str, int]] = set()

    async def check(self, caller: Caller, request: ops.SpawnSession) -> None:
        """Whatever can be said before anything is written: that no worktree can be made here."""

        def directory(tx: Tx) -> str:
            return directory_of(tx, request.path, project_of(tx, caller, request.project))

        if request.worktree:
            await self._launching.check_worktrees(directory)
        with contextlib.suppress(errors.MaestroError):  # said when the session is written
            here = await self._store.read(directory, quick=True)
            # Read here, outside of the transaction, and remembered: nobody waits for it.
            await asyncio.to_thread(templates.load, Path(here) / templates.FOLDER)

    def spawn(
        self,
        tx: Tx,
        caller: Caller,
        request: ops.SpawnSession,
        *,
        run_id: str | None = None,
    ) -> ops.SpawnedSession:
        """Decide and write what the session is; after a dry run nothing of it is kept."""
        project = project_of(tx, caller, request.project)
        may_write(caller, project, what="spawn sessions")
        within_limits(tx, caller, project, self._bounds)
        agent = tool_of(tx, project, request.tool, request.words, request.member)
        members = members_of(tx, project, request.member)
        if request.team is not None and tx.members.teams.by_name(project.id, request.team) is None:
            raise errors.NotFound(f"There is no team {request.team!r}.", hint="maestro team list")
        tasks = [task_of(tx, caller, ref, project=project.id) for ref in request.task]
        directory = directory_of(tx, request.path, project)
        template = template_of(request, directory)
        permission = request.permission or usual_permission(request.mode, members)
        grant = child_grant(tx, caller, request, tool=agent.name, permission=permission)
        request = msgspec.structs.replace(request, grant=grant)
        session = self._session(tx, caller, request, project, agent, members)
        self._claim(tx, session, request.mode, tasks)
        brief = Brief(
            session=session,
            project=project,
            directory=directory,
            permission=permission,
            strategy=template.strategy,
            template=template.name,
            model=request.model or next((one.model for one in members if one.model), None),
            reach=agent.reach(permission),
            members=members,
            team=request.team,
            tasks=[tx.tasks.get(task.id) or task for task in tasks],
            references=[task_of(tx, caller, ref, project=project.id) for ref in request.reference],
            reader=caller,
            skills=skills_of(request, members, agent, directory=directory, home=self._home),
            directive=_direct(tx, caller, request, session),
            workspace=self._workspace(request, project, session, directory),
            depth_left=self._bounds.depth_max - depth_of(tx, session, self._bounds),
        )
        manifest = manifests.build(tx, brief, self._operations())
        tx.spawns.insert(_spawn_of(tx, brief, request, agent, run_id), manifest=shapes.encode(manifest))
        driver = driver_of(agent, request.driver)
        teller = agent.abilities.drivers[driver]
        if teller is not Teller.NOBODY:
            tx.talks.insert(session.id, driver=driver, teller=teller, allow=request.allow, rest=request.asks)
        if request.dry_run:
            raise Undo(_answer(session, brief, manifest, template))
        return _answer(session, brief)

    def resume(self, tx: Tx, caller: Caller, request: session_ops.OneSession) -> ops.SpawnedSession:
        """Start a session again that has ended: the same one, with its name, place, tasks and mailbox."""
        old = kin.named(tx, caller, request.id, project=request.project)
        kin.may_act_on(tx, caller, old, what="resume")
        spawn = tx.spawns.get(old.id)
        if spawn is None:
            raise errors.Conflict(f"{old.name} was not started by Maestro.", hint="Start it again by hand.")
        if old.ended_at is None:
            raise errors.Conflict(f"{old.name} runs: it is {old.status}.", data={"status": old.status})
        project = project_of(tx, caller, old.project_id)
        within_limits(tx, caller, project, self._bounds)
        now = resuming.restart(tx, caller, old, spawn)
        tx.recoveries.clear(old.id)
        return _resumed(tx, now)

    def _workspace(
        self, request: ops.SpawnSession, project: Project, session: Session, directory: str
    ) -> shapes.Workspace:
        """Where it works: in the checkout that is there, just where its caller is, or in one of its own."""
        if not request.worktree:
            return shapes.Workspace(directory=start_directory(request.path, directory), address=session.address)
        own = self._home / WORKTREES / project.name / f"{session.name}-{session.id[-6:]}"
        branch = f"maestro/{session.name}-{session.id[-6:]}"
        return shapes.Workspace(directory=str(own), branch=branch, base="HEAD", worktree=True)

    async def launch(
        self, caller: Caller, request: ops.SpawnSession, answer: ops.SpawnedSession
    ) -> ops.SpawnedSession:
        """After the commit: start the program. What cannot be started has failed, and gives its tasks back."""
        start = (answer.id, answer.epoch)
        if answer.dry_run or start in self._started:
            return answer  # nothing to start, or the same key came twice
        self._started.add(start)
        warnings: list[str] = []
        with self._hub.subscribe([answer.id]) as heard, contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limits.spawn_answer_seconds):
                warnings = await self._launching.start_or_fail(answer.id)
                while (await self._now(answer)).status is Status.SPAWNING:
                    await heard.wait()
                    heard.take()
        return msgspec.structs.replace(await self._as_it_is(answer), warnings=warnings)

    async def _as_it_is(self, answer: ops.SpawnedSession) -> ops.SpawnedSession:
        """What is known of it by now: that its program runs, or why it does not."""
        now = await self._now(answer)
        spawn = await self._store.read(lambda tx: tx.spawns.get(answer.id), quick=True)
        if now.status is Status.FAILED and now.pid is None and spawn is not None and spawn.ended_at is not None:
            raise errors.NotStarted(
                f"{now.name} could not be started: {spawn.tail or 'nobody knows why'}",
                hint=f"maestro session show {now.name}",
                data={"id": now.id},
            )
        return msgspec.structs.replace(answer, **msgspec.structs.asdict(now))

    async def _now(self, answer: ops.SpawnedSession) -> Session:
        found = await self._store.read(lambda tx: tx.sessions.get(answer.id), quick=True)
        assert found is not None
        return found

    def _session(
        self,
        tx: Tx,
        caller: Caller,
        request: ops.SpawnSession,
        project: Project,
        agent: Agent,
        members: Sequence[Member],
    ) -> Session:
        asked = session_ops.RegisterSession(
            project=project.id,
            mode=request.mode,
            name=request.name,
            member=members[0].name if members else None,
            tool=agent.name,
            task=request.task,
            path=request.path,
            grant=request.grant,
        )
        made = sessions.register(tx, caller, asked, self._token_of, is_spawned=True)
        found = tx.sessions.get(made.id)
        assert found is not None
        return found

    def _claim(self, tx: Tx, session: Session, mode: Mode, tasks: Sequence[Task]) -> None:
        """Whoever executes holds its tasks before its program runs; what is not ready is refused."""
        if mode is not Mode.EXECUTE:
            return
        worker = tx.sessions.caller(session.id)
        assert worker is not None
        for task in tasks:
            moves.start(tx, worker, task_shapes.StartTask(id=task.id))


def _answer(
    session: Session, brief: Brief, manifest: Manifest | None = None, template: Template | None = None
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


def _resumed(tx: Tx, session: Session) -> ops.SpawnedSession:
    """A session that is started again, as one that was spawned."""
    spawn, data = tx.spawns.get(session.id), tx.spawns.manifest(session.id)
    assert spawn is not None and data is not None
    told = shapes.decode(data)
    return ops.SpawnedSession(
        **msgspec.structs.asdict(session),
        strategy=spawn.strategy,
        template=spawn.template,
        permission=spawn.permission,
        directory=spawn.directory,
        branch=told.workspace.branch if told.workspace else None,
        epoch=spawn.epoch,
    )


def _spawn_of(tx: Tx, brief: Brief, request: ops.SpawnSession, agent: Agent, run_id: str | None) -> Spawn:
    return Spawn(
        session_id=brief.session.id,
        tool=agent.name,
        words=request.words,
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


def _direct(tx: Tx, caller: Caller, request: ops.SpawnSession, session: Session) -> shapes.Directive | None:
    """The first directive: in the manifest, so that no race can lose it, and as mail, so that it is on record."""
    if not request.message and not request.subject:
        return None
    subject = request.subject or "Your task"
    sender = sender_of(tx, caller)
    made = post(
        tx,
        Draft(
            sender=sender,
            project_id=session.project_id,
            to=[session.name],
            targets=[Target(session.id, session.project_id, name=session.name)],
            type=Type.DIRECTIVE,
            subject=subject,
            body=small(request.message),
            task_id=session.tasks[0] if session.tasks else None,
        ),
    )
    kind = SenderKind.SESSION if caller.is_session else SenderKind.PERSON
    return manifests.directive(subject, request.message, sender=sender.name, kind=kind, message_id=made.id)
