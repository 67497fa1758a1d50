"""The one wrapper around the git program: its environment, time limit and errors, and the facts of a checkout.

No other module starts git. `domain.identity` interprets the facts.

Agents write the folders in which git runs. Therefore the caller sets git's directories, and git reaches no network
and runs no program that a repository names. The settings of the person (`~/.gitconfig`) and of the system stay in
force: no agent in a sandbox writes these files, and the files name the person, git-lfs and safe directories.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from maestro.core import limits
from maestro.core.errors import Invalid, MaestroError, NotFound, NotPermitted, TimedOut, TooLarge
from maestro.domain import identity, remotes
from maestro.git import repositories
from maestro.git.repositories import Repository
from maestro.system import subprocesses

seconds_default = 10.0
_CHUNK_BYTES = 64 * 1024
# The walk to the first commit may take long in a huge repository. Without the commit, the path identifies it.
root_seconds_max = 5.0

# Of the caller's GIT_ variables only these reach git. Other variables (GIT_DIR, GIT_WORK_TREE, GIT_INDEX_FILE, …) are
# set inside hooks and would point git at another repository.
_KEPT_VARIABLES = re.compile(
    r"GIT_(CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+)|SSH.*|SSL.*|EXEC_PATH|CEILING_DIRECTORIES)"
)
_FIXED_VARIABLES = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
# Allow no protocol: git must not fetch a missing object with a program that a repository names.
# GIT_NO_LAZY_FETCH has the same effect for git 2.44 and later.
_OFFLINE = {"GIT_ALLOW_PROTOCOL": "", "GIT_PROTOCOL_FROM_USER": "0", "GIT_NO_LAZY_FETCH": "1"}
# Settings that override every configuration file. Each of these settings could name a program.
_SAFE_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.editor=true",
    "sequence.editor=true",
    "core.askPass=true",
    "core.pager=cat",
    "core.alternateRefsCommand=true",
    "diff.external=",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "log.showSignature=false",
    "merge.verifySignatures=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
)
_FETCH_LINE = re.compile(r"(?P<name>[^\t]+)\t(?P<url>.+) \(fetch\)(?: \[.*\])?")
_UNTRUSTED_OWNER = re.compile(
    r"detected dubious ownership in repository at '(.*)'|unsafe repository \('(.*)' is owned"
)
_NO_REPOSITORY = "not a git repository (or any "
_NO_WORK_TREE = "this operation must be run in a work tree"


class _Result(msgspec.Struct, frozen=True):
    code: int
    out: str
    error: str  # the first line of git's error, without secrets


async def run_git(
    *args: str,
    cwd: str,
    timeout_seconds: float = seconds_default,
    repository: Repository | None = None,
    settings: tuple[str, ...] = (),
) -> str:
    """Run git and return its output. Raise a MaestroError with the first line of git's error if git fails.

    `repository`: use this repository, not the repository around `cwd`. `settings`: for this command, as `name=value`.
    """
    safe = _safe_environment(repository, settings)
    result = await _run_process(*args, cwd=cwd, timeout_seconds=timeout_seconds, environment=safe)
    if result.code != 0:
        raise _git_error(result, args[0])
    return result.out


async def run_outside_repositories(*args: str) -> str:
    """Run git outside of any repository and return its output; an empty text if git ends with 1."""
    outside = _safe_environment() | {"GIT_DIR": os.devnull}
    result = await _run_process(*args, cwd="/", timeout_seconds=seconds_default, environment=outside)
    if result.code not in {0, 1}:
        raise _git_error(result, args[0])
    return result.out if result.code == 0 else ""


async def checkout_at(directory: str, *, asks_root: bool = True) -> identity.Checkout | None:
    """Return the facts of the checkout around `directory`; None outside of any repository.

    `asks_root`: look for the first commit of a repository without a remote.
    """
    result = await _run_process(
        "rev-parse",
        "--is-bare-repository",
        "--is-shallow-repository",
        "--absolute-git-dir",
        "--git-common-dir",
        "--show-toplevel",
        cwd=directory,
        timeout_seconds=seconds_default,
    )
    if result.error.startswith(_NO_REPOSITORY):
        return None
    if result.code != 0 and result.error != _NO_WORK_TREE:
        raise _git_error(result, "rev-parse")
    checkout = _parse_layout(result.out, directory)
    checkout = msgspec.structs.replace(checkout, remotes=await _read_remotes(checkout, directory))
    if asks_root and not any(checkout.remotes.values()) and not checkout.is_shallow:
        checkout = msgspec.structs.replace(checkout, root_commit=await _find_root_commit(directory))
    if "/modules/" in checkout.git_dir:
        checkout = msgspec.structs.replace(checkout, superproject=await _find_superproject(checkout.toplevel))
    return checkout


def clean_environment(caller: Mapping[str, str]) -> dict[str, str]:
    """Return the caller's environment without the variables that would point git at another repository."""
    kept = {
        name: value
        for name, value in caller.items()
        if not name.startswith("GIT_") or _KEPT_VARIABLES.fullmatch(name)
    }
    return kept | _FIXED_VARIABLES


def parse_ssh_hosts(config: str) -> dict[str, str]:
    """Return the host of each host name that an ssh configuration defines with plain `Host` and `HostName` lines.

    Patterns, `Match` and `Include` are ignored. A name with a dot counts only if its host is a forge: another server
    is better known by its public name than by the address behind the name.
    """
    hosts: dict[str, str] = {}
    names: list[str] = []
    for line in config.splitlines():
        keyword, *values = line.replace("=", " ", 1).replace('"', "").split()[:64] or [""]
        if keyword.lower() in {"host", "match"}:
            names = [value.lower() for value in values] if keyword.lower() == "host" else []
        elif keyword.lower() == "hostname" and values and not re.search(r"[%:]", values[0]):
            host = values[0].lower()
            for name in names:
                if ("." not in name or host in remotes.FORGE_HOSTS) and not re.search(r"[*?!]", name):
                    hosts.setdefault(name, host)
    return hosts


def _parse_layout(printed: str, directory: str) -> identity.Checkout:
    lines = printed.removesuffix("\n").split("\n")
    if len(lines) not in {4, 5}:
        raise Invalid("A repository whose path holds a line break cannot be used.")
    is_bare, is_shallow, git_dir, common_dir, *top = lines
    # git prints the common directory relative to the directory in which git ran
    common_dir = _resolve_path(Path(directory, common_dir))
    git_dir = _resolve_path(git_dir)
    if top:
        toplevel = _resolve_path(top[0])
    else:  # a bare repository, or a directory inside of .git
        is_inside = is_bare == "false" and Path(common_dir).name == ".git"
        toplevel = str(Path(common_dir).parent) if is_inside else git_dir
    return identity.Checkout(
        toplevel=toplevel, git_dir=git_dir, common_dir=common_dir, is_shallow=is_shallow == "true"
    )


def _resolve_path(path: str | Path) -> str:
    return os.path.realpath(path)


async def _read_remotes(checkout: identity.Checkout, directory: str) -> dict[str, str]:
    # `remote -v` applies insteadOf. Its fetch lines do not apply pushInsteadOf.
    printed = await run_git("remote", "-v", cwd=directory)
    lines = [line for line in printed.split("\n") if len(line) <= limits.remote_chars_max]
    matches = [match for line in lines if (match := _FETCH_LINE.fullmatch(line))][: limits.remotes_max]
    # git lists a remote without an address with its name as the address.
    addresses = {match["name"]: match["url"] for match in matches if match["url"] != match["name"]}
    return resolve_addresses(checkout, addresses)


def resolve_addresses(checkout: identity.Checkout, addresses: Mapping[str, str]) -> dict[str, str]:
    """Return the addresses of remotes without ssh nicknames, symbolic links and secrets."""
    hosts = _known_ssh_hosts() if addresses else {}
    base = identity.remote_base(checkout)
    return {name: _settle_address(url, hosts=hosts, base=base) for name, url in addresses.items()}


def _settle_address(url: str, *, hosts: Mapping[str, str], base: str) -> str:
    path = remotes.local_path(url, base=base)
    if path is not None and "\0" not in path:
        url = _resolve_path(path)
    return remotes.remove_secrets(remotes.replace_ssh_hosts(url, hosts))


def _known_ssh_hosts() -> dict[str, str]:
    try:
        return parse_ssh_hosts(Path("~/.ssh/config").expanduser().read_text("utf-8", "replace"))
    except (OSError, RuntimeError):
        return {}


async def _find_root_commit(directory: str) -> str | None:
    """Return the oldest root commit of all branches; None if there is no commit or the search takes too long.

    The oldest root stays the same when somebody adds an orphan branch later.
    """
    command = ("rev-list", "--max-parents=0", "--timestamp", "--exclude=refs/[!h]*", "--all")
    try:
        printed = await run_git("--no-replace-objects", *command, cwd=directory, timeout_seconds=root_seconds_max)
    except MaestroError:
        return None
    roots = [(int(seconds), commit) for seconds, _, commit in (line.partition(" ") for line in printed.splitlines())]
    return min(roots)[1] if roots else None


async def _find_superproject(toplevel: str) -> str | None:
    result = await _run_process(
        "rev-parse", "--show-superproject-working-tree", cwd=toplevel, timeout_seconds=seconds_default
    )
    path = result.out.removesuffix("\n")
    return _resolve_path(path) if result.code == 0 and path else None


def _safe_environment(repository: Repository | None = None, settings: tuple[str, ...] = ()) -> dict[str, str]:
    """Return an environment in which git runs no program of a repository and uses no other repository."""
    # The same variable as for `git -c`: the settings also reach the git commands that git itself starts.
    parameters = {"GIT_CONFIG_PARAMETERS": " ".join(map(_quote, (*_SAFE_SETTINGS, *settings)))}
    directories = _directory_variables(repository) if repository else {}
    return clean_environment(os.environ) | _OFFLINE | parameters | directories


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _directory_variables(repository: Repository) -> dict[str, str]:
    """Return the variables for --git-dir and --work-tree, and for the common directory.

    Without the variable, git would read the common directory from a file in the git directory, which agents write.
    """
    if not _is_own(repository.git_dir):
        return {}  # git searches itself: only then does git check whether the person trusts the owner
    variables = {"GIT_DIR": repository.git_dir, "GIT_COMMON_DIR": repository.common_dir}
    return variables if repositories.is_bare(repository) else {**variables, "GIT_WORK_TREE": repository.top}


def _is_own(path: str) -> bool:
    try:
        return os.stat(path).st_uid == os.geteuid()  # noqa: PTH116 with every git command
    except OSError:
        return True  # git reports the problem


async def _run_process(
    *args: str, cwd: str, timeout_seconds: float, environment: dict[str, str] | None = None
) -> _Result:
    process = await _start_process(args, cwd, environment or _safe_environment())
    try:
        async with asyncio.timeout(timeout_seconds):
            out, err = await _read_output(process, args[0])
    except TimeoutError:
        raise TimedOut(f"git {args[0]} took longer than {timeout_seconds:g} seconds.", data={"cwd": cwd}) from None
    finally:
        await _end_process(process)
    return _Result(process.returncode or 0, os.fsdecode(out), _first_error(os.fsdecode(err)))


async def _read_output(process: asyncio.subprocess.Process, command: str) -> tuple[bytes, bytes]:
    """Return git's output and errors. Refuse too much output: a cut list would be taken for a complete list."""
    assert process.stdout is not None and process.stderr is not None
    out, err = await asyncio.gather(_read_bounded(process.stdout, process), _read_bounded(process.stderr, process))
    await process.wait()
    if out is None or err is None:
        raise TooLarge(
            f"git {command} prints more than {limits.git_output_bytes_max} bytes.",
            hint="Run the git command by hand to see its output.",
        )
    return out, err


async def _read_bounded(stream: asyncio.StreamReader, process: asyncio.subprocess.Process) -> bytes | None:
    """Read a stream to its end. If the stream is too long, kill git and return None."""
    kept: bytearray | None = bytearray()
    while data := await stream.read(_CHUNK_BYTES):
        if kept is not None:
            kept += data
        if kept is not None and len(kept) > limits.git_output_bytes_max:
            kept = None  # the rest of the stream is read and thrown away
            subprocesses.signal_group(process)
    return None if kept is None else bytes(kept)


def _first_error(printed: str) -> str:
    lines = printed.splitlines() or [""]
    # Warnings may come before the error line.
    line = next((line for line in lines if line.startswith(("fatal: ", "error: "))), lines[0])
    if len(line) > limits.git_error_chars_max:  # never cut: only a complete address shows that it holds a secret
        return f"git's error is a line of {len(line)} characters and is not shown"
    return remotes.redact_addresses(line.removeprefix("fatal: ").removeprefix("error: "))


async def _start_process(args: tuple[str, ...], cwd: str, environment: dict[str, str]) -> asyncio.subprocess.Process:
    if any("\0" in text for text in (cwd, *args)):
        # uvloop would cut the path at the null byte, and git would use another directory
        raise Invalid("A path or argument for git holds a null byte.")
    try:
        return await subprocesses.start_process(
            "git",
            *args,
            cwd=cwd,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise _start_error(error, cwd) from None


async def _end_process(process: asyncio.subprocess.Process) -> None:
    """Kill git if it still runs: the time ran out, or the caller was cancelled."""
    if process.returncode is None:
        subprocesses.signal_group(process)
        await process.wait()


def _start_error(error: OSError, cwd: str) -> MaestroError:
    if isinstance(error, PermissionError):
        return NotPermitted(
            f"The directory {cwd} may not be entered.", hint="Check the permissions of the directory."
        )
    if not os.path.isdir(cwd):  # noqa: PTH112 returns false for a name that is too long, too
        return NotFound(f"There is no directory {cwd}.", hint="The directory may have been moved or deleted.")
    if isinstance(error, FileNotFoundError):
        return MaestroError("git is not installed, or not on the PATH.", hint="Install git 2.25 or later.")
    return MaestroError(f"git could not be started: {error.strerror}.")


def _git_error(result: _Result, command: str) -> MaestroError:
    message = result.error or f"git {command} ended with status {result.code} and without a message."
    if match := _UNTRUSTED_OWNER.search(result.error):
        path = match[1] or match[2]
        return NotPermitted(
            f"The repository {path} belongs to another user, and git does not trust the repository.",
            hint=f"If you trust the repository: git config --global --add safe.directory {path}",
        )
    return MaestroError(f"git {command}: {message}", data={"exit_code": result.code})
