"""Takes in hooks that fired while no server was there: their clients have kept them (`client/unheard.py`)."""

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
from maestro.services.hooks.desk import Desk
from maestro.services.sessions.records import hash_token
from maestro.store.base import Store
from maestro.tools.hooks import base, known

FOLDER = "hooks"
_FORMAT = b"maestro-hook/1"
_TAKEN = ".taken"
_AGAIN = timedelta(seconds=2)
_WRITING_SECONDS_MAX = 60
log = logging.getLogger(__name__)


class Kept(msgspec.Struct, frozen=True):
    """One hook, as it lies there."""

    path: Path
    tool: str
    event: str
    at: datetime  # when its client gave up
    token: str
    payload: bytes


class UnheardHooks:
    """Runs before anyone is let in; and now and then, for clients that a busy server did not answer in time."""

    name = "unheard-hooks"

    def __init__(self, store: Store, desk: Desk, home: Path, *, clock: Clock) -> None:
        self._store = store
        self._desk = desk
        self._folder = home / FOLDER
        self._clock = clock
        self._taking = asyncio.Lock()
        self.taken = asyncio.Event()  # what lay there at the start

    async def run_once(self) -> datetime | None:
        async with self._taking:
            try:
                await self._take_all()
            except OSError as problem:
                log.warning("what lies in %s cannot be taken in: %s", self._folder, problem)
        self.taken.set()
        return self._clock.now() + _AGAIN

    async def _take_all(self) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        if any(self._folder.iterdir()):  # mostly there is nothing
            for kept in await asyncio.to_thread(self._kept):
                await self._take(kept)

    def _kept(self) -> list[Kept]:
        """All there is, as it happened."""
        for path in list(self._folder.iterdir()):
            if not path.is_file():
                continue  # nobody's hook
            if path.name.startswith("."):
                _sweep(path)
            elif path.suffix != _TAKEN:  # under a name that no client writes: it would be lost with the old one
                with suppress(OSError):
                    path.rename(f"{path}{_TAKEN}")
        return sorted(self._read_all(), key=lambda one: one.at)

    def _read_all(self) -> Iterator[Kept]:
        for path in self._folder.glob(f"*{_TAKEN}"):
            kept = _read(path) if path.is_file() else None
            if kept is not None:
                yield kept
            else:
                log.warning("%s is no hook that can be read; it is thrown away", path.name)
                with suppress(OSError):
                    path.unlink()

    async def _take(self, kept: Kept) -> None:
        """Once: what cannot be taken now cannot be later, unless it is the data that could not be written."""
        try:
            await self._happened(kept)
        except errors.StorageFailed as problem:
            log.warning("%s waits: %s", kept.path.name, problem.message)
            return
        except (errors.MaestroError, msgspec.DecodeError) as problem:
            log.info("%s is of no use any more: %s", kept.path.name, problem)
        except Exception:
            # Anybody's words: none of them may keep a server from its start, nor the next hook from being heard.
            log.exception("%s cannot be understood", kept.path.name)
        kept.path.unlink(missing_ok=True)

    async def _happened(self, kept: Kept) -> None:
        dialect = known.DIALECTS.get(kept.tool)
        payload = base.decode(kept.payload)
        if dialect is None or payload.maestro_test:
            return
        happening, caller = dialect.read(kept.event, payload), await self._who(kept.token)
        if happening is not None and caller is not None:
            await self._desk.happened_unheard(caller, happening, at=min(kept.at, self._clock.now()))

    async def _who(self, token: str) -> Caller | None:
        """Whose it was. That is no sign of life: it may have ended since."""
        hashed = hash_token(token)
        return await self._store.read(lambda tx: tx.sessions.caller_by_token(hashed), quick=True)


def _sweep(path: Path) -> None:
    """One that is still being written; or never will be, since its client was killed."""
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > _WRITING_SECONDS_MAX:
            path.unlink()


def _read(path: Path) -> Kept | None:
    with suppress(OSError, ValueError, OverflowError):
        if path.stat().st_size > limits.hook_body_bytes_max:
            return None
        mark, at_ns, token, payload = path.read_bytes().split(b"\n", 3)
        _, tool, event, _ = path.name.split(".")
        if mark == _FORMAT:
            return Kept(path, tool, event, from_micros(int(at_ns) // 1_000), token.decode(), payload)
    return None
