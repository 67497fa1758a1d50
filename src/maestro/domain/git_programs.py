"""Find the settings of a repository that make git run a program, and the settings that prevent it. Pure.

The server switches off programs with a fixed setting name (hooks, fsmonitor, editor, pager) for every git that it
runs. This module lists the programs that a repository may need (filters, merge drivers). Such a program runs only if
it was recorded for the checkout.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from maestro.core.errors import Invalid
from maestro.domain.git_config import GitSetting

_NAMED = {
    "filter": frozenset({"clean", "smudge", "process"}),
    "diff": frozenset({"textconv", "command"}),
    "merge": frozenset({"driver"}),
    "hook": frozenset({"command"}),
}
_LFS = frozenset({"path", "clean", "smudge", "standalonetransferagent"})
# The merge that git uses for a file without a driver.
_PLAIN_MERGE = "git merge-file -q --marker-size=%L %A %O %B"


class GitRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A checkout at the time when Maestro recorded it.

    Both directories are empty if the checkout has no repository.
    """

    path: str
    git_dir: str
    common_dir: str
    programs: frozenset[str] | None  # fingerprints; None: not recorded yet


def program_settings(settings: Iterable[GitSetting]) -> list[GitSetting]:
    """Return the settings that name a program."""
    return [setting for setting in settings if setting.value and _names_program(setting)]


def fingerprint_setting(setting: GitSetting) -> str:
    """Return the recorded hash of a setting. Name and value of the setting cannot be read from the hash."""
    return hashlib.sha256(f"{setting.key}\0{setting.value}".encode("utf-8", "surrogateescape")).hexdigest()


def neutral_settings(settings: Iterable[GitSetting]) -> tuple[str, ...]:
    """Return settings, as `name=value`, with which git runs none of the programs in `settings`."""
    return tuple(dict.fromkeys(text for setting in settings for text in _neutralize(setting)))


def _names_program(setting: GitSetting) -> bool:
    if setting.section == "lfs":
        return setting.name in _LFS
    if setting.section == "credential":
        return setting.name == "helper"
    if setting.key == "core.sshcommand":
        return True
    return bool(setting.subsection) and setting.name in _NAMED.get(setting.section, ())


def _neutralize(setting: GitSetting) -> tuple[str, ...]:
    name = f"{setting.section}.{setting.subsection}"
    if any(char in name for char in "=\n\0"):
        # `git -c NAME=VALUE` ends the name at the first "=".
        raise Invalid(
            f"The git configuration names a program under {name!r}, a name that Maestro cannot switch off.",
            hint=f"Remove the section {name!r} from the git configuration, then try again.",
        )
    match setting.section:
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
    return ()  # diff: Maestro runs every diff with --no-textconv and --no-ext-diff
