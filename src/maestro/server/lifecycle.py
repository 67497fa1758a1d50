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
from maestro.server import descriptors, hooks, http, mcp
from maestro.server.app import Server
from maestro.server.command_socket import CommandSocket
from maestro.server.home import HomeLock
from maestro.server.ready import ReadyPipe
from maestro.server.supervision import replace_killed_supervisor
from maestro.services.projects import git_records
from maestro.services.runners.older_runners import find_unknown_runners, record_older_runners
from maestro.store.layout import SERVER
from maestro.store.sqlite import replacement
from maestro.surfaces.cli.commands import CommandLine
from maestro.surfaces.cli.connection import serve_connection
from maestro.surfaces.refusals import REFUSAL_LOG

log = logging.getLogger(__name__)
_COLLECTION_THRESHOLDS = (50_000, 50, 50)


async def run_server(home: Path, *, port: int | None, ready: ReadyPipe) -> None:
    """Serve one data directory until a signal or `maestro down` stops the server."""
    # The socket is bound by its bare name, so that a long data directory does not break its path.
    os.chdir(home)
    with HomeLock(home):
        replacement.finish_replacement(home)
        server = Server(home)
        _prepare_for_many_connections()
        try:
            await _serve_until_stop(server, port if port is not None else server.settings.port, ready)
        finally:
            await server.close()
        if server.fault is not None:
            raise server.fault


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
    loop = asyncio.get_running_loop()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signal_number, server.stopping.set)
    await record_older_runners(server.store, server.runners)
    server.identities.add_unknown_runners(await find_unknown_runners(server.store, server.runners))
    await server.identities.refuse_start_by_session()
    await server.replace_exposed_tokens()
    await server.quotas.load_bytes_of_day(server.store)
    await git_records.load_records(server.store)
    await server.restart_findings.note_live_sessions()
    await server.late_hooks.run_once()  # late hooks are older than every request from here on
    listener = http.open_listener(server.settings.host, port)
    server.url = http.url_of(listener)
    mcp_endpoint = mcp.build_endpoint(server)
    hook_answers = hooks.build_hook_answers(server)
    command_line = CommandLine(
        server, pipe=mcp.build_pipe_server(server, mcp_endpoint), hook=hooks.build_hook_command(server, hook_answers)
    )
    connections = _CommandConnections(command_line)
    command_socket = CommandSocket(connections)
    await command_socket.open()
    http_app = http.HttpApplication(server, mcp_endpoint, hooks.build_endpoint(server, hook_answers))
    http_server = asyncio.create_task(http.serve_http(http_app, listener, server.stopping))
    _write_server_file(server)
    replace_killed_supervisor(server.home, server.stopping.set)
    ready.report_result("ready")
    log.info("serving %s at %s (pid %d)", server.home, server.url, os.getpid())
    try:
        await server.stopping.wait()
    finally:
        log.info("stopping")
        command_socket.close()
        await connections.finish_connections()
        await mcp_endpoint.stop()
        server.stopping.set()
        await http_server
        REFUSAL_LOG.flush()
        Path(SERVER).unlink(missing_ok=True)


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
            refusal = descriptors.refuse_high_descriptor(writer.get_extra_info("socket").fileno())
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


def _write_server_file(server: Server) -> None:
    """Write the server's pid, URL and version into the data directory, for programs that look for a server."""
    content = {"pid": os.getpid(), "url": server.url, "version": __version__}
    part = Path(f".{SERVER}.part")
    part.write_bytes(msgspec.json.encode(content) + b"\n")
    part.rename(SERVER)
