"""What the security tests share: a server in this process, and workshops with a live server and a checkout."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from maestro.server import hooks, http, mcp
from maestro.server.app import Server
from maestro.testing.live import LiveServer, SupervisedServer
from maestro.testing.workshop import Workshop


@pytest.fixture
async def port(server: Server) -> AsyncIterator[int]:
    """Serve HTTP on a free port of loopback; limits can be changed as long as the server runs."""
    listener = http.listen("127.0.0.1", 0)
    tools, hooked = mcp.endpoint(server), hooks.hooks(server)
    pages = http.Http(server, tools, hooks.endpoint(server, hooked))
    serving = asyncio.create_task(http.serve(pages, listener, server.stopping))
    yield listener.getsockname()[1]
    server.stopping.set()
    await tools.stop()
    await serving


def _workshop(live: LiveServer, repo: Path) -> Workshop:
    made = Workshop(live, repo)
    (repo / "README").write_text("hello\n")
    made.git("add", "-A")
    made.git("commit", "-qm", "first")
    return made


@pytest.fixture
def shop(tmp_path: Path, make_repo: Callable[..., Path]) -> Iterator[Workshop]:
    """A server without a supervisor, as a service manager may start it."""
    with LiveServer(tmp_path / "live") as live:
        made = _workshop(live, make_repo("vc"))
        yield made
        made.close()


@pytest.fixture
def supervised(tmp_path: Path, make_repo: Callable[..., Path]) -> Iterator[Workshop]:
    """A server with its supervisor, as the person's command starts it."""
    with SupervisedServer(tmp_path / "live") as live:
        made = _workshop(live, make_repo("vc"))
        yield made
        made.end_agents()
