"""Start the program of a stored session: make worktree, prompts and environment, and start the runner."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from maestro.core import errors, limits
from maestro.domain import manifests as shapes
from maestro.domain.callers import SERVER_CALLER
from maestro.domain.conversations import DriverKind, SessionConversation
from maestro.domain.manifests import Manifest
from maestro.domain.runs import RunStatus
from maestro.domain.sessions import SessionMode, SessionStatus, StatusSource
from maestro.domain.spawns import Spawn
from maestro.git import worktrees
from maestro.prompts import compose, templates
from maestro.services.runners.runners import Runners
from maestro.services.sessions import lifecycle as sessions
from maestro.services.worktrees.lifecycle import SessionWorktrees
from maestro.store.base import Store, Tx
from maestro.system import umasks
from maestro.system.processes import Process
from maestro.system.small_files import write_private
from maestro.tools import registry
from maestro.tools.base import Launch, LaunchRequest
from maestro.tools.environments import clear_environment
from maestro.trackers import registry as trackers
from maestro.wire import runner_folder, runner_order, runner_requests

_SYSTEM_PROMPT_FILE, _TASK_PROMPT_FILE = "system-prompt.xml", "task-prompt.xml"
_PROGRAM = str(Path(sys.executable).parent / "maestro")


class ServerLocation(msgspec.Struct, frozen=True):
    """The server's home, socket and address, for the agents that the server starts."""

    home: Path
    socket: str
    url: Callable[[], str | None]


class ProgramLauncher:
    """Starts the programs of sessions."""

    def __init__(
        self,
        store: Store,
        runners: Runners,
        worktrees: SessionWorktrees,
        location: ServerLocation,
        *,
        token_of: Callable[[str], str],
        runner_secret_of: Callable[[str, int], str],
    ) -> None:
        self._store = store
        self._runners = runners
        self._worktrees = worktrees
        self._location = location
        self._token_of = token_of
        self._runner_secret_of = runner_secret_of
        self.on_runner_recorded: Callable[[], None] = lambda: None
        self._starts: dict[str, asyncio.Task[list[str]]] = {}
        self._setups: dict[str, asyncio.Task[list[str]]] = {}
        self._stopped_by: dict[str, str] = {}

    async def start_or_fail(self, session_id: str) -> list[str]:
        """Start a session's program and return warnings. On failure the session fails and gives its tasks back.

        The writer of the session and the job that finds sessions without a runner may both call this. The program is
        started once.
        """
        work = self._starts.get(session_id)
        if work is None:
            work = self._starts[session_id] = asyncio.create_task(self._start_or_fail(session_id))
            work.add_done_callback(lambda done: self._drop_finished(session_id, done))
        return await asyncio.shield(work)

    async def check_worktrees(self, directory: Callable[[Tx], str]) -> None:
        """Refuse a directory in which no worktree can be made, before the session is written."""
        await worktrees.require_ready(await self._store.read(directory, quick=True))

    async def stop_setup(self, session_id: str, *, by: str) -> bool:
        """Stop the set-up of a session without a program, and end the session. Return whether a set-up ran."""
        work = self._setups.get(session_id)
        if work is None:
            return False
        # A second cancel would interrupt the killing of the set-up's processes.
        if session_id not in self._stopped_by:
            self._stopped_by[session_id] = by
            work.cancel()
        await asyncio.wait([self._starts[session_id]])
        return True

    def is_starting(self, session_id: str) -> bool:
        """Return whether the session is being started now, for example while the set-up command runs."""
        return session_id in self._starts

    async def fail_session(self, session_id: str, reason: str) -> None:
        """Mark a session as failed when its program cannot be started."""
        await self._store.write(lambda tx: self._end_without_program(tx, session_id, SessionStatus.FAILED, reason))

    async def close(self) -> None:
        """Cancel the running starts. The next server finds and starts the sessions."""
        for work in self._starts.values():
            work.cancel()
        await asyncio.gather(*self._starts.values(), return_exceptions=True)

    def _drop_finished(self, session_id: str, work: asyncio.Task[list[str]]) -> None:
        self._starts.pop(session_id, None)
        if not work.cancelled():
            work.exception()  # read the error: the session records it, and the caller may have gone

    async def _start_or_fail(self, session_id: str) -> list[str]:
        try:
            return await self._start(session_id)
        except _SetupStopped as stopped:
            reason = str(stopped)
            await self._store.write(
                lambda tx: self._end_without_program(tx, session_id, SessionStatus.STOPPED, reason)
            )
            raise errors.Conflict(reason) from None
        except (errors.MaestroError, OSError) as error:
            await self.fail_session(session_id, str(error))
            raise

    async def _start(self, session_id: str) -> list[str]:
        """Start the program of a stored session, unless the program already runs or the session has ended."""

        def read_spawn(tx: Tx) -> tuple[Spawn | None, bytes | None, SessionConversation | None]:
            return tx.spawns.get(session_id), tx.spawns.get_manifest(session_id), tx.conversations.get(session_id)

        spawn, data, conversation = await self._store.read(read_spawn, quick=True)
        assert spawn is not None and data is not None
        if spawn.ended_at is not None or self._has_runner(spawn):
            return []
        manifest = shapes.decode_manifest(data)
        folder = self._runners.session_folder(session_id)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        warnings: list[str] = []
        if manifest.workspace is not None and manifest.workspace.worktree:
            warnings = await self._make_worktree(spawn, manifest)
        library = await asyncio.to_thread(
            templates.load_templates, Path(manifest.project.directory) / templates.FOLDER
        )
        template = library.get_template(spawn.template)
        system, task = compose.system_prompt(manifest, template), compose.task_prompt(manifest)
        write_private(folder / _SYSTEM_PROMPT_FILE, system)
        write_private(folder / _TASK_PROMPT_FILE, task)
        start = LaunchRequest(
            session_id=session_id,
            system_prompt=system,
            task_prompt=task,
            directory=spawn.directory,
            model=spawn.model,
            permission=spawn.permission,
            arguments=spawn.arguments,
            skills=[skill.path for skill in manifest.skills if skill.path],
            driver=conversation.driver if conversation else DriverKind.TERMINAL,
            resumes=conversation.tool_conversation_id if conversation else None,
            levels=registry.read_levels(spawn.tool, self._location.home),
            folder=str(folder.absolute()),
            mcp_command=[_PROGRAM, "mcp"],
            hook_command=[_PROGRAM, "hook"],
            allow=conversation.allow if conversation else [],
            rest=conversation.ask_policy.value if conversation else "ask",
        )
        environment = self._agent_environment(manifest, folder) | await self._tracker_environment(manifest)
        launch = registry.find_tool(spawn.tool).prepare_launch(
            start, environment | (_make_temporary_folder(folder) if conversation else {})
        )
        await self._start_runner(launch, spawn)
        await self._stop_if_run_ended(spawn)
        return warnings

    async def _start_runner(self, launch: Launch, spawn: Spawn) -> None:
        """Start a runner with the order for the program."""
        session_id = spawn.session_id
        if launch.wait_seconds:
            await asyncio.sleep(launch.wait_seconds)
        order = runner_order.RunnerOrder(
            session_id=session_id,
            token=self._token_of(session_id),
            secret=self._runner_secret_of(session_id, spawn.epoch),
            folder=str(self._runners.session_folder(session_id)),
            socket=self._location.socket,
            arguments=launch.arguments,
            directory=spawn.directory,
            epoch=spawn.epoch,
            environment=launch.environment,
            terminal=launch.terminal,
            input=launch.input,
            conversation=launch.conversation,
            opening=launch.opening,
            inbox=launch.inbox,
            interrupt=launch.interrupt,
            socket_path=launch.socket_path,
            terminal_client=launch.terminal_client,
            umask=umasks.program_umask(),
            stop_seconds=limits.stop_grace_seconds,
        )
        await self._runners.start_runner(order, record=lambda runner: self._record_runner(spawn, runner))

    async def _record_runner(self, spawn: Spawn, runner: Process) -> bool:
        """Store the process of the session's runner before the runner begins. Return whether the runner is wanted."""
        is_wanted = await self._store.write(
            lambda tx: tx.spawns.record_runner(
                spawn.session_id, epoch=spawn.epoch, pid=runner.pid, started=runner.started
            )
        )
        self.on_runner_recorded()
        return is_wanted

    async def _make_worktree(self, spawn: Spawn, manifest: Manifest) -> list[str]:
        """Make the session's worktree and run the project's set-up command. Both may take long and can be stopped."""
        making = self._worktrees.create_worktree(manifest, merges_into=await self._run_branch(spawn))
        work = self._setups[spawn.session_id] = asyncio.ensure_future(making)
        try:
            return await work
        except asyncio.CancelledError:
            by = self._stopped_by.get(spawn.session_id)
            if by is None:
                raise
            raise _SetupStopped(f"The session was stopped by {by} while its worktree was set up.") from None
        finally:
            self._setups.pop(spawn.session_id, None)
            self._stopped_by.pop(spawn.session_id, None)

    def _has_runner(self, spawn: Spawn) -> bool:
        """Return whether a runner carries out this start. A runner of an earlier start does not count."""
        if spawn.epoch > 1:
            note = self._runners.read_note(spawn.session_id)
            if note is None or note.epoch < spawn.epoch:
                return False
        return self._runners.has_own_runner(spawn.session_id) or self._runners.has_live_runner(spawn.session_id)

    async def _stop_if_run_ended(self, spawn: Spawn) -> None:
        """Stop the program if its run has ended meanwhile: the run could not stop a program that did not run yet."""
        run_id = spawn.run_id
        run = await self._store.read(lambda tx: tx.runs.get(run_id), quick=True) if run_id else None
        if run is not None and run.status is not RunStatus.RUNNING:
            with contextlib.suppress(errors.Conflict):
                await self._runners.send_request(spawn.session_id, do=runner_requests.STOP, by=f"the end of {run.id}")

    async def _run_branch(self, spawn: Spawn) -> str | None:
        """Return the branch into which the session's run merges finished work."""
        run_id = spawn.run_id
        if run_id is None:
            return None
        run = await self._store.read(lambda tx: tx.runs.get(run_id), quick=True)
        return run.branch if run else None

    async def _tracker_environment(self, manifest: Manifest) -> dict[str, str]:
        """Return the agent's environment variables for the tracker of its project."""
        tracker = await self._store.read(lambda tx: tx.trackers.get(manifest.project.id), quick=True)
        return trackers.agent_environment(tracker.kind, name=manifest.session.name) if tracker else {}

    def _agent_environment(self, manifest: Manifest, folder: Path) -> dict[str, str]:
        """Return the agent's environment, without Maestro's variables of the process that started the server."""
        session = manifest.session
        own_variables = {
            "MAESTRO_SESSION_ID": session.id,
            "MAESTRO_TOKEN": self._token_of(session.id),
            "MAESTRO_TASK_IDS": ",".join(task.id for task in manifest.tasks),
            "MAESTRO_PROJECT_ID": manifest.project.id,
            "MAESTRO_MODE": session.mode.value,
            "MAESTRO_STRATEGY": session.strategy,
            "MAESTRO_SOCKET": self._location.socket,
            "MAESTRO_SERVER_URL": self._location.url() or "",
            "MAESTRO_SYSTEM_PROMPT_FILE": str(folder / _SYSTEM_PROMPT_FILE),
            "MAESTRO_TASK_PROMPT_FILE": str(folder / _TASK_PROMPT_FILE),
        }
        if session.mode is SessionMode.COORDINATE:
            own_variables["MAESTRO_ORCHESTRATOR_STRATEGY"] = session.strategy
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        return clear_environment(os.environ) | {"PATH": path, "TERM": "xterm-256color"} | own_variables

    def _end_without_program(self, tx: Tx, session_id: str, final: SessionStatus, reason: str) -> None:
        """End a session whose program will not run."""
        session, spawn = tx.sessions.get(session_id), tx.spawns.get(session_id)
        if session is None or spawn is None:
            return
        tail = reason[: limits.report_tail_chars_max]
        tx.spawns.record_exit(session_id, epoch=spawn.epoch, code=None, signal=None, tail=tail, at=tx.at)
        if session.ended_at is None:
            sessions.finish_session(
                tx, session, final, source=StatusSource.PROCESS, actor=SERVER_CALLER, detail=reason
            )


def _make_temporary_folder(folder: Path) -> dict[str, str]:
    """Make the session's `TMPDIR`, in which some programs leave files and sockets. The runner removes the folder."""
    temporary = folder.absolute() / runner_folder.TEMPORARY
    temporary.mkdir(exist_ok=True, mode=0o700)
    return {"TMPDIR": str(temporary)}


class _SetupStopped(Exception):
    """A caller has stopped a set-up; the message names the caller."""
