"""Which folders a gate or a set-up command sees in a sandbox, and how bubblewrap is told so."""

from __future__ import annotations

import enum
from collections.abc import Mapping

import msgspec

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix")
_TMP = "/tmp"
_TOLD = frozenset({"MAESTRO_TASK_ID", "MAESTRO_GATE"})
# Each names a socket of the person's session.
_SOCKETS = frozenset({"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "WAYLAND_DISPLAY", "DISPLAY"})
_ISOLATION = (
    *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
    *("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
)


class Mode(enum.StrEnum):
    """Where the gates and set-up commands of a project run."""

    NONE = "none"  # as the server's user, with all that this user may do
    BUBBLEWRAP = "bubblewrap"


class Sandbox(msgspec.Struct, frozen=True, kw_only=True):
    """The sandbox of a project."""

    mode: Mode = Mode.NONE
    caches: tuple[str, ...] = ()  # folders that programs in the sandbox may read
    data_directory: str = ""  # of Maestro, never visible


NO_SANDBOX = Sandbox()


class Mounts(msgspec.Struct, frozen=True, kw_only=True):
    """The folders of one command, by absolute paths. A folder inside of another one counts more than that one."""

    home: str  # appears empty, as does whatever is hidden
    hidden: tuple[str, ...] = ()
    readable: tuple[str, ...]
    writable: tuple[str, ...]
    protected: tuple[str, ...] = ()  # files inside of writable folders that can only be read


def contains(outer: str, inner: str) -> bool:
    """Tell whether a path is a folder or lies in it."""
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")


def overlaps(path: str, other: str) -> bool:
    """Tell whether one of two paths lies in the other."""
    return contains(path, other) or contains(other, path)


def is_cache_folder(path: str) -> bool:
    """Tell whether a path can be a cache: absolute, not the root, and without steps upwards."""
    return path.startswith("/") and bool(path.strip("/")) and ".." not in path.split("/")


def build_arguments(mounts: Mounts, *, directory: str) -> list[str]:
    """Return the arguments of bubblewrap up to the command."""
    kinds = dict.fromkeys((_TMP, mounts.home, *mounts.hidden), "--tmpfs")
    kinds |= dict.fromkeys(mounts.readable, "--ro-bind") | dict.fromkeys(mounts.writable, "--bind")
    kinds |= dict.fromkeys(mounts.protected, "--ro-bind")
    words = [*_ISOLATION, "--proc", "/proc", "--dev", "/dev"]
    for path in SYSTEM:
        words += ["--ro-bind-try", path, path]
    for path in sorted(kinds, key=lambda path: path.count("/")):  # the outer ones first
        words += [kinds[path], path] if kinds[path] == "--tmpfs" else [kinds[path], path, path]
    return [*words, "--chdir", directory, "--"]


def build_environment(environment: Mapping[str, str], *, home: str) -> dict[str, str]:
    """Return an environment that leads neither to the server nor to sockets of the person."""
    kept = {
        name: value
        for name, value in environment.items()
        if name not in _SOCKETS and (name in _TOLD or not name.startswith("MAESTRO_"))
    }
    return kept | {"HOME": home, "TMPDIR": _TMP}
