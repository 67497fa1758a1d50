"""Starting agents: what a session will be is decided and written first, then its program is started.

In one transaction: the session, the claims on its tasks, its directive as mail, its manifest. So two spawns never get
one task, and whatever happens to the program afterwards, the record is there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from maestro import errors, limits
from maestro.agents import known
from maestro.agents.base import Agent, Start, cleared
from maestro.domain import manifests as shapes
from maestro.domain.callers import Caller, Role
from maestro.domain.manifests import Manifest
from maestro.domain.members import Member, Permission
from maestro.domain.messages import SenderKind, Type
from maestro.domain.projects import Project
from maestro.domain.sessions import Mode, Session, Source, Status
from maestro.domain.spawns import Spawn
from maestro.domain.tasks import Task
from maestro.domain.templates import Template
from maestro.operations import sessions as session_ops
from maestro.operations import spawning as ops
from maestro.operations import task_shapes
from maestro.operations.base import Operation
from maestro.prompts import compose, templates
from maestro.services import manifests, moves, sessions
from maestro.services.mail.post import Draft, Target, post, sender_of, small
from maestro.services.manifests import Brief
from maestro.services.runners import Runners
from maestro.services.scope import may_write, project_of, task_of
from maestro.store.base import Store, Tx, Undo

_SYSTEM, _TASK = "system-prompt.xml", "task-prompt.xml"


class Places(msgspec.Struct, frozen=True):
    """Where a server is, for the agents it starts."""

    home: Path
    socket: str
    url: Callable[[], str | None]


class Spawning:
    """Sessions that Maestro starts itself."""

    def __init__(
        self,
        store: Store,
        runners: Runners,
        places: Places,
        *,
        token_of: Callable[[str], str],
        operations: Callable[[], Sequence[Operation]],
    ) -> None:
        self._store = store
        self._runners = runners
        self._places = places
        self._token_of = token_of
        self._operations = operations
        self._started: set[str] = set()

    def spawn(
        self, tx: Tx, caller: Caller, request: ops.SpawnSession, *, run_id: str | None = None
    ) -> ops.SpawnedSession:
        """Decide and write what the session is; after a dry run nothing of it is kept."""
        project = project_of(tx, caller, request.project)
        may_write(caller, project, what="spawn sessions")
        _within_limits(tx, caller, project)
        agent = tool_of(tx, project, request.tool, request.words, request.member)
        members = _members(tx, project, request.member)
        tasks = [task_of(tx, caller, ref, project=project.id) for ref in request.task]
        directory = directory_of(tx, request.path, project)
        template = _template(request, directory)
        permission = request.permission or _usual_permission(request.mode, members)
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
            reach=shapes.Reach.COMMANDS,
            members=members,
            team=request.team,
            tasks=[tx.tasks.get(task.id) or task for task in tasks],
            references=[task_of(tx, caller, ref, project=project.id) for ref in request.reference],
            skills=[*request.skill, *(skill for one in members for skill in one.skills)],
            directive=_direct(tx, caller, request, session),
            workspace=shapes.Workspace(directory=directory, address=session.address),
            depth_left=limits.spawn_depth_max - _depth(tx, session),
        )
        manifest = manifests.build(tx, brief, self._operations())
        tx.spawns.insert(_spawn_of(tx, brief, request, agent, run_id), manifest=shapes.encode(manifest))
        if request.dry_run:
            raise Undo(_answer(session, brief, manifest, template))
        return _answer(session, brief)

    async def launch(
        self, caller: Caller, request: ops.SpawnSession, answer: ops.SpawnedSession
    ) -> ops.SpawnedSession:
        """After the commit: start the program. What cannot be started has failed, and gives its tasks back."""
        if answer.dry_run or answer.id in self._started:
            return answer  # nothing to start, or the same key came twice
        self._started.add(answer.id)
        await self.start_or_fail(answer.id)
        return answer

    async def start_or_fail(self, session_id: str) -> None:
        """Start a program; if that cannot be, the session has failed and gives its tasks back."""
        try:
            await self.start(session_id)
        except (errors.MaestroError, OSError) as error:
            why = str(error)
            await self._store.write(lambda tx: self._failed(tx, session_id, why))
            raise

    async def start(self, session_id: str) -> None:
        """Start the program of a session that was written."""

        def look(tx: Tx) -> tuple[Spawn | None, bytes | None]:
            return tx.spawns.get(session_id), tx.spawns.manifest(session_id)

        spawn, data = await self._store.read(look, quick=True)
        assert spawn is not None and data is not None
        manifest = shapes.decode(data)
        folder = self._runners.folder(session_id)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        template = templates.load(Path(spawn.directory) / templates.FOLDER).get(spawn.template)
        system, task = compose.system_prompt(manifest, template), compose.task_prompt(manifest)
        (folder / _SYSTEM).write_text(system, encoding="utf-8")
        (folder / _TASK).write_text(task, encoding="utf-8")
        start = Start(
            session_id=session_id,
            system_prompt=system,
            task_prompt=task,
            directory=spawn.directory,
            model=spawn.model,
            permission=spawn.permission,
            words=spawn.words,
            skills=[skill.name for skill in manifest.skills],
        )
        launch = known.find(spawn.tool).launch(start, self._environment(manifest, folder))
        order = {
            "session_id": session_id,
            "token": self._token_of(session_id),
            "socket": self._places.socket,
            "words": launch.words,
            "directory": spawn.directory,
            "environment": launch.environment,
            "terminal": launch.terminal,
            "input": launch.input,
            "stop_seconds": limits.stop_grace_seconds,
        }
        await self._runners.start(order, session_id)

    def _environment(self, manifest: Manifest, folder: Path) -> dict[str, str]:
        """What an agent finds in its environment: its own, and nothing of whoever started the server."""
        session = manifest.session
        ours = {
            "MAESTRO_SESSION_ID": session.id,
            "MAESTRO_TOKEN": self._token_of(session.id),
            "MAESTRO_TASK_IDS": ",".join(task.id for task in manifest.tasks),
            "MAESTRO_PROJECT_ID": manifest.project.id,
            "MAESTRO_MODE": session.mode.value,
            "MAESTRO_STRATEGY": session.strategy,
            "MAESTRO_SOCKET": self._places.socket,
            "MAESTRO_SERVER_URL": self._places.url() or "",
            "MAESTRO_SYSTEM_PROMPT_FILE": str(folder / _SYSTEM),
            "MAESTRO_TASK_PROMPT_FILE": str(folder / _TASK),
        }
        if session.mode is Mode.COORDINATE:
            ours["MAESTRO_ORCHESTRATOR_STRATEGY"] = session.strategy
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        return cleared(os.environ) | {"PATH": path, "TERM": "xterm-256color"} | ours

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

    def _failed(self, tx: Tx, session_id: str, why: str) -> None:
        session = tx.sessions.get(session_id)
        if session is not None and session.ended_at is None:
            tx.spawns.end(session_id, code=None, signal=None, tail=why[: limits.report_tail_chars_max], at=tx.at)
            actor = Caller(Role.PERSON, "maestro")
            sessions.finish(tx, session, Status.FAILED, source=Source.PROCESS, actor=actor, detail=why)


def _answer(
    session: Session, brief: Brief, manifest: Manifest | None = None, template: Template | None = None
) -> ops.SpawnedSession:
    return ops.SpawnedSession(
        **msgspec.structs.asdict(session),
        strategy=brief.strategy,
        template=brief.template,
        permission=brief.permission,
        directory=brief.directory,
        dry_run=manifest is not None,
        manifest=manifest,
        system_prompt=compose.system_prompt(manifest, template) if manifest and template else None,
        task_prompt=compose.task_prompt(manifest) if manifest else None,
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
        directory=brief.directory,
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


def tool_of(tx: Tx, project: Project, tool: str | None, words: Sequence[str], members: Sequence[str]) -> Agent:
    """The agent program: the one named, a program of one's own, or what a member prefers."""
    if tool:
        return known.find(tool)
    if words:
        return known.find("command")
    for name in members:
        member = tx.members.by_name(project.id, name.lower())
        if member is not None and member.tool is not None:
            return known.find(member.tool.value)
    raise errors.Invalid(
        "Which agent program is to run?", hint="Say --tool claude, codex or gemini; or a program: -- PROGRAM ARGS…"
    )


def _members(tx: Tx, project: Project, names: Sequence[str]) -> list[Member]:
    found = []
    for name in dict.fromkeys(names):
        member = tx.members.by_name(project.id, name.lower())
        if member is None:
            raise errors.NotFound(f"{project.name} has no member {name!r}.", hint="maestro member list")
        found.append(member)
    return found


def _usual_permission(mode: Mode, members: Sequence[Member]) -> Permission:
    """A coordinator never writes code, nor does who only plans."""
    given = next((one.permission for one in members if one.permission), None)
    return given or (Permission.EDIT if mode is Mode.EXECUTE else Permission.PLAN)


def _template(request: ops.SpawnSession, directory: str) -> Template:
    library = templates.load(Path(directory) / templates.FOLDER)
    return library.get(request.template) if request.template else library.choose(request.mode, request.strategy)


def directory_of(tx: Tx, path: str, project: Project) -> str:
    """Where an agent starts: where the caller is, if that is in the project; else the project's first checkout."""
    here = Path(path) if path else None
    found = tx.projects.workspaces(project.id, limit=limits.page_items_default)
    for workspace in found:
        if here is not None and here.is_relative_to(workspace.path):
            return workspace.path
    if not found:
        raise errors.NotFound(f"{project.name} has no checkout on this machine.", hint="Run `maestro init` in one.")
    return found[0].path


def _within_limits(tx: Tx, caller: Caller, project: Project) -> None:
    if caller.session_id is not None:
        own = tx.sessions.get(caller.session_id)
        if own is not None and _depth(tx, own) >= limits.spawn_depth_max:
            raise errors.Conflict(f"Sessions start others at most {limits.spawn_depth_max} levels deep.")
        if tx.spawns.count_below(caller.session_id) >= limits.spawns_of_one_coordinator_max:
            raise errors.Conflict(
                f"A coordinator has at most {limits.spawns_of_one_coordinator_max} workers at once.",
                hint="Wait for one to end: maestro mail wait",
            )
    if tx.spawns.count_in_project(project.id) >= limits.spawns_of_one_project_max:
        raise errors.Conflict(f"A project has at most {limits.spawns_of_one_project_max} spawned sessions at once.")


def _depth(tx: Tx, session: Session) -> int:
    depth, above = 0, session.parent_id
    while above is not None and depth <= limits.spawn_depth_max:
        found = tx.sessions.route(above)
        depth, above = depth + 1, found.parent_id if found else None
    return depth
