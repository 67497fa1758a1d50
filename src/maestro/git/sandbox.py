"""Run a command in the sandbox of its project, or without a sandbox. No command runs again in another mode."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from maestro.core import limits
from maestro.core.errors import Conflict, MaestroError
from maestro.domain import sandboxes
from maestro.domain.sandboxes import Mounts, Sandbox, SandboxMode, contains_path, paths_overlap
from maestro.git import repositories
from maestro.git.repositories import RECORDS, Repository
from maestro.system import shell_command

_PROGRAM = "bwrap"
_HINT = "The person switches the sandbox of a project off with `maestro project edit NAME --sandbox none`."
_TOOLS = ("python3", "python", "node")
# Folders of a repository in which a commit writes. The other files, such as hooks and config, are only readable.
_WRITTEN_BY_GIT = ("objects", "refs", "logs")


async def run_command(
    command: str,
    *,
    sandbox: Sandbox,
    directory: str,
    environment: Mapping[str, str],
    seconds_max: float,
    bytes_max: int,
    mark: str = "",
) -> shell_command.CommandResult:
    """Run a shell command. Raise an error if the sandbox cannot be made."""
    prefix: Sequence[str] = ()
    if sandbox.mode is SandboxMode.BUBBLEWRAP:
        directory = os.path.realpath(directory)
        mounts = await asyncio.to_thread(find_mounts, sandbox, directory, environment.get("PATH", ""))
        environment = sandboxes.build_environment(environment, home=mounts.home)
        prefix = [_find_program(), *sandboxes.build_bubblewrap_arguments(mounts, directory=directory)]
        await _check_sandbox(prefix, directory, environment)
    return await shell_command.run_command(
        command,
        directory=directory,
        environment=environment,
        seconds_max=seconds_max,
        bytes_max=bytes_max,
        mark=mark,
        prefix=prefix,
    )


def find_mounts(sandbox: Sandbox, directory: str, search_path: str) -> Mounts:
    """Return the paths that a command in a directory sees. Refuse to show the home or the data directory."""
    home = os.path.realpath(Path.home())
    data = os.path.realpath(sandbox.data_directory)
    repository = _recorded_repository(directory)
    top = repository.top if repository else directory
    git_folders = (repository.common_dir, repository.git_dir) if repository else ()
    caches = tuple(os.path.realpath(cache) for cache in sandbox.caches if _is_usable_folder(cache))
    for path in (top, *git_folders, *caches):
        _refuse_to_show(path, home, data, is_worktree=path == top)
    tools = (
        folder
        for folder in _tool_folders(search_path, home)
        if not paths_overlap(folder, data) and not contains_path(folder, home)
    )
    return Mounts(
        home=home,
        hidden=(data,) if any(contains_path(folder, data) for folder in sandboxes.SYSTEM_FOLDERS) else (),
        readable=tuple(dict.fromkeys((*tools, *caches, *git_folders))),
        writable=(top, *(_folders_written_by_git(repository) if repository else ())),
        protected=tuple(_protected_files(repository)) if repository and repository.is_linked else (),
    )


def _recorded_repository(directory: str) -> Repository | None:
    """Return the recorded repository of a directory. Refuse an unrecorded one: an agent could have made it."""
    repository = repositories.find_repository(directory)
    if repository is None:
        return None
    is_temporary = contains_path(repository.common_dir, repository.top)  # a temporary worktree of the server
    if RECORDS.find_checkout(repository.top) is None and not is_temporary:
        raise _sandbox_conflict(
            f"{repository.top} is a repository that Maestro does not know; run `maestro init` in {repository.top}"
        )
    return repositories.repository_at(repository.top)


def _folders_written_by_git(repository: Repository) -> Iterator[str]:
    """Yield the folders in which a commit writes.

    The git directory of a main checkout is not among them, because it holds the hooks. Its index stays unchanged.
    """
    for name in _WRITTEN_BY_GIT:
        folder = Path(repository.common_dir, name)
        if folder.is_dir() and not folder.is_symlink():
            yield str(folder)
    if repository.is_linked:
        yield repository.git_dir


def _protected_files(repository: Repository) -> Iterator[str]:
    """Yield the files by which git finds a linked worktree and its settings."""
    own_config = Path(repository.git_dir, "config.worktree")
    settings = repositories.read_config(f"{repository.common_dir}/config")
    if any(setting.key == "extensions.worktreeconfig" for setting in settings) and not own_config.exists():
        own_config.touch()  # else the command could create the file, and git would follow the file
    links = (Path(repository.git_dir, name) for name in ("commondir", "gitdir"))
    for file in (Path(repository.top, ".git"), *links, own_config):
        if file.is_symlink():
            raise _sandbox_conflict(f"{file} is a symbolic link")
        if file.exists():
            yield str(file)


def _tool_folders(search_path: str, home: str) -> Iterator[str]:
    """Yield the folders of the programs on the PATH that lie outside of the system's folders."""
    folders = [folder for folder in search_path.split(os.pathsep) if folder.startswith("/")]
    programs = [shutil.which(name, path=search_path) for name in _TOOLS]
    folders += [str(Path(os.path.realpath(program)).parent) for program in programs if program]
    for folder in dict.fromkeys(map(os.path.realpath, folders)):
        is_system = any(contains_path(system, folder) for system in sandboxes.SYSTEM_FOLDERS)
        if _is_usable_folder(folder) and not is_system:
            yield _installation_folder(folder, home)


def _is_usable_folder(path: str) -> bool:
    """Return whether the path is a folder that this user may enter. The PATH may name folders of other users."""
    return os.access(path, os.X_OK) and Path(path).is_dir()


def _installation_folder(folder: str, home: str) -> str:
    """Return the folder of the complete installation, such as a virtual environment, or else `folder` itself."""
    parent = Path(folder).parent
    is_installation = any((parent / name).exists() for name in ("lib", "libexec", "pyvenv.cfg"))
    is_too_wide = contains_path(str(parent), home) or str(parent) == f"{home}/.local"
    return str(parent) if is_installation and not is_too_wide else folder


def _refuse_to_show(path: str, home: str, data: str, *, is_worktree: bool) -> None:
    if contains_path(path, home):
        raise _sandbox_conflict(f"{path} holds the home directory")
    if contains_path(path, data) or (contains_path(data, path) and not is_worktree):
        raise _sandbox_conflict(f"{path} would show Maestro's data directory")


def _find_program() -> str:
    program = shutil.which(_PROGRAM)
    if program is None:
        raise MaestroError(
            "The project's setting `sandbox` is bubblewrap, but the program bwrap is not installed.",
            hint=f"Install the package bubblewrap. {_HINT}",
        )
    return program


async def _check_sandbox(prefix: Sequence[str], directory: str, environment: Mapping[str, str]) -> None:
    """Refuse a sandbox that cannot start. Checked before the command, whose own failure would look the same."""
    result = await shell_command.run_command(
        ":",
        directory=directory,
        environment=environment,
        seconds_max=limits.sandbox_start_seconds_max,
        bytes_max=limits.gate_output_bytes_max,
        prefix=prefix,
    )
    if not result.has_passed:
        problem = result.output.decode("utf-8", "replace").strip() or f"exit code {result.code}"
        raise MaestroError(
            f"The project's setting `sandbox` is bubblewrap, but bwrap cannot start: {problem}",
            hint=f"Allow the user to create user namespaces: bubblewrap needs them. {_HINT}",
        )


def _sandbox_conflict(reason: str) -> Conflict:
    return Conflict(
        f"The project's setting `sandbox` is bubblewrap, but no sandbox can be made: {reason}.", hint=_HINT
    )
