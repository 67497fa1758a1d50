"""One server's life: take the data directory, listen, say so, work until told to stop, leave nothing half done."""

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
from maestro.server.ready import Ready
from maestro.server.supervision import replace_killed_supervisor
from maestro.services.programs.older_runners import find_unknown_runners, record_older_runners
from maestro.services.projects import git_records
from maestro.store.layout import SERVER
from maestro.store.sqlite import replacement
from maestro.surfaces.cli.commands import CommandLine
from maestro.surfaces.cli.connection import handle
from maestro.surfaces.refusals import REFUSALS

log = logging.getLogger(__name__)
_COLLECT_AFTER = (50_000, 50, 50)


async def run(home: Path, *, port: int | None, ready: Ready) -> None:
    """Serve one data directory until a signal or `maestro down`."""
    # The socket is bound by its bare name, so that a long data directory does not break its path.
    os.chdir(home)
    with HomeLock(home):
        replacement.finish(home)
        server = Server(home)
        _make_room()
        try:
            await _listen(server, port if port is not None else server.settings.port, ready)
        finally:
            await server.close()
        if server.fault is not None:
            raise server.fault


def _make_room() -> None:
    """For thousands of agents on the line: files for their sockets, and a collector that does not stop them all.

    What is there at the start stays: it need not be looked at again and again. A full collection with five thousand
    waiting agents takes half a second, so there are to be few.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)


async def _listen(server: Server, port: int, ready: Ready) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.stopping.set)
    await record_older_runners(server.store, server.runners)
    server.identities.add_unknown_runners(await find_unknown_runners(server.store, server.runners))
    await server.identities.refuse_start_by_session()
    await server.void_exposed_tokens()
    await server.quotas.remember(server.store)
    await git_records.load(server.store)
    await server.findings.take_note()
    await server.unheard_hooks.run_once()  # they are older than whatever comes in from here on
    listener = http.listen(server.settings.host, port)
    server.url = http.url_of(listener)
    tools = mcp.endpoint(server)
    hooked = hooks.hooks(server)
    line = CommandLine(server, pipe=mcp.pipe(server, tools), hook=hooks.command(server, hooked))
    commands = _Commands(line)
    entrance = CommandSocket(commands)
    await entrance.open()
    pages = http.Http(server, tools, hooks.endpoint(server, hooked))
    web = asyncio.create_task(http.serve(pages, listener, server.stopping))
    _write_note(server)
    replace_killed_supervisor(server.home, server.stopping.set)
    ready.say("ready")
    log.info("serving %s at %s (pid %d)", server.home, server.url, os.getpid())
    try:
        await server.stopping.wait()
    finally:
        log.info("stopping")
        entrance.close()
        await commands.finish()
        await tools.stop()
        server.stopping.set()
        await web
        REFUSALS.flush()
        Path(SERVER).unlink(missing_ok=True)


class _Commands:
    """The connections that are being served, so that stopping can let them finish."""

    def __init__(self, commands: CommandLine) -> None:
        self._commands = commands
        self._running: set[asyncio.Task[None]] = set()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            refusal = descriptors.refusal(writer.get_extra_info("socket").fileno())
            await handle(reader, writer, self._commands, refusal=refusal)
        except asyncio.CancelledError:
            log.info("a command was ended because the server stops")
        finally:
            self._running.discard(task)

    async def finish(self) -> None:
        """A short grace for commands under way; then waits and feeds are ended."""
        if self._running:
            await asyncio.wait(self._running, timeout=0.5)
        for task in list(self._running):
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=limits.stop_seconds_max)


def _write_note(server: Server) -> None:
    """Where the server listens, for programs that look in the data directory."""
    note = {"pid": os.getpid(), "url": server.url, "version": __version__}
    part = Path(f".{SERVER}.part")
    part.write_bytes(msgspec.json.encode(note) + b"\n")
    part.rename(SERVER)
