"""The allow and deny lists of a member: operations that its sessions may or may not call, beyond their role."""

from __future__ import annotations

import difflib
from functools import cache

from maestro.core import errors
from maestro.domain import grants
from maestro.domain.callers import Caller, Role
from maestro.domain.members import Permission, check_rights
from maestro.operations.registry import REGISTRY

_NEAREST_MAX = 3


def resolve_rights(
    caller: Caller,
    *,
    allow: list[str] | None,
    deny: list[str] | None,
    before: tuple[list[str], list[str]] = ([], []),
) -> tuple[list[str], list[str]]:
    """Return the new allow and deny lists. A list that is None keeps its value from `before`."""
    allowed = operation_names(allow) if allow is not None else before[0]
    denied = operation_names(deny) if deny is not None else before[1]
    if caller.role is not Role.PERSON:
        _refuse_widening(before, allowed=allowed, denied=denied)
    check_rights(allow=allowed, deny=denied)
    return allowed, denied


def require_within_grant(caller: Caller, *, tool: str | None, permission: Permission | None) -> None:
    """Refuse a member that starts programs, or has a permission level, above the caller's grant."""
    if tool is not None:
        grants.require_program(caller, tool, ())
    if permission is not None:
        grants.require_level(caller, permission)


def operation_names(texts: list[str]) -> list[str]:
    """Return the registry names of operations, which may be written as commands: `mail broadcast`."""
    return list(dict.fromkeys(_operation_name(text) for text in texts))


def _refuse_widening(before: tuple[list[str], list[str]], *, allowed: list[str], denied: list[str]) -> None:
    """Refuse to widen a member's rights, because a coordinator could so widen its own rights. Only the person may."""
    if set(allowed) != set(before[0]):
        raise errors.NotPermitted("Only the person may change the allow list of a member.", hint="Leave out --allow.")
    if removed := [name for name in before[1] if name not in denied]:
        raise errors.NotPermitted(
            f"Only the person may remove operations from the deny list of a member: {', '.join(removed)}.",
            hint="Name these operations too: --deny replaces the whole list.",
            data={"deny": before[1]},
        )


def _operation_name(text: str) -> str:
    spelling = " ".join(text.lower().split())
    found = _name_by_spelling().get(spelling)
    if found is not None:
        return found
    close_spellings = difflib.get_close_matches(spelling, _name_by_spelling(), n=_NEAREST_MAX)
    nearest = list(dict.fromkeys(_name_by_spelling()[spelling] for spelling in close_spellings))
    suggestion = f"; did you mean {' or '.join(f'`{name}`' for name in nearest)}?" if nearest else "."
    raise errors.Invalid(
        f"There is no operation {text!r}{suggestion}",
        hint="Write an operation's name or command: task.create or 'task create'. `maestro help` lists the commands.",
        data={"value": text, "nearest": nearest},
    )


@cache
def _name_by_spelling() -> dict[str, str]:
    """Return the operation names by spelling. An operation has a name, and may have a command with aliases."""
    found: dict[str, str] = {}
    for operation in REGISTRY.values():
        found[operation.name] = operation.name
        if operation.command is not None:
            found |= dict.fromkeys((operation.command.command_path, *operation.command.aliases), operation.name)
    return found
