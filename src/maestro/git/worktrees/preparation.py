"""Prepare a new worktree for work: copy the files that the project names, then run its set-up command."""

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
    """The result of a preparation. A failed set-up command is part of the result, because its output is needed."""

    copied: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    setup: SetupRun | None = None

    @property
    def is_ok(self) -> bool:
        """Return whether the worktree is ready for work: the set-up command, if any, succeeded."""
        return self.setup is None or self.setup.is_ok


async def prepare(path: str, *, settings: Settings, source: str, sandbox: Sandbox = NO_SANDBOX) -> Prepared:
    """Copy files from the checkout `source` into the worktree at `path`, and run the set-up command of `settings`.

    A preparation can be repeated: an earlier copy that has not changed since stays as it is.
    """
    git_dir = await repositories.git_dir(path)
    copied = copies.Copies({}, ())
    if settings.copy:
        copied = await asyncio.to_thread(_copy_files, path, git_dir, settings, source)
    setup = await _run_setup(path, git_dir, settings, sandbox) if settings.setup else None
    skipped = tuple(Skipped(commands.shown(file.path), file.reason) for file in copied.skipped)
    return Prepared(tuple(map(commands.shown, copied.done)), skipped, setup)


async def _run_setup(path: str, git_dir: str, settings: Settings, sandbox: Sandbox) -> SetupRun:
    """Run the set-up command, and record the files that it made or changed: they do not count as work.

    Files that counted as work before the command still count as work afterwards.
    """
    work_before = set((await changes.look(path)).work)
    setup = await setup_command.run(settings.setup, cwd=path, seconds=settings.setup_seconds, within=sandbox)
    after = await changes.look(path)
    made = [name for name in (*after.work, *after.copied, *after.restored) if name not in work_before]
    await asyncio.to_thread(_record_made_files, path, git_dir, made)
    return setup


def _record_made_files(path: str, git_dir: str, names: list[str]) -> None:
    """Record files up to a number and size. A project that makes more files should let git ignore them."""
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
        _write_record(path, git_dir, msgspec.structs.replace(record, made=digests))


def _copy_files(path: str, git_dir: str, settings: Settings, source: str) -> copies.Copies:
    record = records.read(git_dir)
    copied = copies.copy(settings.copy, source=source, target=path, known=record.copied)
    _write_record(path, git_dir, msgspec.structs.replace(record, copied=record.copied | copied.done))
    return copied


def _write_record(path: str, git_dir: str, record: records.Record) -> None:
    try:
        records.write(git_dir, record)
    except OSError as error:
        raise errors.storage_fault(error, f"The prepared files of {path} cannot be recorded") from error
