"""A Maestro server with a bare Starlette route in the same process, which shows the cost of the framework alone."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from maestro.domain.callers import person_caller
from maestro.operations import projects
from maestro.server import http
from maestro.server.app import Server
from maestro.server.surfaces import build_surfaces


async def bare(request: Request) -> JSONResponse:
    await request.json()
    return JSONResponse({"ok": True})


async def main(home: Path) -> None:
    server = Server(home)
    app = build_surfaces(server).http
    starlette = Starlette(routes=[Route("/bare", bare, methods=["POST"])])

    async def both(scope: Scope, receive: Receive, send: Send) -> None:
        await (starlette if scope["path"] == "/bare" else app)(scope, receive, send)

    place = await server.call(
        projects.INIT, projects.InitProject(path=str(home), name="bench"), caller=person_caller("bench")
    )
    listener = http.open_listener("127.0.0.1", 0)
    port = listener.getsockname()[1]
    print(
        json.dumps({"port": port, "token": (home / "token").read_text().strip(), "project": place.project.id}),
        flush=True,
    )
    web = asyncio.create_task(http.serve_http(both, listener, server.state.stopping))  # type: ignore[arg-type]
    await asyncio.to_thread(sys.stdin.read)
    server.state.stopping.set()
    await web
    await server.close()


if __name__ == "__main__":
    uvloop.run(main(Path(sys.argv[1])))
