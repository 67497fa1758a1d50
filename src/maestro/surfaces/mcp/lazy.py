"""The SDK, which is there once somebody needs it: it takes a second to import, and 40 MB."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from maestro.domain.callers import Caller
from maestro.surfaces.mcp import http
from maestro.surfaces.mcp.http_lines import HttpLine

if TYPE_CHECKING:
    from maestro.surfaces.mcp.engine import Engine

Make = Callable[[Any], "Engine"]  # an engine, of the module that knows the SDK


class LazyEngine:
    """One engine for all clients, made for the first that needs it."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._engine: Engine | None = None
        self._starting: asyncio.Task[Engine] | None = None

    @property
    def is_there(self) -> bool:
        return self._engine is not None

    async def get(self) -> Engine:
        """That whoever was first hangs up does not stop it."""
        if self._engine is not None:
            return self._engine
        if self._starting is None or (self._starting.done() and self._starting.exception() is not None):
            self._starting = asyncio.create_task(self._start())
        return await asyncio.shield(self._starting)

    async def _start(self) -> Engine:
        # Imported in a thread, it holds up nobody else.
        engine = self._make(await asyncio.to_thread(importlib.import_module, "maestro.surfaces.mcp.engine"))
        await engine.start()
        self._engine = engine
        return engine

    async def ask(self, method: str, message: Any, caller: Caller, *extra: tuple[bytes, bytes]) -> http.Inside:
        """A request of our own, behind the scenes."""
        engine = await self.get()
        line = HttpLine(caller, {}, None, hang_up=lambda: None)
        asked = http.Inside(method, message, extra, **{"maestro.line": line})
        await engine.handle(asked.scope, asked.receive, asked.send)
        return asked

    async def stop(self) -> None:
        if self._engine is not None:
            await self._engine.stop()
