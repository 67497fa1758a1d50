"""What codex asks: as a person can read it, and in the words that policies match.

It tells beside a command what it makes of it (`commandActions`), for people to read: of `ls | xargs rm` that is `ls`.
So only the command itself counts. Which files it wants to change it has told before, with the change.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from maestro.tools import questions
from maestro.tools.happenings import ALLOW, DENY, PERMISSION, PUT_ASIDE, QUESTION, Asked

QUESTIONS = "item/tool/requestUserInput"
COMMAND = "item/commandExecution/requestApproval"
FILES = "item/fileChange/requestApproval"
MORE = "item/permissions/requestApproval"
ELICITATION = "mcpServer/elicitation/request"
PERMISSIONS = (COMMAND, FILES, MORE, ELICITATION)

# A model may name a shell of its own: elsewhere it can be any program.
_SHELL = re.compile(r"(?:(?:/usr(?:/local)?|/opt/homebrew|/run/current-system/sw)?/bin/)?(?:ba|da|z)?sh")
_RUNS = ("-c", "-lc")
_A_COMMAND = "command"


def permission(ask: str, method: str, params: dict[str, Any], changed: tuple[str, ...] = ()) -> Asked:
    """`changed`: the files, where it wants to change some."""
    why = str(params.get("reason") or params.get("message") or "")
    if method == COMMAND:
        title, actions = _run(params)
    elif method == FILES:
        title, actions = _change(changed, str(params.get("grantRoot") or ""))
    elif method == ELICITATION:
        server = str(params.get("serverName") or "")
        title, actions = f"{server}: {why}" if why else server, (f"tool:{server}",)
    else:
        wanted = json.dumps(params.get("permissions") or {}, ensure_ascii=False)
        title, actions = f"more permissions: {wanted}", ("tool:permissions",)
    text = f"{title}\n\n{why}" if why else title
    return Asked(ask=ask, what=PERMISSION, title=title, text=text, choices=(ALLOW, DENY), actions=actions)


def command(given: str) -> str:
    """What a shell is told to run, if that is all there is to it; anything else as it stands."""
    try:
        words = shlex.split(given)
    except ValueError:
        return given
    if len(words) == 3 and _SHELL.fullmatch(words[0]) and words[1] in _RUNS:
        return words[2]
    return given


def files(item: dict[str, Any]) -> tuple[str, ...]:
    """All that a change touches: where a file moves to as well."""
    found: dict[str, None] = {}
    for change in item.get("changes") or ():
        kind = change.get("kind")
        moves_to = kind.get("move_path") if isinstance(kind, dict) else None
        found |= dict.fromkeys(str(path) for path in (change.get("path"), moves_to) if path)
    return tuple(found)


def question(ask: str, params: dict[str, Any]) -> Asked:
    found = questions.asked(params.get("questions") or [{}])
    return Asked(ask=ask, what=QUESTION, title=found.title, text=found.text, choices=found.choices)


def answers(params: dict[str, Any], said: str) -> dict[str, Any]:
    """As it takes them; none where nobody gives one."""
    asked = params.get("questions") or []
    if said == PUT_ASIDE or not asked:
        return {"answers": {}}
    names = [str(one.get("id")) for one in asked]
    found = zip(names, questions.answers(asked, said), strict=True)
    return {"answers": {name: {"answers": [answer]} for name, answer in found}}


def _run(params: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """It asks the same way to type into a command that runs, or for a host. No pattern for commands means that."""
    run, host = command(str(params.get("command") or "")), params.get("networkApprovalContext")
    if host:
        return f"network: {host.get('protocol')} {host.get('host')}, for: {run}", ("tool:network",)
    if params.get("kind", _A_COMMAND) != _A_COMMAND or not run:
        return f"{params.get('kind')}: {run}", ("tool:write_stdin",)
    more = params.get("additionalPermissions")
    if more:
        return f"shell: {run}\n\nwith {json.dumps(more, ensure_ascii=False)}", (f"shell:{run}", "tool:permissions")
    return f"shell: {run}", (f"shell:{run}",)


def _change(changed: tuple[str, ...], root: str) -> tuple[str, tuple[str, ...]]:
    """One of which it is not known what it touches is no change of files that a pattern could name."""
    title = f"edit: {', '.join(changed)}" if changed else "change files"
    actions = tuple(f"edit:{file}" for file in changed) or ("tool:fileChange",)
    if not root:
        return title, actions
    return f"{title} (and from now on all in {root})", (*actions, f"edit:{root}/*")
