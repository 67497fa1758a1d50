"""The values of a sandbox, and the arguments and environment of bubblewrap. This module does no I/O."""

from __future__ import annotations

import enum
from collections.abc import Mapping

import msgspec

SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix")
_TMP = "/tmp"
_KEPT_MAESTRO_VARIABLES = frozenset({"MAESTRO_TASK_ID", "MAESTRO_GATE"})
# Each variable names a socket of the person's login session.
_SOCKET_VARIABLES = frozenset(
    {"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "WAYLAND_DISPLAY", "DISPLAY"}
)
_ISOLATION = (
    *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
    *("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
)


class SandboxMode(enum.StrEnum):
    """How the gates and set-up commands of a project are isolated."""

    NONE = "none"  # as the server's user, with all rights of this user
    BUBBLEWRAP = "bubblewrap"


class Sandbox(msgspec.Struct, frozen=True, kw_only=True):
    """The sandbox of a project."""

    mode: SandboxMode = SandboxMode.NONE
    caches: tuple[str, ...] = ()  # folders that programs in the sandbox may read
    data_directory: str = ""  # the data directory of Maestro, never visible in the sandbox


NO_SANDBOX = Sandbox()


class Mounts(msgspec.Struct, frozen=True, kw_only=True):
    """The paths that one command sees, all absolute.

    The rule for an inner folder replaces the rule for the outer folder.
    """

    home: str  # the home folder of the person; the command sees an empty folder
    hidden: tuple[str, ...] = ()  # more folders that the command sees as empty folders
    readable: tuple[str, ...]
    writable: tuple[str, ...]
    protected: tuple[str, ...] = ()  # files inside writable folders that stay read-only


def contains_path(outer: str, inner: str) -> bool:
    """Return whether `inner` is the folder `outer` or lies in `outer`."""
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")


def paths_overlap(path: str, other: str) -> bool:
    """Return whether one of two paths contains the other."""
    return contains_path(path, other) or contains_path(other, path)


def is_valid_cache_path(path: str) -> bool:
    """Return whether a path can be a cache: absolute, not the root, and without `..`."""
    return path.startswith("/") and bool(path.strip("/")) and ".." not in path.split("/")


def build_bubblewrap_arguments(mounts: Mounts, *, directory: str) -> list[str]:
    """Return the arguments of bubblewrap up to the command."""
    options = dict.fromkeys((_TMP, mounts.home, *mounts.hidden), "--tmpfs")
    options |= dict.fromkeys(mounts.readable, "--ro-bind") | dict.fromkeys(mounts.writable, "--bind")
    options |= dict.fromkeys(mounts.protected, "--ro-bind")
    arguments = [*_ISOLATION, "--proc", "/proc", "--dev", "/dev"]
    for path in SYSTEM_FOLDERS:
        arguments += ["--ro-bind-try", path, path]
    for path in sorted(options, key=lambda path: path.count("/")):  # outer folders first
        arguments += [options[path], path] if options[path] == "--tmpfs" else [options[path], path, path]
    return [*arguments, "--chdir", directory, "--"]


def build_environment(environment: Mapping[str, str], *, home: str) -> dict[str, str]:
    """Return an environment without variables that lead to the server or to sockets of the person.

    `home` becomes HOME; TMPDIR is /tmp.
    """
    kept = {
        name: value
        for name, value in environment.items()
        if name not in _SOCKET_VARIABLES and (name in _KEPT_MAESTRO_VARIABLES or not name.startswith("MAESTRO_"))
    }
    return kept | {"HOME": home, "TMPDIR": _TMP}
