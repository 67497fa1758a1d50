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
from maestro.domain.spawns import SpawnLimits
from maestro.domain.trackers import ProjectTracker, TrackerKind
from maestro.events.feed import Feed
from maestro.events.hub import EVERYTHING, Hub, Subscription, mailbox_key
from maestro.operations import server as ops
from maestro.operations.app import SocketPeer
from maestro.operations.base import Operation
from maestro.operations.registry import REGISTRY
from maestro.server import effects as effects  # binds the effects across nouns
from maestro.server import settings
from maestro.server.bindings import build_bindings
from maestro.server.dispatch import Dispatcher
from maestro.server.identities import Identities
from maestro.server.jobs import build_background_jobs
from maestro.server.reactions import Reactions
from maestro.server.secrets import Secrets
from maestro.services.asks.asks import AskWaits
from maestro.services.backups import Backups
from maestro.services.conversations.push import Pusher
from maestro.services.conversations.push_job import PushJob
from maestro.services.events import EventLog
from maestro.services.hooks.firings import HookFirings
from maestro.services.hooks.handler import HookHandler
from maestro.services.hooks.late_hooks_job import LateHookJob
from maestro.services.hooks.permission_hold import PermissionHolds
from maestro.services.hooks.self_wait import SelfWaits
from maestro.services.housekeeping.rate_alarms import AlarmJob
from maestro.services.housekeeping.storage_checks import StorageCheckJob
from maestro.services.issues.operations import IssueOperations
from maestro.services.issues.views import IssueViews
from maestro.services.mail.create import own_mailboxes
from maestro.services.mail.rate_limit import MailLimiter
from maestro.services.mail.reading import MailReading
from maestro.services.mail.receipts import ReceiptWaits
from maestro.services.mail.search import MailSearch
from maestro.services.mail.waits import MailWaits
from maestro.services.presence.tracker import PresenceTracker
from maestro.services.projects.discovery import ProjectDiscovery, RequestNames
from maestro.services.projects.link_settings import ProjectLinking
from maestro.services.projects.locate import ProjectLocator
from maestro.services.projects.sandboxes import ProjectSandboxes
from maestro.services.quotas.families import Families
from maestro.services.quotas.quotas import QuotaBounds, Quotas
from maestro.services.recovery.findings import RestartFindings
from maestro.services.recovery.lost_sessions import LostSessionJob
from maestro.services.recovery.reconcile import ReconcileJob
from maestro.services.recovery.recovery_job import RecoveryJob
from maestro.services.recovery.undelivered_mail import UnreadMailJob
from maestro.services.runners.runners import Runners
from maestro.services.runs.control import RunControl
from maestro.services.runs.dispatch import RunDispatchJob
from maestro.services.runs.gates import GateJob
from maestro.services.sending.sending import MailSending
from maestro.services.sessions.agents import AgentViews
from maestro.services.sessions.lifecycle import Heartbeats, replace_tokens
from maestro.services.sessions.process_job import ProcessWatchJob
from maestro.services.sessions.views import SessionExplainer
from maestro.services.sessions.waits import SessionWaits
from maestro.services.supervision.background_starts import BackgroundStarts
from maestro.services.supervision.control import ProgramControl
from maestro.services.supervision.launch import ProgramLauncher, ServerLocation
from maestro.services.supervision.runner_reports import RunnerReports
from maestro.services.supervision.spawn import Spawner
from maestro.services.supervision.stop import ProgramStopper
from maestro.services.supervision.terminals import Terminals
from maestro.services.tasks.documents import TaskDocuments
from maestro.services.tasks.expired_claims import ClaimExpiryJob
from maestro.services.tasks.waits import TaskWaits
from maestro.services.trackers.sync_job import TrackerSyncJob
from maestro.services.trackers.views import TrackerOperations
from maestro.services.worktrees.lifecycle import SessionWorktrees
from maestro.services.worktrees.removal import WorktreeRemoval
from maestro.store.base import Tx
from maestro.store.blobs import Blobs
from maestro.store.health import DamageFinding, DamageKind, StorageHealth
from maestro.store.layout import BLOBS, DATABASE, SOCKET
from maestro.store.sqlite import SqliteStore
from maestro.trackers import registry as known_trackers
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
        self.settings = settings.load_settings(home)
        self.secrets = Secrets(home)
        self.store = SqliteStore(home / DATABASE, clock=self.clock)
        self.health = StorageHealth(home)
        if self.store.lost_events is not None:
            self.health.record_finding(self.store.lost_events, at=self.clock.now())
        self.hub = Hub()
        self.blobs = Blobs(home / BLOBS)
        self.documents = TaskDocuments(self.blobs)
        self.backups = Backups(self.store, self.blobs, self.health)
        self._build_projects()
        self.presence = PresenceTracker(self.clock)
        self.task_waits = TaskWaits(self.store, self.hub, self.presence)
        self._build_mail()
        self._build_sessions()
        self._build_spawning()
        self.tracker_sync = TrackerSyncJob(
            self.store, self._open_tracker, clock=self.clock, seconds=self.settings.tracker_seconds
        )
        self.tracker_views = TrackerOperations(
            self.store, self.tracker_sync, lambda: self.background_jobs.nudge_job(TrackerSyncJob.name)
        )
        self.event_log = EventLog(self.store, Feed(self.store, self.hub))
        human = settings.human_name(self.settings)
        self.identities = Identities(self.store, self.secrets, self.presence, human=human, home=home)
        self.dispatcher = Dispatcher(self.store, self.blobs, self.quotas, build_bindings(self))
        self.process_watch = ProcessWatchJob(
            self.store, self.presence, on_lease_shortened=lambda: self.background_jobs.nudge_job(LostSessionJob.name)
        )
        self.lease_job = ClaimExpiryJob(self.store, clock=self.clock)
        self.gate_job = GateJob(
            self.store,
            self.blobs,
            self.worktrees,
            self.sandboxes,
            clock=self.clock,
            seconds_max=self.settings.gate_seconds,
        )
        self.run_dispatch = RunDispatchJob(
            self.store, self.spawning, self.launching, self.session_stopper, clock=self.clock
        )
        self.background_jobs = build_background_jobs(self)
        self._connect_callbacks()
        self.fault: errors.StorageGone | None = None  # the fault that stops the server
        self.on_session_end: Callable[[str], None] = lambda session_id: None
        self.on_rights_change: Callable[[], None] = lambda: None
        self.stopping = asyncio.Event()
        self.url: str | None = None
        self._started_at = self.clock.now()

    def _build_projects(self) -> None:
        self.discovery = ProjectDiscovery(self.store)
        self.project_names = RequestNames(self.discovery)
        self.project_locator = ProjectLocator(
            self.store,
            prefer_remote=self.settings.remote,
            refresh_settings=self.discovery.refresh_settings,
            has_pending_rules=self.discovery.has_pending_rules,
        )
        self.project_links = ProjectLinking(self.store, self.project_locator, self.discovery)

    def _build_mail(self) -> None:
        config = self.settings
        self.families = Families()
        self.mail_limiter = MailLimiter(
            self.families,
            per_minute=config.mail_per_minute,
            per_minute_of_family=config.family_mail_per_minute,
            per_minute_of_project=config.project_mail_per_minute,
        )
        self.quotas = Quotas(self.families, _quota_bounds(config))
        self.mail_sending = MailSending(self.mail_limiter, require_ask_quota=self.quotas.count_ask)
        self.mail_reading = MailReading(self.store, self.blobs)
        self.issue_operations = IssueOperations(self.mail_limiter)
        self.issue_views = IssueViews(self.mail_reading)
        self.receipt_waits = ReceiptWaits(self.store, self.hub)
        self.mail_waits = MailWaits(self.store, self.hub, self.presence)
        self.mail_search = MailSearch(self.store, self.blobs, clock=self.clock)

    def _build_sessions(self) -> None:
        self.agent_views = AgentViews(self.presence)
        self.heartbeats = Heartbeats(self.store)
        self.session_explainer = SessionExplainer(self.store, self.presence)
        self.session_waits = SessionWaits(self.store, self.hub, self.presence)
        self.ask_waits = AskWaits(self.store, self.hub, self.presence)
        self.runners = Runners(self.home)
        self.hook_handler = HookHandler(
            self.store, PermissionHolds(self.store, self.hub, may_ask=self.quotas.count_ask), SelfWaits(self.runners)
        )
        self.hook_firings = HookFirings(self.store, self.clock)
        self.sandboxes = ProjectSandboxes(self.store, self.home)
        self.worktrees = SessionWorktrees(self.store, self.sandboxes)
        self.worktree_removal = WorktreeRemoval(self.store, self.worktrees)
        self.terminals = Terminals(self.store, self.runners)
        places = ServerLocation(self.home, str(self.home.absolute() / SOCKET), lambda: self.url)
        token_of = self.secrets.session_token
        self.runner_reports = RunnerReports(self.secrets.runner_secret)
        self.launching = ProgramLauncher(
            self.store,
            self.runners,
            self.worktrees,
            places,
            token_of=token_of,
            runner_secret_of=self.secrets.runner_secret,
        )
        self.session_stopper = ProgramStopper(self.runners, self.launching)
        self.pusher = Pusher(self.store, self.runners)
        self.late_hooks = LateHookJob(self.store, self.hook_handler, self.home, clock=self.clock)
        self.push_job = PushJob(
            self.store,
            self.runners,
            self.pusher,
            clock=self.clock,
            on_push_received=self.hook_handler.handle_confirmed_push,
            wait_until_caught_up=self.late_hooks.first_round_done.wait,
        )
        self.program_control = ProgramControl(
            self.store,
            self.hub,
            self.runners,
            self.session_stopper,
            self.receipt_waits,
            self.pusher,
            push_mail=self.push_job.push_to_session,
        )

    def _build_spawning(self) -> None:
        """Build the services that start and recover sessions. Needs the parts that `_build_sessions` makes."""
        operations = list(REGISTRY.values())
        config = self.settings
        bounds = SpawnLimits(
            depth_max=config.spawn_depth,
            of_one_coordinator_max=config.spawns_per_coordinator,
            of_one_project_max=config.spawns_per_project,
        )
        self.spawning = Spawner(
            self.store,
            self.hub,
            self.launching,
            self.home,
            token_of=self.secrets.session_token,
            operations=lambda: operations,
            bounds=bounds,
        )
        self.session_starts = BackgroundStarts(self.launching, count_max=limits.starts_parallel_max)
        self.recovery_job = RecoveryJob(self.store, self.session_starts, self.runners, self.session_stopper)
        self.restart_findings = RestartFindings(
            self.store, self.presence, self.recovery_job.settle_due, clock=self.clock
        )
        self.run_control = RunControl(self.store, self.hub, self.session_stopper)

    def _connect_callbacks(self) -> None:
        """Connect the end of one part's work to the job that continues with the result."""
        self.gate_job.on_done = lambda: self.background_jobs.nudge_job(GateJob.name)
        self.tracker_sync.on_done = lambda: self.background_jobs.nudge_job(TrackerSyncJob.name)
        self.runners.on_end = lambda: self.background_jobs.nudge_job(ReconcileJob.name)
        self.launching.on_runner_recorded = self.identities.forget_processes
        self.session_starts.on_done = self._nudge_session_starts
        self.recovery_job.on_given_up = lambda: self.background_jobs.nudge_job(UnreadMailJob.name)
        self.mail_limiter.on_alarm = lambda: self.background_jobs.nudge_job_from_thread(AlarmJob.name)
        self.store.on_commit(Reactions(self).react_to_events)
        self.store.on_fault(self._handle_storage_fault)

    def _nudge_session_starts(self) -> None:
        for name in (RecoveryJob.name, ReconcileJob.name):
            self.background_jobs.nudge_job(name)

    def _open_tracker(self, choice: ProjectTracker) -> Tracker:
        config = self.settings
        programs = {TrackerKind.BEADS: config.bd}
        seconds = config.tracker_call_seconds
        return known_trackers.external_tracker(choice.kind, choice.path, programs=programs, seconds_max=seconds)

    async def identify(self, *, token: str, peer: SocketPeer | None, again: bool = False) -> Caller:
        return await self.identities.identify(token=token, peer=peer, again=again)

    async def call(self, operation: Operation, request: msgspec.Struct, *, caller: Caller, key: str = "") -> Any:
        await self.lease_job.extend_claims_after_absence()
        return await self.dispatcher.call(operation, request, caller=caller, key=key)

    def stream(self, operation: Operation, request: msgspec.Struct, *, caller: Caller) -> AsyncIterator[Any]:
        return self.dispatcher.stream(operation, request, caller=caller)

    def subscribe_caller(self, caller: Caller) -> AbstractContextManager[Subscription]:
        """Subscribe a session to its own events, its mailboxes and its project; the person gets all events."""
        if caller.role is Role.PERSON:
            return self.hub.subscribe([EVERYTHING])
        session_and_project = [caller.session_id, caller.project_id]
        return self.hub.subscribe([*filter(None, session_and_project), *map(mailbox_key, self.mailboxes_of(caller))])

    def mailboxes_of(self, caller: Caller) -> frozenset[str]:
        return frozenset(own_mailboxes(caller))

    async def refresh_caller(self, caller: Caller) -> Caller:
        return await self.identities.refresh_caller(caller)

    def sign_text(self, text: str) -> str:
        return self.secrets.sign_text(text)

    def _handle_storage_fault(self, fault: errors.StorageFailed) -> None:
        """Stop the server when the data directory is gone. Record damage, and tell the person about the damage."""
        if isinstance(fault, errors.StorageDamaged):
            finding = DamageFinding(DamageKind.DATABASE, fault.message)
            if self.health.record_finding(finding, at=self.clock.now()):
                self.background_jobs.nudge_job(StorageCheckJob.name)
        if isinstance(fault, errors.StorageGone) and self.fault is None:
            log.error("%s", fault.message)
            self.fault = fault
            self.stopping.set()

    async def replace_exposed_tokens(self) -> None:
        """Replace the tokens of all sessions if other users could have read the secret behind the tokens."""
        if self.secrets.were_exposed:
            await self.store.write(lambda tx: replace_tokens(tx, self.secrets.session_token))
            self.secrets.forget_exposure()

    async def close(self) -> None:
        """Stop the background jobs, then finish every accepted write."""
        await self.background_jobs.close()
        await self.gate_job.close()
        await self.tracker_sync.close()
        await self.run_dispatch.close()
        await self.session_starts.close()
        await self.launching.close()
        await self.process_watch.close()
        await self.runners.close()
        await self.hook_firings.close()
        await self.store.close()

    def read_status(self, tx: Tx, caller: Caller, request: ops.EmptyRequest) -> ops.ServerStatus:
        return ops.ServerStatus(
            version=__version__,
            pid=os.getpid(),
            home=str(self.home),
            url=self.url,
            started_at=self._started_at,
            schema=self.store.schema,
            events=tx.events.last_seq(),
            sessions=tx.sessions.count_live(),
            runs=len(tx.runs.list_live(limit=limits.page_items_max)),
            problems=[problem.text for problem in self.health.problems],
        )

    async def request_stop(self, caller: Caller, request: ops.EmptyRequest) -> ops.StoppedServer:
        live_sessions = await self.store.read(lambda tx: tx.sessions.count_live(), quick=True)
        self.stopping.set()
        home = os.fsencode(self.home).decode("utf-8", "ignore")
        is_utf8 = home == str(self.home)  # a path that is not UTF-8 cannot be sent
        return ops.StoppedServer(pid=os.getpid(), sessions=live_sessions, home=home if is_utf8 else "")

    async def read_settings(self, caller: Caller, request: ops.GetConfig) -> ops.ShownSettings:
        values = msgspec.structs.asdict(settings.load_settings(self.home))
        if request.name is not None:
            settings.require_known_setting(request.name)
            values = {request.name: values[request.name]}
        return ops.ShownSettings(settings=values)

    async def change_setting(self, caller: Caller, request: ops.SetConfig) -> ops.ShownSettings:
        changed = settings.change_setting(self.home, request.name, request.value)
        return ops.ShownSettings(settings={request.name: getattr(changed, request.name)}, counts_after_restart=True)


def _quota_bounds(config: settings.ServerSettings) -> QuotaBounds:
    return QuotaBounds(**{name: getattr(config, name) for name in QuotaBounds.__struct_fields__})
