"""Grants: the highest permission level that a session may give to the sessions it starts.

A grant never grows on its way down: a session gets at most the grant of the session that starts it. Only the person
gives `full`. Pure: the services read the store and call the rules.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from maestro.core import errors
from maestro.domain.callers import Caller, Role
from maestro.domain.members import COMMAND_TOOL, Permission
from maestro.domain.sessions import SessionMode

# From the weakest level to the strongest.
LEVELS = (Permission.PLAN, Permission.EDIT, Permission.FULL)
_ROLES = (Role.NOBODY, Role.WORKER, Role.COORDINATOR, Role.PERSON)


class Rights(msgspec.Struct, frozen=True, kw_only=True):
    """The rights of the caller that started a run, at the time of the start. The run keeps them."""

    role: Role
    allow: list[str]
    deny: list[str]
    grant: Permission


def is_within(level: Permission, grant: Permission) -> bool:
    """Return whether a grant is enough to give a permission level."""
    return LEVELS.index(level) <= LEVELS.index(grant)


def lower_level(first: Permission, second: Permission) -> Permission:
    """Return the weaker of two permission levels."""
    return first if is_within(first, second) else second


def grant_of(caller: Caller) -> Permission:
    """Return the highest level that a caller may give; the person may give every level."""
    return Permission.FULL if caller.role is Role.PERSON else caller.grant


def usual_level(mode: SessionMode, given: Permission | None) -> Permission:
    """Return a new session's own level: its member's, else `edit` in execute mode and `plan` in the other modes."""
    return given or (Permission.EDIT if mode is SessionMode.EXECUTE else Permission.PLAN)


def default_grant(mode: SessionMode, level: Permission) -> Permission:
    """Return the grant of a new session if the starter names none. The starter's own grant limits the result later.

    A coordinator with the level `plan` still starts workers with `edit`. Every other session gives its own level.
    """
    return Permission.EDIT if mode is SessionMode.COORDINATE else level


def child_grant(caller: Caller, wanted: Permission | None, *, mode: SessionMode, level: Permission) -> Permission:
    """Return the grant of a session that the caller starts or registers; refuse a wanted grant above the caller's."""
    if wanted is None:
        return lower_level(default_grant(mode, level), grant_of(caller))
    if not is_within(wanted, grant_of(caller)):
        raise _refusal(caller, f"give the grant {wanted}", wanted)
    return wanted


def require_level(caller: Caller, level: Permission) -> None:
    """Refuse a permission level above the caller's grant."""
    if not is_within(level, grant_of(caller)):
        raise _refusal(caller, f"give the permission level {level}", level)


def require_program(caller: Caller, tool: str, arguments: Sequence[str]) -> None:
    """Refuse a program of the caller's choice, or arguments for a tool, unless the caller's grant is `full`.

    A program of the caller's choice has no permission level, and arguments can switch off a tool's permission level.
    """
    if (tool == COMMAND_TOOL or arguments) and grant_of(caller) is not Permission.FULL:
        action = (
            "start a program of its own choice" if tool == COMMAND_TOOL else f"pass arguments of its own to {tool}"
        )
        raise _refusal(caller, action, Permission.FULL)


def require_gates(caller: Caller) -> None:
    """Refuse gates of a session whose grant is below `edit`: the server runs a gate as the user.

    The grant `edit` is enough, because gates run code that sessions with the level `edit` wrote.
    """
    if not is_within(Permission.EDIT, grant_of(caller)):
        raise _refusal(caller, "set gates", Permission.EDIT)


def require_patterns(caller: Caller, patterns: Collection[str], own: Collection[str]) -> None:
    """Refuse `--allow` patterns that the caller does not have itself, unless the caller's grant is `full`."""
    beyond = [pattern for pattern in patterns if pattern not in own]
    if beyond and grant_of(caller) is not Permission.FULL:
        raise _refusal(caller, f"allow {beyond[0]!r} without asking", Permission.FULL)


def rights_of(caller: Caller) -> Rights:
    """Return the present rights of a caller."""
    return Rights(role=caller.role, allow=sorted(caller.allow), deny=sorted(caller.deny), grant=grant_of(caller))


def narrow_caller(caller: Caller, rights: Rights) -> Caller:
    """Return the caller with only the rights that both the caller and `rights` have.

    A denial of either side stays.
    """
    return msgspec.structs.replace(
        caller,
        role=min(caller.role, rights.role, key=_ROLES.index),
        allow=caller.allow & frozenset(rights.allow),
        deny=caller.deny | frozenset(rights.deny),
        grant=lower_level(grant_of(caller), rights.grant),
    )


def _refusal(caller: Caller, action: str, needed: Permission) -> errors.NotPermitted:
    name = caller.title or caller.name
    grant = grant_of(caller)
    return errors.NotPermitted(
        f"Session {name} has the grant {grant}, so it may not {action}.",
        hint=f"Only the person raises the grant: maestro session grant {caller.name} {needed}",
        data={"session": caller.name, "grant": grant, "needed": needed},
    )
