"""Prepare a new worktree for work: copy the files that the project names, then run its set-up command."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import msgspec

from maestro.core import errors, limits
from maestro.domain.sandboxes import NO_SANDBOX, Sandbox
from maestro.git.worktrees import changes, commands, copies, records, repositories, setup_command
from maestro.git.worktrees.copies import SkippedFile
from maestro.git.worktrees.settings import WorktreeSettings
from maestro.git.worktrees.setup_command import SetupRun


class PreparedWorktree(msgspec.Struct, frozen=True):
    """The result of a preparation. A failed set-up command is part of the result, because its output is needed."""

    copied: tuple[str, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
    setup: SetupRun | None = None

    @property
    def is_ok(self) -> bool:
        """Return whether the worktree is ready for work: the set-up command, if any, succeeded."""
        return self.setup is None or self.setup.is_ok


async def prepare_worktree(
    path: str, *, settings: WorktreeSettings, source: str, sandbox: Sandbox = NO_SANDBOX
) -> PreparedWorktree:
    """Copy files from the checkout `source` into the worktree at `path`, and run the set-up command of `settings`.

    A preparation can be repeated: an earlier copy that has not changed since stays as it is.
    """
    git_dir = await repositories.git_dir(path)
    copied = copies.CopyResult({}, ())
    if settings.copy:
        copied = await asyncio.to_thread(_copy_files, path, git_dir, settings, source)
    setup = await _run_setup(path, git_dir, settings, sandbox) if settings.setup else None
    skipped = tuple(SkippedFile(commands.printable_name(file.path), file.reason) for file in copied.skipped)
    return PreparedWorktree(tuple(map(commands.printable_name, copied.done)), skipped, setup)


async def _run_setup(path: str, git_dir: str, settings: WorktreeSettings, sandbox: Sandbox) -> SetupRun:
    """Run the set-up command, and record the files that it made or changed: they do not count as work.

    Files that counted as work before the command still count as work afterwards.
    """
    work_before = set((await changes.read_changes(path)).work)
    setup = await setup_command.run_setup(
        settings.setup, cwd=path, seconds=settings.setup_seconds, command_sandbox=sandbox
    )
    after = await changes.read_changes(path)
    made = [name for name in (*after.work, *after.copied, *after.restored) if name not in work_before]
    await asyncio.to_thread(_record_made_files, path, git_dir, made)
    return setup


def _record_made_files(path: str, git_dir: str, names: list[str]) -> None:
    """Record files up to a number and size. A project that makes more files should let git ignore them."""
    record = records.read_record(git_dir)
    digests, size = {}, 0
    for name in names[: limits.setup_files_max]:
        file = Path(path, name)
        size += file.lstat().st_size if os.path.lexists(file) else 0
        if size > limits.copy_bytes_max:
            break
        digest = records.hash_plain_file(str(file))
        if digest and name not in record.copied:
            digests[name] = digest
    if digests or record.made:
        _write_record(path, git_dir, msgspec.structs.replace(record, made=digests))


def _copy_files(path: str, git_dir: str, settings: WorktreeSettings, source: str) -> copies.CopyResult:
    record = records.read_record(git_dir)
    copied = copies.copy_files(settings.copy, source=source, target=path, known=record.copied)
    _write_record(path, git_dir, msgspec.structs.replace(record, copied=record.copied | copied.done))
    return copied


def _write_record(path: str, git_dir: str, record: records.WorktreeRecord) -> None:
    try:
        records.write_record(git_dir, record)
    except OSError as error:
        raise errors.storage_fault(error, f"The prepared files of {path} cannot be recorded") from error
