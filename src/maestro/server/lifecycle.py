"""Run one server: lock the data directory, listen, report readiness, serve until a stop, finish accepted work."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import resource
import signal
from pathlib import Path

import msgspec

from maestro import __version__
from maestro.core import limits
from maestro.server import connection_limits, http
from maestro.server.app import Server
from maestro.server.command_socket import CommandSocket
from maestro.server.home import HomeLock
from maestro.server.identities import replace_exposed_tokens
from maestro.server.ready import ReadyPipe
from maestro.server.supervisor_replacement import replace_killed_supervisor
from maestro.server.surfaces import build_surfaces
from maestro.services.projects import git_records
from maestro.services.runners.older_runners import find_unknown_runners, record_older_runners
from maestro.services.runners.sessions_folder import adopt_sessions_folder
from maestro.store.layout import SERVER
from maestro.store.sqlite import replacement
from maestro.surfaces.cli.commands import CommandLine
from maestro.surfaces.cli.connection import serve_connection
from maestro.surfaces.refusal_log import REFUSAL_LOG

log = logging.getLogger(__name__)
_COLLECTION_THRESHOLDS = (50_000, 50, 50)


async def run_server(home: Path, *, port: int | None, ready: ReadyPipe) -> None:
    """Serve one data directory until a signal or `maestro down` stops the server."""
    # The socket is bound by its bare name, so that a long data directory does not break its path.
    os.chdir(home)
    with HomeLock(home):
        replacement.finish_replacement(home)
        adopt_sessions_folder(home)
        server = Server(home)
        _prepare_for_many_connections()
        try:
            await _serve_until_stop(server, port if port is not None else server.settings.port, ready)
        finally:
            await server.close()
        if server.state.fault is not None:
            raise server.state.fault


def _prepare_for_many_connections() -> None:
    """Prepare the process for thousands of connected agents: raise the file limit and make garbage collections rare.

    The collector skips the objects of the start, because they live as long as the server. A full collection with five
    thousand waiting agents takes half a second, and no request is served meanwhile.
    """
    _, files_max = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (files_max, files_max))
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTION_THRESHOLDS)


async def _serve_until_stop(server: Server, port: int, ready: ReadyPipe) -> None:
    state, loop = server.state, asyncio.get_running_loop()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signal_number, state.stopping.set)
    await _catch_up(server)
    listener = http.open_listener(server.settings.host, port)
    state.url = http.url_of(listener)
    surfaces = build_surfaces(server)
    connections = _CommandConnections(surfaces.command_line)
    command_socket = CommandSocket(connections)
    await command_socket.open()
    http_server = asyncio.create_task(http.serve_http(surfaces.http, listener, state.stopping))
    _write_server_file(state.url)
    replace_killed_supervisor(server.home, state.stopping.set)
    ready.report_result("ready")
    log.info("serving %s at %s (pid %d)", server.home, state.url, os.getpid())
    try:
        await state.stopping.wait()
    finally:
        log.info("stopping")
        command_socket.close()
        await connections.finish_connections()
        await surfaces.mcp.stop()
        state.stopping.set()
        await http_server
        REFUSAL_LOG.flush()
        Path(SERVER).unlink(missing_ok=True)


async def _catch_up(server: Server) -> None:
    """Learn what happened while no server ran, before the first request: runners, tokens, quotas, late hooks."""
    store, parts = server.store, server.parts
    await record_older_runners(store, parts.runners.runners)
    unknown_runners = await find_unknown_runners(store, parts.runners.runners)
    parts.identity.identities.add_unknown_runners(unknown_runners)
    await parts.identity.identities.refuse_start_by_session()
    await replace_exposed_tokens(store, server.secrets)
    await parts.quotas.quotas.load_bytes_of_day(store)
    await git_records.load_records(store)
    await parts.recovery.findings.note_live_sessions()
    await parts.hooks.window_asks.leave_calls_to_windows()
    await parts.hooks.late_hooks.run_once()  # late hooks are older than every request from here on


class _CommandConnections:
    """The open connections of commands. A stop of the server lets them finish first."""

    def __init__(self, command_line: CommandLine) -> None:
        self._command_line = command_line
        self._running: set[asyncio.Task[None]] = set()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            refusal = connection_limits.refuse_high_descriptor(writer.get_extra_info("socket").fileno())
            await serve_connection(reader, writer, self._command_line, refusal=refusal)
        except asyncio.CancelledError:
            log.info("ended a running command because the server stops")
        finally:
            self._running.discard(task)

    async def finish_connections(self) -> None:
        """Wait half a second for running commands, then cancel the rest: waits and event streams."""
        if self._running:
            await asyncio.wait(self._running, timeout=0.5)
        for task in list(self._running):
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=limits.stop_seconds_max)


def _write_server_file(url: str) -> None:
    """Write the server's pid, URL and version into the data directory, for programs that look for a server."""
    content = {"pid": os.getpid(), "url": url, "version": __version__}
    part = Path(f".{SERVER}.part")
    part.write_bytes(msgspec.json.encode(content) + b"\n")
    part.rename(SERVER)
