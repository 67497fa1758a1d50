"""Prepare a new worktree for work: copy the files that the project names, then run its set-up command."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import msgspec

from maestro.core import errors, limits
from maestro.domain.sandboxes import NO_SANDBOX, Sandbox
from maestro.git import git_program, repositories, sandbox
from maestro.git.worktrees import commands, copy_files, inspect, records
from maestro.git.worktrees.copy_files import SkippedFile
from maestro.git.worktrees.settings import WorktreeSettings


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
    git_dir = repositories.worktree_git_dir(path)
    copied = copy_files.CopyResult({}, ())
    if settings.copy:
        copied = await asyncio.to_thread(_copy_files, path, git_dir, settings, source)
    setup = await _run_setup(path, git_dir, settings, sandbox) if settings.setup else None
    skipped = tuple(SkippedFile(commands.printable_name(file.path), file.reason) for file in copied.skipped)
    return PreparedWorktree(tuple(map(commands.printable_name, copied.done)), skipped, setup)


async def _run_setup(path: str, git_dir: str, settings: WorktreeSettings, sandbox: Sandbox) -> SetupRun:
    """Run the set-up command, and record the files that it made or changed: they do not count as work.

    Files that counted as work before the command still count as work afterwards.
    """
    work_before = set((await inspect.read_changes(path)).work)
    setup = await run_setup(settings.setup, cwd=path, seconds=settings.setup_seconds, command_sandbox=sandbox)
    after = await inspect.read_changes(path)
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


def _copy_files(path: str, git_dir: str, settings: WorktreeSettings, source: str) -> copy_files.CopyResult:
    record = records.read_record(git_dir)
    copied = copy_files.copy_files(settings.copy, source=source, target=path, known=record.copied)
    _write_record(path, git_dir, msgspec.structs.replace(record, copied=record.copied | copied.done))
    return copied


def _write_record(path: str, git_dir: str, record: records.WorktreeRecord) -> None:
    try:
        records.write_record(git_dir, record)
    except OSError as error:
        raise errors.storage_fault(error, f"The prepared files of {path} cannot be recorded") from error


class SetupRun(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a set-up command."""

    command: str
    exit_code: int  # negative: the number of the signal that ended the command
    is_timed_out: bool
    output: str  # both streams; only the last part of a long output
    output_bytes: int  # the size of the complete output
    seconds: float

    @property
    def is_ok(self) -> bool:
        """Return whether the command ended in time with exit code 0."""
        return self.exit_code == 0 and not self.is_timed_out

    @property
    def failure(self) -> str:
        """Return how the command failed, with the end of its output. The first line alone is a complete message."""
        if self.is_timed_out:
            problem = f"took longer than {self.seconds:.0f} seconds"
        elif self.exit_code < 0:
            problem = f"was ended by signal {-self.exit_code}"
        else:
            problem = f"failed with exit code {self.exit_code}"
        lines = [line.rstrip() for line in self.output.splitlines() if line.strip()]
        last_line = f": {lines[-1]}" if lines else ""
        earlier_lines = "".join(f"\n{line}" for line in lines[-limits.setup_lines_shown_max : -1])
        return f"The set-up command `{self.command}` {problem}{last_line}" + (
            f"\nEarlier output:{earlier_lines}" if earlier_lines else ""
        )


async def run_setup(command: str, *, cwd: str, seconds: float, command_sandbox: Sandbox) -> SetupRun:
    """Run a set-up command and return its result, also after a failure. Raise an error if it cannot be started."""
    result = await sandbox.run_command(
        command,
        sandbox=command_sandbox,
        directory=cwd,
        environment=_command_environment(),
        seconds_max=seconds,
        bytes_max=limits.setup_output_bytes_max,
    )
    text = result.output.decode("utf-8", "replace")
    if result.code is None:
        raise errors.MaestroError(f"The set-up command could not be started. {text}")
    omitted_bytes = result.output_bytes - len(result.output)
    note = f"… the first {omitted_bytes} bytes of the output are left out …\n" if omitted_bytes > 0 else ""
    return SetupRun(
        command=command,
        exit_code=result.code,
        is_timed_out=result.is_timed_out,
        output=note + text,
        output_bytes=result.output_bytes,
        seconds=result.seconds,
    )


def _command_environment() -> dict[str, str]:
    """Return the server's environment without variables that would point git at another repository.

    The language of the server stays: LC_ALL is not replaced.
    """
    cleaned = git_program.clean_environment(os.environ)
    cleaned.pop("GIT_OPTIONAL_LOCKS", None)
    cleaned.pop("LC_ALL", None)
    return cleaned | ({"LC_ALL": os.environ["LC_ALL"]} if "LC_ALL" in os.environ else {})
