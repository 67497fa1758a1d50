"""The objects that every part of a server builds on: store, event hub, clock, settings, background jobs, state."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path

import msgspec

from maestro.core.clock import Clock, SystemClock
from maestro.core.errors import StorageGone
from maestro.events.hub import Hub
from maestro.server.secrets import Secrets
from maestro.server.settings import ServerSettings, load_settings
from maestro.services.jobs import BackgroundJobs
from maestro.store.blobs import Blobs
from maestro.store.health import StorageHealth
from maestro.store.layout import BLOBS, DATABASE
from maestro.store.sqlite import SqliteStore


class ServerState:
    """The state of a running server: its start, its address, and the request to stop."""

    def __init__(self, started_at: datetime) -> None:
        self.started_at = started_at
        self.url: str | None = None  # known as soon as the HTTP listener is open
        self.stopping = asyncio.Event()
        self.fault: StorageGone | None = None  # the fault that stops the server


class ServerBase(msgspec.Struct, frozen=True):
    """The objects that the parts of one server share."""

    home: Path
    clock: Clock
    settings: ServerSettings
    secrets: Secrets
    store: SqliteStore
    blobs: Blobs
    health: StorageHealth
    hub: Hub
    background_jobs: BackgroundJobs
    state: ServerState


def open_base(home: Path, clock: Clock | None = None) -> ServerBase:
    """Open the store of a data directory, and create the shared objects. Needs a running event loop."""
    clock = clock or SystemClock()
    settings, secrets = load_settings(home), Secrets(home)
    store, health = SqliteStore(home / DATABASE, clock=clock), StorageHealth(home)
    if store.lost_events is not None:
        health.record_finding(store.lost_events, at=clock.now())
    return ServerBase(
        home=home,
        clock=clock,
        settings=settings,
        secrets=secrets,
        store=store,
        blobs=Blobs(home / BLOBS),
        health=health,
        hub=Hub(),
        background_jobs=BackgroundJobs(clock=clock),
        state=ServerState(clock.now()),
    )
