"""Apply late hooks: hook events that clients stored while no server ran (`client/hook_spool.py`)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from maestro.core import errors, limits
from maestro.core.clock import Clock, from_micros
from maestro.domain.callers import Caller
from maestro.services.hooks.handler import HookHandler
from maestro.services.sessions.lifecycle import hash_token
from maestro.store.base import Store
from maestro.tools import hook_dialect, registry
from maestro.wire import late_hook

_TAKEN = ".taken"
_EVERY = timedelta(seconds=2)
_WRITING_SECONDS_MAX = 60
log = logging.getLogger(__name__)


class LateHook(msgspec.Struct, frozen=True):
    """A stored hook event."""

    path: Path
    tool: str
    event: str
    at: datetime  # when the client stored the event
    token: str
    payload: bytes


class LateHookJob:
    """A job that runs before the server accepts callers, and then regularly.

    A busy server may not answer a hook in time; the client then stores the event although a server runs.
    """

    name = "late-hooks"

    def __init__(self, store: Store, handler: HookHandler, home: Path, *, clock: Clock) -> None:
        self._store = store
        self._handler = handler
        self._folder = home / late_hook.FOLDER
        self._clock = clock
        self._round_lock = asyncio.Lock()
        self.first_round_done = asyncio.Event()  # set once the events stored before the server's start are applied

    async def run_once(self) -> datetime | None:
        async with self._round_lock:
            try:
                await self._apply_all()
            except OSError as problem:
                log.warning("the late hooks in %s cannot be read: %s", self._folder, problem)
        self.first_round_done.set()
        return self._clock.now() + _EVERY

    async def _apply_all(self) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        if any(self._folder.iterdir()):  # most of the time the folder is empty, and no thread is needed
            for kept in await asyncio.to_thread(self._take_hooks):
                await self._apply_and_remove(kept)

    def _take_hooks(self) -> list[LateHook]:
        """Rename all stored hooks, so that no client overwrites a hook, and return the hooks in the order of time."""
        for path in list(self._folder.iterdir()):
            if not path.is_file():
                continue  # not a stored hook
            if path.name.startswith("."):
                _remove_abandoned(path)
            elif path.suffix != _TAKEN:  # no client writes the new name; a client may reuse the old name
                with suppress(OSError):
                    path.rename(f"{path}{_TAKEN}")
        return sorted(self._read_taken(), key=lambda hook: hook.at)

    def _read_taken(self) -> Iterator[LateHook]:
        for path in self._folder.glob(f"*{_TAKEN}"):
            kept = _read_hook(path) if path.is_file() else None
            if kept is not None:
                yield kept
            else:
                log.warning("the late hook %s is not readable and is deleted", path.name)
                with suppress(OSError):
                    path.unlink()

    async def _apply_and_remove(self, kept: LateHook) -> None:
        """Apply the hook once and remove its file. The file stays only when the store could not be written."""
        try:
            await self._apply(kept)
        except errors.StorageFailed as problem:
            log.warning("the late hook %s waits for the store: %s", kept.path.name, problem.message)
            return
        except (errors.MaestroError, msgspec.DecodeError) as problem:
            log.info("the late hook %s no longer applies: %s", kept.path.name, problem)
        except Exception:
            # Any program may write a file here. A bad file must neither prevent the server's start nor block hooks.
            log.exception("the late hook %s could not be applied", kept.path.name)
        kept.path.unlink(missing_ok=True)

    async def _apply(self, kept: LateHook) -> None:
        dialect = registry.DIALECTS.get(kept.tool)
        if dialect is None:
            return
        payload = hook_dialect.decode_payload(kept.payload, dialect.payload_type)
        if payload.maestro_test:
            return
        event, caller = dialect.read_event(kept.event, payload), await self._caller_of(kept.token)
        if event is not None and caller is not None:
            await self._handler.apply_late_hook(caller, event, fired_at=min(kept.at, self._clock.now()))

    async def _caller_of(self, token: str) -> Caller | None:
        """Return the caller of the hook. A late hook is no sign of life: the session may have ended since."""
        hashed = hash_token(token)
        return await self._store.read(lambda tx: tx.sessions.caller_by_token(hashed), quick=True)


def _remove_abandoned(path: Path) -> None:
    """Remove a half-written file whose client was killed. A young file may still be written."""
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > _WRITING_SECONDS_MAX:
            path.unlink()


def _read_hook(path: Path) -> LateHook | None:
    with suppress(OSError, ValueError, OverflowError):
        if path.stat().st_size > limits.hook_body_bytes_max:
            return None
        time_ns, token, payload = late_hook.unpack_hook(path.read_bytes())
        _, tool, event, _ = path.name.split(".")
        return LateHook(path, tool, event, from_micros(time_ns // 1_000), token, payload)
    return None
