"""Starting the program of a session that was written: its worktree, its prompts, its environment, its runner."""

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
from maestro.domain.callers import THE_SERVER
from maestro.domain.manifests import Manifest
from maestro.domain.runs import RunStatus
from maestro.domain.sessions import Mode, Source, Status
from maestro.domain.spawns import Spawn
from maestro.domain.talks import Driver, Talk
from maestro.git import worktrees
from maestro.prompts import compose, templates
from maestro.services.programs.runners import Runners
from maestro.services.sessions import records as sessions
from maestro.services.worktrees.keeping import Worktrees
from maestro.store.base import Store, Tx
from maestro.system import umasks
from maestro.system.processes import Process
from maestro.system.small_files import write
from maestro.tools import registry
from maestro.tools.base import Launch, Start, cleared
from maestro.trackers import known as trackers

_SYSTEM, _TASK = "system-prompt.xml", "task-prompt.xml"
_TEMPORARY = "tmp"  # as its runner calls it
_PROGRAM = str(Path(sys.executable).parent / "maestro")


class Places(msgspec.Struct, frozen=True):
    """Where a server is, for the agents it starts."""

    home: Path
    socket: str
    url: Callable[[], str | None]


class Launching:
    """Programs of sessions."""

    def __init__(
        self,
        store: Store,
        runners: Runners,
        worktrees: Worktrees,
        places: Places,
        *,
        token_of: Callable[[str], str],
        runner_secret_of: Callable[[str, int], str],
    ) -> None:
        self._store = store
        self._runners = runners
        self._worktrees = worktrees
        self._places = places
        self._token_of = token_of
        self._runner_secret_of = runner_secret_of
        self.on_runner_recorded: Callable[[], None] = lambda: None
        self._under_way: dict[str, asyncio.Task[list[str]]] = {}
        self._setting_up: dict[str, asyncio.Task[list[str]]] = {}
        self._stopped_by: dict[str, str] = {}

    async def start_or_fail(self, session_id: str) -> list[str]:
        """Start a program; if that cannot be, the session has failed and gives its tasks back. Warnings.

        Several may ask for the same session, who wrote it and who found it without a runner: it is started once.
        """
        work = self._under_way.get(session_id)
        if work is None:
            work = self._under_way[session_id] = asyncio.create_task(self._start_or_fail(session_id))
            work.add_done_callback(lambda done: self._is_done(session_id, done))
        return await asyncio.shield(work)

    async def check_worktrees(self, directory: Callable[[Tx], str]) -> None:
        """Refuse what would need a worktree where none can be made, before anything is written."""
        await worktrees.ready(await self._store.read(directory, quick=True))

    async def stop(self, session_id: str, *, by: str) -> bool:
        """End the set-up of a session that has no program yet, and the session with it; whether there was one."""
        work = self._setting_up.get(session_id)
        if work is None:
            return False
        if session_id not in self._stopped_by:  # a second cancel would cut off what ends its processes
            self._stopped_by[session_id] = by
            work.cancel()
        await asyncio.wait([self._under_way[session_id]])
        return True

    def is_under_way(self, session_id: str) -> bool:
        """Whether a session is being started just now: its worktree is made, its set-up command runs."""
        return session_id in self._under_way

    async def fail(self, session_id: str, why: str) -> None:
        """Give a session up that cannot be started."""
        await self._store.write(lambda tx: self._over(tx, session_id, Status.FAILED, why))

    async def close(self) -> None:
        """What is being started now is found and started by the next server."""
        for work in self._under_way.values():
            work.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    def _is_done(self, session_id: str, work: asyncio.Task[list[str]]) -> None:
        self._under_way.pop(session_id, None)
        if not work.cancelled():
            work.exception()  # it is in the record; whoever asked may have gone

    async def _start_or_fail(self, session_id: str) -> list[str]:
        try:
            return await self._start(session_id)
        except _Stopped as stopped:
            why = str(stopped)
            await self._store.write(lambda tx: self._over(tx, session_id, Status.STOPPED, why))
            raise errors.Conflict(why) from None
        except (errors.MaestroError, OSError) as error:
            await self.fail(session_id, str(error))
            raise

    async def _start(self, session_id: str) -> list[str]:
        """Start the program of a session that was written, and neither runs nor has ended since."""

        def look(tx: Tx) -> tuple[Spawn | None, bytes | None, Talk | None]:
            return tx.spawns.get(session_id), tx.spawns.manifest(session_id), tx.talks.get(session_id)

        spawn, data, talk = await self._store.read(look, quick=True)
        assert spawn is not None and data is not None
        if spawn.ended_at is not None or self._has_runner(spawn):
            return []
        manifest = shapes.decode(data)
        folder = self._runners.folder(session_id)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        warnings: list[str] = []
        if manifest.workspace is not None and manifest.workspace.worktree:
            warnings = await self._set_up(spawn, manifest)
        library = await asyncio.to_thread(templates.load, Path(manifest.project.directory) / templates.FOLDER)
        template = library.get(spawn.template)
        system, task = compose.system_prompt(manifest, template), compose.task_prompt(manifest)
        write(folder / _SYSTEM, system)
        write(folder / _TASK, task)
        start = Start(
            session_id=session_id,
            system_prompt=system,
            task_prompt=task,
            directory=spawn.directory,
            model=spawn.model,
            permission=spawn.permission,
            words=spawn.words,
            skills=[skill.path for skill in manifest.skills if skill.path],
            driver=talk.driver if talk else Driver.TERMINAL,
            resumes=talk.conversation if talk else None,
            home=self._places.home,
            folder=str(folder.absolute()),
            mcp=[_PROGRAM, "mcp"],
            hook=[_PROGRAM, "hook"],
            allow=talk.allow if talk else [],
            rest=talk.rest.value if talk else "ask",
        )
        environment = self._environment(manifest, folder) | await self._tracker_words(manifest)
        launch = registry.find(spawn.tool).launch(start, environment | (_temporary(folder) if talk else {}))
        await self._begin(launch, spawn)
        await self._stop_if_over(spawn)
        return warnings

    async def _begin(self, launch: Launch, spawn: Spawn) -> None:
        """Hand all of it to a runner."""
        session_id = spawn.session_id
        if launch.wait_seconds:
            await asyncio.sleep(launch.wait_seconds)
        order = {
            "session_id": session_id,
            "token": self._token_of(session_id),
            "secret": self._runner_secret_of(session_id, spawn.epoch),
            "socket": self._places.socket,
            "words": launch.words,
            "directory": spawn.directory,
            "epoch": spawn.epoch,
            "environment": launch.environment,
            "terminal": launch.terminal,
            "input": launch.input,
            "conversation": launch.conversation,
            "opening": launch.opening,
            "inbox": launch.inbox,
            "interrupt": launch.interrupt,
            "listens": launch.listens,
            "front": launch.front,
            "umask": umasks.of_programs(),
            "stop_seconds": limits.stop_grace_seconds,
        }
        await self._runners.start(order, session_id, record=lambda runner: self._record_runner(spawn, runner))

    async def _record_runner(self, spawn: Spawn, runner: Process) -> bool:
        """Store which process is the session's runner, before the runner may do anything."""
        recorded = await self._store.write(
            lambda tx: tx.spawns.record_runner(
                spawn.session_id, epoch=spawn.epoch, pid=runner.pid, started=runner.started
            )
        )
        self.on_runner_recorded()
        return recorded

    async def _set_up(self, spawn: Spawn, manifest: Manifest) -> list[str]:
        """Its worktree, with what the project wants done there. This may take long, so it can be stopped."""
        making = self._worktrees.make(manifest, merges_into=await self._run_branch(spawn))
        work = self._setting_up[spawn.session_id] = asyncio.ensure_future(making)
        try:
            return await work
        except asyncio.CancelledError:
            by = self._stopped_by.get(spawn.session_id)
            if by is None:
                raise
            raise _Stopped(f"It was stopped by {by} while its worktree was set up.") from None
        finally:
            self._setting_up.pop(spawn.session_id, None)
            self._stopped_by.pop(spawn.session_id, None)

    def _has_runner(self, spawn: Spawn) -> bool:
        """Whether a runner carries out this start. One of an earlier start has not quite ended: the new one waits."""
        if spawn.epoch > 1:
            note = self._runners.note(spawn.session_id)
            if note is None or note.epoch < spawn.epoch:
                return False
        return self._runners.is_starting(spawn.session_id) or self._runners.is_alive(spawn.session_id)

    async def _stop_if_over(self, spawn: Spawn) -> None:
        """A run that was stopped before this program was there could not stop it: so it is done now."""
        run_id = spawn.run_id
        run = await self._store.read(lambda tx: tx.runs.get(run_id), quick=True) if run_id else None
        if run is not None and run.status is not RunStatus.RUNNING:
            with contextlib.suppress(errors.Conflict):
                await self._runners.ask(spawn.session_id, do="stop", by=f"the end of {run.id}")

    async def _run_branch(self, spawn: Spawn) -> str | None:
        """Where the run that a session is of gathers finished work."""
        run_id = spawn.run_id
        if run_id is None:
            return None
        run = await self._store.read(lambda tx: tx.runs.get(run_id), quick=True)
        return run.branch if run else None

    async def _tracker_words(self, manifest: Manifest) -> dict[str, str]:
        """What an agent finds in its environment where its project has a tracker beside Maestro."""
        found = await self._store.read(lambda tx: tx.trackers.get(manifest.project.id), quick=True)
        return trackers.environment(found.kind, name=manifest.session.name) if found else {}

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

    def _over(self, tx: Tx, session_id: str, final: Status, why: str) -> None:
        """Its program will not run."""
        session, spawn = tx.sessions.get(session_id), tx.spawns.get(session_id)
        if session is None or spawn is None:
            return
        tail = why[: limits.report_tail_chars_max]
        tx.spawns.end(session_id, epoch=spawn.epoch, code=None, signal=None, tail=tail, at=tx.at)
        if session.ended_at is None:
            sessions.finish(tx, session, final, source=Source.PROCESS, actor=THE_SERVER, detail=why)


def _temporary(folder: Path) -> dict[str, str]:
    """A place for what some programs leave in `TMPDIR`, sockets among it; its runner takes it away at its end."""
    place = folder.absolute() / _TEMPORARY
    place.mkdir(exist_ok=True, mode=0o700)
    return {"TMPDIR": str(place)}


class _Stopped(Exception):
    """By whom a set-up was ended."""
