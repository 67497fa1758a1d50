"""Load the SDK for the first client that needs the SDK: the import takes a second and 40 MB."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maestro.surfaces.mcp.sdk.engine import Engine

MakeEngine = Callable[[Any], "Engine"]  # makes an engine from the module that imports the SDK


class LazyEngine:
    """One engine for all clients, made for the first client that needs the SDK."""

    def __init__(self, make: MakeEngine) -> None:
        self._make = make
        self._engine: Engine | None = None
        self._loading: asyncio.Task[Engine] | None = None

    @property
    def is_loaded(self) -> bool:
        return self._engine is not None

    async def load_engine(self) -> Engine:
        """Return the engine; load the SDK first if necessary. A client that hangs up does not stop the loading."""
        if self._engine is not None:
            return self._engine
        if self._loading is None or (self._loading.done() and self._loading.exception() is not None):
            self._loading = asyncio.create_task(self._load_engine())
        return await asyncio.shield(self._loading)

    async def _load_engine(self) -> Engine:
        # The import runs in a thread, so that other requests do not wait.
        engine = self._make(await asyncio.to_thread(importlib.import_module, "maestro.surfaces.mcp.sdk.engine"))
        await engine.start()
        self._engine = engine
        return engine

    async def stop(self) -> None:
        if self._engine is not None:
            await self._engine.stop()
