"""Which settings of a repository make git run a program, and how git is kept from running it. Pure.

Programs under a fixed name (hooks, fsmonitor, editor, pager) are switched off for every git that the server runs.
Listed here are those that a repository may need (filters, merge drivers): they run only where they were recorded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from maestro.core.errors import Invalid
from maestro.domain.git_config import Setting

_NAMED = {
    "filter": frozenset({"clean", "smudge", "process"}),
    "diff": frozenset({"textconv", "command"}),
    "merge": frozenset({"driver"}),
    "hook": frozenset({"command"}),
}
_LFS = frozenset({"path", "clean", "smudge", "standalonetransferagent"})
# What git itself does with a file that names no driver.
_PLAIN_MERGE = "git merge-file -q --marker-size=%L %A %O %B"


class GitRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A checkout as it was when Maestro recorded it. A checkout without a repository has empty directories."""

    path: str
    git_dir: str
    common_dir: str
    programs: frozenset[str] | None  # fingerprints; None: not recorded yet


def named_programs(settings: Iterable[Setting]) -> list[Setting]:
    """Return the settings that name a program."""
    return [one for one in settings if one.value and _names_program(one)]


def fingerprint(setting: Setting) -> str:
    """Return what is recorded of a setting: its name and value cannot be read from it."""
    return hashlib.sha256(f"{setting.key}\0{setting.value}".encode("utf-8", "surrogateescape")).hexdigest()


def neutral_settings(settings: Iterable[Setting]) -> tuple[str, ...]:
    """Return settings, as `name=value`, with which git runs none of these programs."""
    return tuple(dict.fromkeys(text for one in settings for text in _neutral(one)))


def _names_program(one: Setting) -> bool:
    if one.section == "lfs":
        return one.name in _LFS
    if one.section == "credential":
        return one.name == "helper"
    return one.key == "core.sshcommand" or (bool(one.subsection) and one.name in _NAMED.get(one.section, ()))


def _neutral(one: Setting) -> tuple[str, ...]:
    name = f"{one.section}.{one.subsection}"
    if any(char in name for char in "=\n\0"):
        # A setting for one command ends its name at the first "=".
        raise Invalid(
            f"The git configuration names a program under {name!r}, a name that Maestro cannot switch off.",
            hint="Remove that section from the configuration, then try again.",
        )
    match one.section:
        case "filter":
            return (f"{name}.clean=", f"{name}.smudge=", f"{name}.process=", f"{name}.required=false")
        case "merge":
            return (f"{name}.driver={_PLAIN_MERGE}",)
        case "lfs":
            return ("filter.lfs.clean=", "filter.lfs.smudge=", "filter.lfs.process=", "filter.lfs.required=false")
        case "credential":
            return ("credential.helper=",)
        case "core":
            return ("core.sshCommand=ssh",)
        case "hook":
            return (f"{name}.enabled=false", f"{name}.command=true")
    return ()  # diff: every diff is made with --no-textconv and --no-ext-diff
