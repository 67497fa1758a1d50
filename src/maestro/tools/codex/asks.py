"""Codex's requests for permission and questions: as asks for the person, with actions that policies match.

Codex also sends an interpretation of a command (`commandActions`) for people: for `ls | xargs rm` it is `ls`. So only
the command itself counts. Codex names the files of a change earlier, with the change.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from maestro.tools import questions
from maestro.tools.conversation_events import ALLOW, DENY, PERMISSION, QUESTION, UNANSWERED, AskOpened

QUESTIONS = "item/tool/requestUserInput"
COMMAND = "item/commandExecution/requestApproval"
FILE_CHANGE = "item/fileChange/requestApproval"
MORE_PERMISSIONS = "item/permissions/requestApproval"
ELICITATION = "mcpServer/elicitation/request"
PERMISSIONS = (COMMAND, FILE_CHANGE, MORE_PERMISSIONS, ELICITATION)

# The model may name any shell. Only shells in system directories are known to be shells.
_SHELL = re.compile(r"(?:(?:/usr(?:/local)?|/opt/homebrew|/run/current-system/sw)?/bin/)?(?:ba|da|z)?sh")
_RUN_FLAGS = ("-c", "-lc")
_COMMAND_KIND = "command"


def permission_ask(ask: str, method: str, params: dict[str, Any], changed_files: tuple[str, ...] = ()) -> AskOpened:
    """Return the ask for a permission request. `changed_files` names the files of a file change."""
    reason = str(params.get("reason") or params.get("message") or "")
    if method == COMMAND:
        title, actions = _describe_command(params)
    elif method == FILE_CHANGE:
        title, actions = _describe_change(changed_files, str(params.get("grantRoot") or ""))
    elif method == ELICITATION:
        server = str(params.get("serverName") or "")
        title, actions = f"{server}: {reason}" if reason else server, (f"tool:{server}",)
    else:
        wanted = json.dumps(params.get("permissions") or {}, ensure_ascii=False)
        title, actions = f"more permissions: {wanted}", ("tool:permissions",)
    text = f"{title}\n\n{reason}" if reason else title
    return AskOpened(ask=ask, what=PERMISSION, title=title, text=text, choices=(ALLOW, DENY), actions=actions)


def plain_command(given: str) -> str:
    """Return the script of a plain `sh -c SCRIPT`; every other command unchanged."""
    try:
        arguments = shlex.split(given)
    except ValueError:
        return given
    if len(arguments) == 3 and _SHELL.fullmatch(arguments[0]) and arguments[1] in _RUN_FLAGS:
        return arguments[2]
    return given


def files_of_change(item: dict[str, Any]) -> tuple[str, ...]:
    """Return all files that a change touches, including the new path of a moved file."""
    paths: dict[str, None] = {}
    for change in item.get("changes") or ():
        kind = change.get("kind")
        moves_to = kind.get("move_path") if isinstance(kind, dict) else None
        paths |= dict.fromkeys(str(path) for path in (change.get("path"), moves_to) if path)
    return tuple(paths)


def question_ask(ask: str, params: dict[str, Any]) -> AskOpened:
    merged = questions.merge_questions(params.get("questions") or [{}])
    return AskOpened(ask=ask, what=QUESTION, title=merged.title, text=merged.text, choices=merged.choices)


def encode_answers(params: dict[str, Any], answer: str) -> dict[str, Any]:
    """Return answers in Codex's format; empty if the person does not answer."""
    asked = params.get("questions") or []
    if answer == UNANSWERED or not asked:
        return {"answers": {}}
    names = [str(question.get("id")) for question in asked]
    answers_by_name = zip(names, questions.split_answer(asked, answer), strict=True)
    return {"answers": {name: {"answers": [answer]} for name, answer in answers_by_name}}


def _describe_command(params: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return title and actions. Codex also asks this way for input to a running command and for network access, which
    patterns for commands must not allow."""
    run, host = plain_command(str(params.get("command") or "")), params.get("networkApprovalContext")
    if host:
        return f"network: {host.get('protocol')} {host.get('host')}, for: {run}", ("tool:network",)
    if params.get("kind", _COMMAND_KIND) != _COMMAND_KIND or not run:
        return f"{params.get('kind')}: {run}", ("tool:write_stdin",)
    more = params.get("additionalPermissions")
    if more:
        return f"shell: {run}\n\nwith {json.dumps(more, ensure_ascii=False)}", (f"shell:{run}", "tool:permissions")
    return f"shell: {run}", (f"shell:{run}",)


def _describe_change(changed: tuple[str, ...], root: str) -> tuple[str, tuple[str, ...]]:
    """Return title and actions. A change without known files must not match a pattern for files."""
    title = f"edit: {', '.join(changed)}" if changed else "change files"
    actions = tuple(f"edit:{file}" for file in changed) or ("tool:fileChange",)
    if not root:
        return title, actions
    return f"{title} (and all later changes in {root})", (*actions, f"edit:{root}/*")
