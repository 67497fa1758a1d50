"""Fixtures of security tests: an HTTP server in this process, and workshops with a live server and a checkout."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from maestro.server import http
from maestro.server.app import Server
from maestro.server.surfaces import build_surfaces
from maestro.testing.live import LiveServer, SupervisedServer
from maestro.testing.workshop import Workshop


@pytest.fixture
async def port(server: Server) -> AsyncIterator[int]:
    """Serve HTTP on a free port of loopback and yield the port. A test can change limits while the server runs."""
    listener = http.open_listener("127.0.0.1", 0)
    surfaces = build_surfaces(server)
    serving = asyncio.create_task(http.serve_http(surfaces.http, listener, server.state.stopping))
    yield listener.getsockname()[1]
    server.state.stopping.set()
    await surfaces.mcp.stop()
    await serving


def _workshop(live: LiveServer, repo: Path) -> Workshop:
    made = Workshop(live, repo)
    (repo / "README").write_text("hello\n")
    made.run_git("add", "-A")
    made.run_git("commit", "-qm", "first")
    return made


@pytest.fixture
def shop(tmp_path: Path, make_repo: Callable[..., Path]) -> Iterator[Workshop]:
    """Yield a workshop whose server has no supervisor, as under a service manager."""
    with LiveServer(tmp_path / "live") as live:
        made = _workshop(live, make_repo("vc"))
        yield made
        made.close()


@pytest.fixture
def supervised(tmp_path: Path, make_repo: Callable[..., Path]) -> Iterator[Workshop]:
    """Yield a workshop whose server has a supervisor, as after the person's `maestro up`."""
    with SupervisedServer(tmp_path / "live") as live:
        made = _workshop(live, make_repo("vc"))
        yield made
        made.end_agents()
