"""What a member's sessions may call besides, or short of, what their role allows: named, and by whom it is set."""

from __future__ import annotations

import difflib
from functools import cache

from maestro.core import errors
from maestro.domain import grants
from maestro.domain.callers import Caller, Role
from maestro.domain.members import Permission, Tool, check_rights
from maestro.operations.registry import REGISTRY

_NEAREST_MAX = 3


def granted(
    caller: Caller,
    *,
    allow: list[str] | None,
    deny: list[str] | None,
    before: tuple[list[str], list[str]] = ([], []),
) -> tuple[list[str], list[str]]:
    """The lists as they are from now on; what is None stays as it was `before`."""
    allowed = named(allow) if allow is not None else before[0]
    denied = named(deny) if deny is not None else before[1]
    if caller.role is not Role.PERSON:
        _only_narrow(before, allowed=allowed, denied=denied)
    check_rights(allow=allowed, deny=denied)
    return allowed, denied


def require_within_grant(caller: Caller, *, tool: Tool | None, permission: Permission | None) -> None:
    """Refuse a member that starts programs, or has a permission level, above the caller's grant."""
    if tool is not None:
        grants.require_program(caller, tool, ())
    if permission is not None:
        grants.require_level(caller, permission)


def named(texts: list[str]) -> list[str]:
    """Operations by their names in the registry; they may be written as commands: `mail broadcast`."""
    return list(dict.fromkeys(_name(text) for text in texts))


def _only_narrow(before: tuple[list[str], list[str]], *, allowed: list[str], denied: list[str]) -> None:
    """Nobody but the person widens what sessions may: a coordinator could widen its own rights."""
    if set(allowed) != set(before[0]):
        raise errors.NotPermitted(
            "Only the person sets what a member is allowed besides its role.", hint="Leave out --allow."
        )
    if taken := [name for name in before[1] if name not in denied]:
        raise errors.NotPermitted(
            f"Only the person takes back what a member is denied: {', '.join(taken)}.",
            hint="Name them too: --deny replaces the whole list.",
            data={"deny": before[1]},
        )


def _name(text: str) -> str:
    spelt = " ".join(text.lower().split())
    found = _spellings().get(spelt)
    if found is not None:
        return found
    near = difflib.get_close_matches(spelt, _spellings(), n=_NEAREST_MAX)
    nearest = list(dict.fromkeys(_spellings()[spelling] for spelling in near))
    asked = f"; did you mean {' or '.join(f'`{name}`' for name in nearest)}?" if nearest else "."
    raise errors.Invalid(
        f"There is no operation {text!r}{asked}",
        hint="Write its name or its command: task.create or 'task create'. `maestro help` lists the commands.",
        data={"value": text, "nearest": nearest},
    )


@cache
def _spellings() -> dict[str, str]:
    """Each operation by its name, its command and that one's other names."""
    found: dict[str, str] = {}
    for operation in REGISTRY.values():
        found[operation.name] = operation.name
        if operation.command is not None:
            found |= dict.fromkeys((operation.command.words, *operation.command.aliases), operation.name)
    return found
