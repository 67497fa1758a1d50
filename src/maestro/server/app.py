"""Build the parts of a server, connect them, and offer them to the surfaces as an `App`."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec

from maestro import __version__
from maestro.core import errors, limits
from maestro.core.clock import Clock, SystemClock
from maestro.domain.callers import Caller, Role
from maestro.domain.spawns import Bounds
from maestro.domain.trackers import Choice
from maestro.domain.trackers import Kind as TrackerKind
from maestro.events.feed import Feed
from maestro.events.hub import EVERYTHING, Hub, Subscription, box_key
from maestro.operations import server as ops
from maestro.operations.app import Peer
from maestro.operations.base import Operation
from maestro.operations.registry import REGISTRY
from maestro.server import settings
from maestro.server.bindings import bindings
from maestro.server.dispatch import Dispatcher
from maestro.server.identities import Identities
from maestro.server.reactions import Reactions
from maestro.server.secrets import Secrets
from maestro.server.upkeep import upkeep_of
from maestro.services.asks import AskWaits
from maestro.services.backups import Backups
from maestro.services.events import EventLog
from maestro.services.families import Families
from maestro.services.hooks.desk import Desk as HookDesk
from maestro.services.hooks.firings import Firings
from maestro.services.hooks.holding import Holding
from maestro.services.hooks.waiting import Waiting
from maestro.services.issues.desk import Desk
from maestro.services.issues.views import Showing
from maestro.services.mail.guard import Guard
from maestro.services.mail.post import own_boxes
from maestro.services.mail.reading import Reading
from maestro.services.mail.receipts import ReceiptWaits
from maestro.services.mail.search import Search
from maestro.services.mail.sending import Sending
from maestro.services.mail.waits import MailWaits
from maestro.services.programs.control import Control
from maestro.services.programs.launching import Launching
from maestro.services.programs.launching import Places as ServerPlaces
from maestro.services.programs.reports import RunnerReports
from maestro.services.programs.runners import Runners
from maestro.services.programs.spawning import Spawning
from maestro.services.programs.starting import Starts
from maestro.services.programs.stopping import Stopping
from maestro.services.programs.terminals import Terminals
from maestro.services.projects.discovery import Discovery, Names
from maestro.services.projects.linking import Linking
from maestro.services.projects.places import Places
from maestro.services.projects.sandboxes import Sandboxes
from maestro.services.quotas import Bounds as QuotaBounds
from maestro.services.quotas import Quotas
from maestro.services.recovery.findings import Findings
from maestro.services.runs.records import RunControl
from maestro.services.sessions.agents import Agents
from maestro.services.sessions.presence import Presence
from maestro.services.sessions.records import Heartbeats, replace_tokens
from maestro.services.sessions.views import Explaining
from maestro.services.sessions.waits import SessionWaits
from maestro.services.talks.saying import Saying
from maestro.services.tasks.documents import Documents
from maestro.services.tasks.waits import TaskWaits
from maestro.services.trackers.keeping import Trackers
from maestro.services.trackers.views import Looking
from maestro.services.upkeep.alarms import Alarms
from maestro.services.upkeep.dead_letters import DeadLetters
from maestro.services.upkeep.dispatching import Dispatching
from maestro.services.upkeep.gates import Gates
from maestro.services.upkeep.leases import Leases
from maestro.services.upkeep.lost_sessions import LostSessions
from maestro.services.upkeep.processes import Processes
from maestro.services.upkeep.reconcile import Reconcile
from maestro.services.upkeep.recovering import Recovering
from maestro.services.upkeep.storage_checks import StorageChecks
from maestro.services.upkeep.unheard_hooks import UnheardHooks
from maestro.services.upkeep.waking import Waking
from maestro.services.worktrees.clearing import Clearing
from maestro.services.worktrees.keeping import Worktrees
from maestro.store.base import Tx
from maestro.store.blobs import Blobs
from maestro.store.health import Finding, Health
from maestro.store.health import Kind as HealthKind
from maestro.store.layout import BLOBS, DATABASE, SOCKET
from maestro.store.sqlite import SqliteStore
from maestro.trackers import known as known_trackers
from maestro.trackers.base import Tracker

log = logging.getLogger(__name__)
_SWITCH_SECONDS = 0.0005


class Server:
    """The services, background jobs and store behind the surfaces. Create a server inside a running event loop."""

    def __init__(self, home: Path, *, clock: Clock | None = None) -> None:
        # The event loop and the writer share the interpreter: at the usual interval of 5 ms, each delays the other.
        sys.setswitchinterval(_SWITCH_SECONDS)
        self.home = home
        self.clock = clock or SystemClock()
        self.settings = settings.load(home)
        self.secrets = Secrets(home)
        self.store = SqliteStore(home / DATABASE, clock=self.clock)
        self.health = Health(home)
        if self.store.lost_events is not None:
            self.health.note(self.store.lost_events, at=self.clock.now())
        self.hub = Hub()
        self.blobs = Blobs(home / BLOBS)
        self.documents = Documents(self.blobs)
        self.backups = Backups(self.store, self.blobs, self.health)
        self.discovery = Discovery(self.store)
        self.names = Names(self.discovery)
        self.places = Places(
            self.store, prefer_remote=self.settings.remote, refresh=self.discovery.refresh, owes=self.discovery.owes
        )
        self.linking = Linking(self.store, self.places, self.discovery)
        self.presence = Presence(self.clock)
        self.waits = TaskWaits(self.store, self.hub, self.presence)
        self._build_mail()
        self._build_sessions()
        self._build_spawning()
        self.trackers = Trackers(
            self.store, self._open_tracker, clock=self.clock, seconds=self.settings.tracker_seconds
        )
        self.tracker_views = Looking(self.store, self.trackers, lambda: self.upkeep.nudge(Trackers.name))
        self.log = EventLog(self.store, Feed(self.store, self.hub))
        human = settings.human_name(self.settings)
        self.identities = Identities(self.store, self.secrets, self.presence, human=human, home=home)
        self.dispatcher = Dispatcher(self.store, self.blobs, self.quotas, bindings(self))
        self.processes = Processes(self.store, self.presence, shortened=lambda: self.upkeep.nudge(LostSessions.name))
        self.leases = Leases(self.store, clock=self.clock)
        self.gates = Gates(
            self.store,
            self.blobs,
            self.worktrees,
            self.sandboxes,
            clock=self.clock,
            seconds_max=self.settings.gate_seconds,
        )
        self.dispatching = Dispatching(self.store, self.spawning, self.launching, self.stopper, clock=self.clock)
        self.upkeep = upkeep_of(self)
        self._connect_callbacks()
        self.fault: errors.StorageGone | None = None  # the fault that stops the server
        self.on_session_end: Callable[[str], None] = lambda session_id: None
        self.on_rights_change: Callable[[], None] = lambda: None
        self.stopping = asyncio.Event()
        self.url: str | None = None
        self._started_at = self.clock.now()

    def _build_mail(self) -> None:
        config = self.settings
        self.families = Families()
        self.guard = Guard(
            self.families,
            per_minute=config.mail_per_minute,
            per_minute_of_family=config.family_mail_per_minute,
            per_minute_of_project=config.project_mail_per_minute,
        )
        self.quotas = Quotas(self.families, _quota_bounds(config))
        self.sending = Sending(self.guard, may_ask=self.quotas.may_ask)
        self.reading = Reading(self.store, self.blobs)
        self.desk = Desk(self.guard)
        self.issue_views = Showing(self.reading)
        self.receipt_waits = ReceiptWaits(self.store, self.hub)
        self.mail_waits = MailWaits(self.store, self.hub, self.presence)
        self.search = Search(self.store, self.blobs, clock=self.clock)

    def _build_sessions(self) -> None:
        self.agents = Agents(self.presence)
        self.heartbeats = Heartbeats(self.store)
        self.explaining = Explaining(self.store, self.presence)
        self.session_waits = SessionWaits(self.store, self.hub, self.presence)
        self.ask_waits = AskWaits(self.store, self.hub, self.presence)
        self.runners = Runners(self.home)
        self.hook_desk = HookDesk(
            self.store, Holding(self.store, self.hub, may_ask=self.quotas.may_ask), Waiting(self.runners)
        )
        self.hook_firings = Firings(self.store, self.clock)
        self.sandboxes = Sandboxes(self.store, self.home)
        self.worktrees = Worktrees(self.store, self.sandboxes)
        self.clearing = Clearing(self.store, self.worktrees)
        self.terminals = Terminals(self.store, self.runners)
        places = ServerPlaces(self.home, str(self.home.absolute() / SOCKET), lambda: self.url)
        token_of = self.secrets.session_token
        self.runner_reports = RunnerReports(self.secrets.runner_secret)
        self.launching = Launching(
            self.store,
            self.runners,
            self.worktrees,
            places,
            token_of=token_of,
            runner_secret_of=self.secrets.runner_secret,
        )
        self.stopper = Stopping(self.runners, self.launching)
        self.saying = Saying(self.store, self.runners)
        self.unheard_hooks = UnheardHooks(self.store, self.hook_desk, self.home, clock=self.clock)
        self.waking = Waking(
            self.store,
            self.runners,
            self.saying,
            clock=self.clock,
            came_in=self.hook_desk.came_in,
            is_caught_up=self.unheard_hooks.taken.wait,
        )
        self.control = Control(
            self.store,
            self.hub,
            self.runners,
            self.stopper,
            self.receipt_waits,
            self.saying,
            wake=self.waking.wake,
        )

    def _build_spawning(self) -> None:
        """Build the services that start and recover sessions. Needs the parts that `_build_sessions` makes."""
        operations = list(REGISTRY.values())
        config = self.settings
        bounds = Bounds(
            depth_max=config.spawn_depth,
            of_one_coordinator_max=config.spawns_per_coordinator,
            of_one_project_max=config.spawns_per_project,
        )
        self.spawning = Spawning(
            self.store,
            self.hub,
            self.launching,
            self.home,
            token_of=self.secrets.session_token,
            operations=lambda: operations,
            bounds=bounds,
        )
        self.starts = Starts(self.launching, most=limits.starts_parallel_max)
        self.recovering = Recovering(self.store, self.starts, self.runners, self.stopper)
        self.findings = Findings(self.store, self.presence, self.recovering.settle, clock=self.clock)
        self.run_control = RunControl(self.store, self.hub, self.stopper)

    def _connect_callbacks(self) -> None:
        """Connect the end of one part's work to the job that continues with the result."""
        self.gates.on_done = lambda: self.upkeep.nudge(Gates.name)
        self.trackers.on_done = lambda: self.upkeep.nudge(Trackers.name)
        self.runners.on_end = lambda: self.upkeep.nudge(Reconcile.name)
        self.launching.on_runner_recorded = self.identities.forget_processes
        self.starts.on_done = self._nudge_session_starts
        self.recovering.on_given_up = lambda: self.upkeep.nudge(DeadLetters.name)
        self.guard.on_alarm = lambda: self.upkeep.nudge_from_anywhere(Alarms.name)
        self.store.on_commit(Reactions(self).react)
        self.store.on_fault(self._handle_storage_fault)

    def _nudge_session_starts(self) -> None:
        for name in (Recovering.name, Reconcile.name):
            self.upkeep.nudge(name)

    def _open_tracker(self, choice: Choice) -> Tracker:
        config = self.settings
        programs = {TrackerKind.BEADS: config.bd}
        seconds = config.tracker_call_seconds
        return known_trackers.beside(choice.kind, choice.path, programs=programs, seconds_max=seconds)

    async def identify(self, *, token: str, peer: Peer | None, again: bool = False) -> Caller:
        return await self.identities.identify(token=token, peer=peer, again=again)

    async def call(self, operation: Operation, request: msgspec.Struct, *, caller: Caller, key: str = "") -> Any:
        await self.leases.be_fair()
        return await self.dispatcher.call(operation, request, caller=caller, key=key)

    def stream(self, operation: Operation, request: msgspec.Struct, *, caller: Caller) -> AsyncIterator[Any]:
        return self.dispatcher.stream(operation, request, caller=caller)

    def listen(self, caller: Caller) -> AbstractContextManager[Subscription]:
        """Subscribe a session to its own events, its mailboxes and its project; the person gets all events."""
        if caller.role is Role.PERSON:
            return self.hub.subscribe([EVERYTHING])
        session_and_project = [caller.session_id, caller.project_id]
        return self.hub.subscribe([*filter(None, session_and_project), *map(box_key, self.boxes(caller))])

    def boxes(self, caller: Caller) -> frozenset[str]:
        return frozenset(own_boxes(caller))

    async def anew(self, caller: Caller) -> Caller:
        return await self.identities.anew(caller)

    def sign(self, text: str) -> str:
        return self.secrets.mark(text)

    def _handle_storage_fault(self, fault: errors.StorageFailed) -> None:
        """Stop the server when the data directory is gone. Record damage, and tell the person about the damage."""
        if isinstance(fault, errors.StorageDamaged):
            finding = Finding(HealthKind.DATABASE, fault.message)
            if self.health.note(finding, at=self.clock.now()):
                self.upkeep.nudge(StorageChecks.name)
        if isinstance(fault, errors.StorageGone) and self.fault is None:
            log.error("%s", fault.message)
            self.fault = fault
            self.stopping.set()

    async def void_exposed_tokens(self) -> None:
        """Replace the tokens of all sessions if other users could have read the secret behind the tokens."""
        if self.secrets.were_exposed:
            await self.store.write(lambda tx: replace_tokens(tx, self.secrets.session_token))
            self.secrets.forget_exposure()

    async def close(self) -> None:
        """Stop the background jobs, then finish every accepted write."""
        await self.upkeep.close()
        await self.gates.close()
        await self.trackers.close()
        await self.dispatching.close()
        await self.starts.close()
        await self.launching.close()
        await self.processes.close()
        await self.runners.close()
        await self.hook_firings.close()
        await self.store.close()

    def status(self, tx: Tx, caller: Caller, request: ops.Nothing) -> ops.ServerStatus:
        return ops.ServerStatus(
            version=__version__,
            pid=os.getpid(),
            home=str(self.home),
            url=self.url,
            started_at=self._started_at,
            schema=self.store.schema,
            events=tx.events.last(),
            sessions=tx.sessions.count_live(),
            runs=len(tx.runs.live(limit=limits.page_items_max)),
            problems=[problem.text for problem in self.health.problems],
        )

    async def stop(self, caller: Caller, request: ops.Nothing) -> ops.Stopped:
        live_sessions = await self.store.read(lambda tx: tx.sessions.count_live(), quick=True)
        self.stopping.set()
        home = os.fsencode(self.home).decode("utf-8", "ignore")
        is_utf8 = home == str(self.home)  # a path that is not UTF-8 cannot be sent
        return ops.Stopped(pid=os.getpid(), sessions=live_sessions, home=home if is_utf8 else "")

    async def config_get(self, caller: Caller, request: ops.GetConfig) -> ops.Settings:
        values = msgspec.structs.asdict(settings.load(self.home))
        if request.name is not None:
            settings.known(request.name)
            values = {request.name: values[request.name]}
        return ops.Settings(settings=values)

    async def config_set(self, caller: Caller, request: ops.SetConfig) -> ops.Settings:
        changed = settings.change(self.home, request.name, request.value)
        return ops.Settings(settings={request.name: getattr(changed, request.name)}, counts_after_restart=True)


def _quota_bounds(config: settings.Settings) -> QuotaBounds:
    return QuotaBounds(**{name: getattr(config, name) for name in QuotaBounds.__struct_fields__})
