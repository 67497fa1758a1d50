"""Makes a new worktree ready to work in: the files a project wants copied, then its set-up command."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import msgspec

from maestro.core import errors, limits
from maestro.domain.sandboxes import NO_SANDBOX, Sandbox
from maestro.git.worktrees import changes, commands, copies, records, repositories, setup_command
from maestro.git.worktrees.copies import Skipped
from maestro.git.worktrees.settings import Settings
from maestro.git.worktrees.setup_command import SetupRun


class Prepared(msgspec.Struct, frozen=True):
    """What was done. A command that failed is told here, not raised: its output is wanted."""

    copied: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    setup: SetupRun | None = None

    @property
    def is_ok(self) -> bool:
        """Whether one can work there now."""
        return self.setup is None or self.setup.is_ok


async def prepare(path: str, *, settings: Settings, source: str, sandbox: Sandbox = NO_SANDBOX) -> Prepared:
    """Copy and run what `settings` say, from the checkout `source` into the worktree at `path`.

    It may be done again: what was copied before and not changed since stays as it is.
    """
    git_dir = await repositories.git_dir(path)
    done = await asyncio.to_thread(_copy, path, git_dir, settings, source) if settings.copy else copies.Copies({}, ())
    setup = await _set_up(path, git_dir, settings, sandbox) if settings.setup else None
    skipped = tuple(Skipped(commands.shown(one.path), one.reason) for one in done.skipped)
    return Prepared(tuple(map(commands.shown, done.done)), skipped, setup)


async def _set_up(path: str, git_dir: str, settings: Settings, sandbox: Sandbox) -> SetupRun:
    """Run the command, and note what it made: that is nobody's work. What was somebody's before stays so."""
    before = set((await changes.look(path)).work)
    setup = await setup_command.run(settings.setup, cwd=path, seconds=settings.setup_seconds, within=sandbox)
    after = await changes.look(path)
    made = [name for name in (*after.work, *after.copied, *after.restored) if name not in before]
    await asyncio.to_thread(_note_made, path, git_dir, made)
    return setup


def _note_made(path: str, git_dir: str, names: list[str]) -> None:
    """Up to some number and size: a project that makes more than that had better let git ignore it."""
    record = records.read(git_dir)
    digests, size = {}, 0
    for name in names[: limits.setup_files_max]:
        file = Path(path, name)
        size += file.lstat().st_size if os.path.lexists(file) else 0
        if size > limits.copy_bytes_max:
            break
        digest = records.digest(str(file))
        if digest and name not in record.copied:
            digests[name] = digest
    if digests or record.made:
        _write(path, git_dir, msgspec.structs.replace(record, made=digests))


def _copy(path: str, git_dir: str, settings: Settings, source: str) -> copies.Copies:
    record = records.read(git_dir)
    done = copies.copy(settings.copy, source=source, target=path, known=record.copied)
    _write(path, git_dir, msgspec.structs.replace(record, copied=record.copied | done.done))
    return done


def _write(path: str, git_dir: str, record: records.Record) -> None:
    try:
        records.write(git_dir, record)
    except OSError as error:
        raise errors.storage_fault(error, f"What was put into {path} cannot be noted") from error
