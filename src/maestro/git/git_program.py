"""The one wrapper around the git program: its environment, time limit and errors, and a checkout's facts.

Nothing else in Maestro starts git. What the facts mean is decided in `domain.identity`.

Agents write the folders that git runs in. So git gets its directories from whoever runs it, reaches no network, and
runs none of the programs that every repository may name. The person's own settings (`~/.gitconfig`) and those of the
system stay: no agent in a sandbox writes them, and they name the person, git-lfs and safe directories.
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
# A walk to the first commit may take long in a huge repository; then its path has to do.
root_seconds_max = 5.0

# Of the caller's GIT_ variables only these reach git. Others (GIT_DIR, GIT_WORK_TREE, GIT_INDEX_FILE, …) are
# set inside hooks and would point it at another repository.
_KEPT = re.compile(
    r"GIT_(CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+)|SSH.*|SSL.*|EXEC_PATH|CEILING_DIRECTORIES)"
)
_SET = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
# No protocol is allowed. So git never fetches a missing object with a program that a repository names.
# GIT_NO_LAZY_FETCH says the same to git 2.44 and later.
_OFFLINE = {"GIT_ALLOW_PROTOCOL": "", "GIT_PROTOCOL_FROM_USER": "0", "GIT_NO_LAZY_FETCH": "1"}
# They count more than any file. Each could be a program.
_SAFE = (
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
_NOT_OURS = re.compile(r"detected dubious ownership in repository at '(.*)'|unsafe repository \('(.*)' is owned")
_NO_REPOSITORY = "not a git repository (or any "
_NO_WORK_TREE = "this operation must be run in a work tree"


class _Answer(msgspec.Struct, frozen=True):
    code: int
    out: str
    error: str  # git's own first line, without secrets


async def run(
    *args: str,
    cwd: str,
    timeout_seconds: float = seconds_default,
    repository: Repository | None = None,
    settings: tuple[str, ...] = (),
) -> str:
    """What git prints; a MaestroError with git's own first line when it fails.

    `repository`: the one to use, whatever lies in `cwd`. `settings`: for this command, as `name=value`.
    """
    answer = await _ask(*args, cwd=cwd, timeout_seconds=timeout_seconds, environment=_hardened(repository, settings))
    if answer.code != 0:
        raise _failure(answer, args[0])
    return answer.out


async def run_anywhere(*args: str) -> str:
    """What git prints outside of any repository, by the person's own settings; nothing where it ends with 1."""
    nowhere = _hardened() | {"GIT_DIR": os.devnull}
    answer = await _ask(*args, cwd="/", timeout_seconds=seconds_default, environment=nowhere)
    if answer.code not in {0, 1}:
        raise _failure(answer, args[0])
    return answer.out if answer.code == 0 else ""


async def checkout_at(directory: str, *, asks_root: bool = True) -> identity.Checkout | None:
    """The facts of the checkout that `directory` lies in; None outside of any repository.

    `asks_root`: whether to look for the first commit of a repository without a remote.
    """
    answer = await _ask(
        "rev-parse",
        "--is-bare-repository",
        "--is-shallow-repository",
        "--absolute-git-dir",
        "--git-common-dir",
        "--show-toplevel",
        cwd=directory,
        timeout_seconds=seconds_default,
    )
    if answer.error.startswith(_NO_REPOSITORY):
        return None
    if answer.code != 0 and answer.error != _NO_WORK_TREE:
        raise _failure(answer, "rev-parse")
    found = _layout(answer.out, directory)
    found = msgspec.structs.replace(found, remotes=await _remotes(found, directory))
    if asks_root and not any(found.remotes.values()) and not found.is_shallow:
        found = msgspec.structs.replace(found, root_commit=await _root_commit(directory))
    if "/modules/" in found.git_dir:
        found = msgspec.structs.replace(found, superproject=await _superproject(found.toplevel))
    return found


def environment(caller: Mapping[str, str]) -> dict[str, str]:
    """The environment git runs in: the caller's, without what would lead it astray."""
    kept = {name: value for name, value in caller.items() if not name.startswith("GIT_") or _KEPT.fullmatch(name)}
    return kept | _SET


def ssh_hosts(config: str) -> dict[str, str]:
    """The names that an ssh configuration gives to hosts, from its plain `Host` and `HostName` lines.

    Patterns, `Match` and `Include` are left alone. A name with a dot counts only when it stands for a forge:
    an own server is better known by its public name than by the address behind it.
    """
    found: dict[str, str] = {}
    names: list[str] = []
    for line in config.splitlines():
        word, *values = line.replace("=", " ", 1).replace('"', "").split()[:64] or [""]
        if word.lower() in {"host", "match"}:
            names = [value.lower() for value in values] if word.lower() == "host" else []
        elif word.lower() == "hostname" and values and not re.search(r"[%:]", values[0]):
            real = values[0].lower()
            for name in names:
                if ("." not in name or real in remotes.FORGES) and not re.search(r"[*?!]", name):
                    found.setdefault(name, real)
    return found


def _layout(printed: str, directory: str) -> identity.Checkout:
    lines = printed.removesuffix("\n").split("\n")
    if len(lines) not in {4, 5}:
        raise Invalid("A repository whose path holds a line break cannot be used.")
    is_bare, is_shallow, git_dir, common_dir, *top = lines
    # git gives the common directory relative to where it ran
    common_dir = _real(Path(directory, common_dir))
    git_dir = _real(git_dir)
    if top:
        toplevel = _real(top[0])
    else:  # bare, or inside a .git directory
        is_inside = is_bare == "false" and Path(common_dir).name == ".git"
        toplevel = str(Path(common_dir).parent) if is_inside else git_dir
    return identity.Checkout(
        toplevel=toplevel, git_dir=git_dir, common_dir=common_dir, is_shallow=is_shallow == "true"
    )


def _real(path: str | Path) -> str:
    return os.path.realpath(path)


async def _remotes(checkout: identity.Checkout, directory: str) -> dict[str, str]:
    # `remote -v` applies insteadOf; its fetch lines leave pushInsteadOf out.
    printed = await run("remote", "-v", cwd=directory)
    fit = [line for line in printed.split("\n") if len(line) <= limits.remote_chars_max]
    lines = [found for line in fit if (found := _FETCH_LINE.fullmatch(line))][: limits.remotes_max]
    # A remote without an address is listed with its name for one.
    return settle_addresses(checkout, {line["name"]: line["url"] for line in lines if line["url"] != line["name"]})


def settle_addresses(checkout: identity.Checkout, addresses: Mapping[str, str]) -> dict[str, str]:
    """Return the addresses of remotes as facts: no ssh nickname, no symbolic link, no secret."""
    hosts = _known_ssh_hosts() if addresses else {}
    base = identity.remote_base(checkout)
    return {name: _settled(url, hosts=hosts, base=base) for name, url in addresses.items()}


def _settled(url: str, *, hosts: Mapping[str, str], base: str) -> str:
    """The address as a fact: no ssh nickname, no symbolic link, no secret."""
    path = remotes.local_path(url, base=base)
    if path is not None and "\0" not in path:
        url = _real(path)
    return remotes.without_secrets(remotes.with_hosts(url, hosts))


def _known_ssh_hosts() -> dict[str, str]:
    try:
        return ssh_hosts(Path("~/.ssh/config").expanduser().read_text("utf-8", "replace"))
    except (OSError, RuntimeError):
        return {}


async def _root_commit(directory: str) -> str | None:
    """The oldest root of all branches (a later orphan branch leaves it so); None: no commit, or too slow."""
    asked = ("rev-list", "--max-parents=0", "--timestamp", "--exclude=refs/[!h]*", "--all")
    try:
        printed = await run("--no-replace-objects", *asked, cwd=directory, timeout_seconds=root_seconds_max)
    except MaestroError:
        return None
    roots = [(int(seconds), commit) for seconds, _, commit in (line.partition(" ") for line in printed.splitlines())]
    return min(roots)[1] if roots else None


async def _superproject(toplevel: str) -> str | None:
    answer = await _ask(
        "rev-parse", "--show-superproject-working-tree", cwd=toplevel, timeout_seconds=seconds_default
    )
    path = answer.out.removesuffix("\n")
    return _real(path) if answer.code == 0 and path else None


def _hardened(repository: Repository | None = None, settings: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the environment in which git runs no program of a repository, and reaches no other one."""
    # As `git -c` would hand them on, also to the git commands that git itself starts.
    given = {"GIT_CONFIG_PARAMETERS": " ".join(map(_quoted, (*_SAFE, *settings)))}
    return environment(os.environ) | _OFFLINE | given | (_directories(repository) if repository else {})


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _directories(repository: Repository) -> dict[str, str]:
    """What --git-dir and --work-tree set, and the shared directory, which a file in the git directory would name."""
    if not _is_own(repository.git_dir):
        return {}  # git looks itself, for only so it checks whether the person trusts the owner
    found = {"GIT_DIR": repository.git_dir, "GIT_COMMON_DIR": repository.common_dir}
    return found if repositories.is_bare(repository) else {**found, "GIT_WORK_TREE": repository.top}


def _is_own(path: str) -> bool:
    try:
        return os.stat(path).st_uid == os.geteuid()  # noqa: PTH116 with every git command
    except OSError:
        return True  # git says what is wrong with it


async def _ask(*args: str, cwd: str, timeout_seconds: float, environment: dict[str, str] | None = None) -> _Answer:
    process = await _started(args, cwd, environment or _hardened())
    try:
        async with asyncio.timeout(timeout_seconds):
            out, err = await _said(process, args[0])
    except TimeoutError:
        raise TimedOut(f"git {args[0]} took longer than {timeout_seconds:g} seconds.", data={"cwd": cwd}) from None
    finally:
        await _ended(process)
    return _Answer(process.returncode or 0, os.fsdecode(out), _first_error(os.fsdecode(err)))


async def _said(process: asyncio.subprocess.Process, command: str) -> tuple[bytes, bytes]:
    """All that git prints, within bounds: half a list would be taken for a whole one, so more is an error."""
    assert process.stdout is not None and process.stderr is not None
    out, err = await asyncio.gather(_bounded(process.stdout, process), _bounded(process.stderr, process))
    await process.wait()
    if out is None or err is None:
        raise TooLarge(
            f"git {command} prints more than {limits.git_output_bytes_max} bytes.", hint="Look at it with git itself."
        )
    return out, err


async def _bounded(stream: asyncio.StreamReader, process: asyncio.subprocess.Process) -> bytes | None:
    """A stream to its end; None if it was too much, and then git is ended."""
    kept: bytearray | None = bytearray()
    while data := await stream.read(_CHUNK_BYTES):
        if kept is not None:
            kept += data
        if kept is not None and len(kept) > limits.git_output_bytes_max:
            kept = None  # what is still on its way is read and thrown away
            subprocesses.kill(process)
    return None if kept is None else bytes(kept)


def _first_error(printed: str) -> str:
    lines = printed.splitlines() or [""]
    # Warnings may come before the line that counts.
    line = next((line for line in lines if line.startswith(("fatal: ", "error: "))), lines[0])
    if len(line) > limits.git_error_chars_max:  # never cut: the end of an address tells that it holds a secret
        return f"it answers with a line of {len(line)} characters"
    return remotes.redacted(line.removeprefix("fatal: ").removeprefix("error: "))


async def _started(args: tuple[str, ...], cwd: str, environment: dict[str, str]) -> asyncio.subprocess.Process:
    if any("\0" in text for text in (cwd, *args)):
        # uvloop would cut the path off there, and git would look at another directory
        raise Invalid("A path or argument for git holds a null byte.")
    try:
        return await subprocesses.start(
            "git",
            *args,
            cwd=cwd,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise _not_started(error, cwd) from None


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Leave nothing behind, whether the time ran out or the caller was cancelled."""
    if process.returncode is None:
        subprocesses.kill(process)
        await process.wait()


def _not_started(error: OSError, cwd: str) -> MaestroError:
    if isinstance(error, PermissionError):
        return NotPermitted(f"The directory {cwd} may not be entered.", hint="Look at its permissions.")
    if not os.path.isdir(cwd):  # noqa: PTH112 false, also for a name that is too long
        return NotFound(f"There is no directory {cwd}.", hint="It may have been moved or deleted.")
    if isinstance(error, FileNotFoundError):
        return MaestroError("git is not installed, or not on the PATH.", hint="Install git 2.25 or later.")
    return MaestroError(f"git could not be started: {error.strerror}.")


def _failure(answer: _Answer, command: str) -> MaestroError:
    message = answer.error or f"git {command} ended with status {answer.code} and said nothing."
    if found := _NOT_OURS.search(answer.error):
        path = found[1] or found[2]
        return NotPermitted(
            f"The repository {path} belongs to another user, and git does not trust it.",
            hint=f"If you do: git config --global --add safe.directory {path}",
        )
    return MaestroError(f"git {command}: {message}", data={"exit_code": answer.code})
