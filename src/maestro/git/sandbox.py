"""Runs a command in the sandbox of its project, or without one. No command runs a second time in another mode."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from maestro.core import limits
from maestro.core.errors import Conflict, MaestroError
from maestro.domain import sandboxes
from maestro.domain.sandboxes import Mode, Mounts, Sandbox, contains, overlaps
from maestro.git import repositories
from maestro.git.repositories import RECORDS, Repository
from maestro.system import shell_command

_PROGRAM = "bwrap"
_HINT = "The person switches the sandbox of a project off with `maestro project edit NAME --sandbox none`."
_TOOLS = ("python3", "python", "node")
# Folders of a repository in which a commit writes. The rest, such as hooks and config, is only readable.
_WRITTEN_BY_GIT = ("objects", "refs", "logs")


async def run(
    command: str,
    *,
    sandbox: Sandbox,
    directory: str,
    environment: Mapping[str, str],
    seconds_max: float,
    bytes_max: int,
    mark: str = "",
) -> shell_command.Ran:
    """Run a shell command; raise an error if its sandbox cannot be made."""
    prefix: Sequence[str] = ()
    if sandbox.mode is Mode.BUBBLEWRAP:
        directory = os.path.realpath(directory)
        mounts = await asyncio.to_thread(find_mounts, sandbox, directory, environment.get("PATH", ""))
        environment = sandboxes.build_environment(environment, home=mounts.home)
        prefix = [_program(), *sandboxes.build_arguments(mounts, directory=directory)]
        await _try_out(prefix, directory, environment)
    return await shell_command.run(
        command,
        directory=directory,
        environment=environment,
        seconds_max=seconds_max,
        bytes_max=bytes_max,
        mark=mark,
        prefix=prefix,
    )


def find_mounts(sandbox: Sandbox, directory: str, search_path: str) -> Mounts:
    """Return what a command in a directory sees. Refuse a place that would show the home or the data directory."""
    home = os.path.realpath(Path.home())
    data = os.path.realpath(sandbox.data_directory)
    repository = _repository(directory)
    top = repository.top if repository else directory
    git_folders = (repository.common_dir, repository.git_dir) if repository else ()
    caches = tuple(os.path.realpath(one) for one in sandbox.caches if Path(one).is_dir())
    for path in (top, *git_folders, *caches):
        _refuse_to_show(path, home, data, is_worktree=path == top)
    tools = (one for one in _tools(search_path, home) if not overlaps(one, data) and not contains(one, home))
    return Mounts(
        home=home,
        hidden=(data,) if any(contains(one, data) for one in sandboxes.SYSTEM) else (),
        readable=tuple(dict.fromkeys((*tools, *caches, *git_folders))),
        writable=(top, *(_written_by_git(repository) if repository else ())),
        protected=tuple(_protected(repository)) if repository and repository.is_linked else (),
    )


def _repository(directory: str) -> Repository | None:
    """Return the recorded repository of a directory: an agent could have made another one in its place."""
    found = repositories.find_repository(directory)
    if found is None:
        return None
    is_temporary = contains(found.common_dir, found.top)  # a worktree of the server's own
    if RECORDS.checkout(found.top) is None and not is_temporary:
        raise _refusal(f"{found.top} is a repository that Maestro does not know; run `maestro init` there")
    return repositories.repository_at(found.top)


def _written_by_git(repository: Repository) -> Iterator[str]:
    """Yield the folders in which a commit writes. A main checkout's index stays as it is: hooks lie beside it."""
    for name in _WRITTEN_BY_GIT:
        folder = Path(repository.common_dir, name)
        if folder.is_dir() and not folder.is_symlink():
            yield str(folder)
    if repository.is_linked:
        yield repository.git_dir


def _protected(repository: Repository) -> Iterator[str]:
    """Yield the files by which git finds a linked worktree and its settings."""
    own = Path(repository.git_dir, "config.worktree")
    settings = repositories.read_config(f"{repository.common_dir}/config")
    if any(one.key == "extensions.worktreeconfig" for one in settings) and not own.exists():
        own.touch()  # else the command could create the file, and git would follow it
    files = (Path(repository.top, ".git"), *(Path(repository.git_dir, name) for name in ("commondir", "gitdir")), own)
    for file in files:
        if file.is_symlink():
            raise _refusal(f"{file} is a link")
        if file.exists():
            yield str(file)


def _tools(search_path: str, home: str) -> Iterator[str]:
    """Yield the folders of the programs on the PATH that lie outside of the system's folders."""
    folders = [one for one in search_path.split(os.pathsep) if one.startswith("/")]
    found = [shutil.which(name, path=search_path) for name in _TOOLS]
    folders += [str(Path(os.path.realpath(one)).parent) for one in found if one]
    for folder in dict.fromkeys(map(os.path.realpath, folders)):
        if Path(folder).is_dir() and not any(contains(one, folder) for one in sandboxes.SYSTEM):
            yield _installation(folder, home)


def _installation(folder: str, home: str) -> str:
    """Return the folder of a whole installation, such as a virtual environment; else the folder of programs alone."""
    parent = Path(folder).parent
    is_whole = any((parent / name).exists() for name in ("lib", "libexec", "pyvenv.cfg"))
    is_wide = contains(str(parent), home) or str(parent) == f"{home}/.local"
    return str(parent) if is_whole and not is_wide else folder


def _refuse_to_show(path: str, home: str, data: str, *, is_worktree: bool) -> None:
    if contains(path, home):
        raise _refusal(f"{path} holds the home directory")
    if contains(path, data) or (contains(data, path) and not is_worktree):
        raise _refusal(f"{path} would show Maestro's data directory")


def _program() -> str:
    found = shutil.which(_PROGRAM)
    if found is None:
        raise MaestroError(
            "The project's setting `sandbox` is bubblewrap, but the program bwrap is not installed.",
            hint=f"Install the package bubblewrap. {_HINT}",
        )
    return found


async def _try_out(prefix: Sequence[str], directory: str, environment: Mapping[str, str]) -> None:
    """Refuse a sandbox that cannot be made, before the command: its own failure looks the same."""
    ran = await shell_command.run(
        ":",
        directory=directory,
        environment=environment,
        seconds_max=limits.sandbox_start_seconds_max,
        bytes_max=limits.gate_output_bytes_max,
        prefix=prefix,
    )
    if not ran.passed:
        said = ran.output.decode("utf-8", "replace").strip() or f"exit code {ran.code}"
        raise MaestroError(
            f"The project's setting `sandbox` is bubblewrap, but bwrap cannot start: {said}",
            hint=f"Let the user make user namespaces, as the package bubblewrap needs them. {_HINT}",
        )


def _refusal(why: str) -> Conflict:
    return Conflict(f"The project's setting `sandbox` is bubblewrap, and no sandbox can be made: {why}.", hint=_HINT)
