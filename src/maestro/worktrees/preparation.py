"""Makes a new worktree ready to work in: the files a project wants copied, then its set-up command."""

from __future__ import annotations

import asyncio

import msgspec

from maestro import errors
from maestro.worktrees import commands, copies, records, repositories, setup_command
from maestro.worktrees.copies import Skipped
from maestro.worktrees.settings import Settings
from maestro.worktrees.setup_command import SetupRun


class Prepared(msgspec.Struct, frozen=True):
    """What was done. A command that failed is told here, not raised: its output is wanted."""

    copied: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    setup: SetupRun | None = None

    @property
    def is_ok(self) -> bool:
        """Whether one can work there now."""
        return self.setup is None or self.setup.is_ok


async def prepare(path: str, *, settings: Settings, source: str) -> Prepared:
    """Copy and run what `settings` say, from the checkout `source` into the worktree at `path`.

    It may be done again: what was copied before and not changed since stays as it is.
    """
    git_dir = await repositories.git_dir(path)
    done = await asyncio.to_thread(_copy, path, git_dir, settings, source) if settings.copy else copies.Copies({}, ())
    setup = None
    if settings.setup:
        setup = await setup_command.run(settings.setup, cwd=path, seconds=settings.setup_seconds)
    skipped = tuple(Skipped(commands.shown(one.path), one.reason) for one in done.skipped)
    return Prepared(tuple(map(commands.shown, done.done)), skipped, setup)


def _copy(path: str, git_dir: str, settings: Settings, source: str) -> copies.Copies:
    record = records.read(git_dir)
    done = copies.copy(settings.copy, source=source, target=path, known=record.copied)
    try:
        records.write(git_dir, msgspec.structs.replace(record, copied=record.copied | done.done))
    except OSError as error:
        raise errors.storage_fault(error, f"What was copied into {path} cannot be noted") from error
    return done
