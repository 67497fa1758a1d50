"""The spelling of calls in prompts: as a command for a shell, or as an MCP tool. Both come from the table `CALLS`.

A template writes `{{mail.send to=NAME subject=TEXT}}`: an operation and fields of its request. A field without a
value is a switch; a repeated field is a list. Does not know the registry; a test compares the table with it.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from maestro.core import errors
from maestro.domain.manifests import AgentReach

PROGRAM = "maestro"

Arguments = Mapping[str, list[str]]  # an empty list marks a switch


@dataclass(frozen=True)
class CallSpelling:
    """The spellings of an operation: as a command and as an MCP tool."""

    command_path: str
    tool: str
    action: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)  # tool arguments whose name differs from the field
    positional: tuple[str, ...] = ()
    lists: frozenset[str] = frozenset()
    flags: Mapping[str, str] = field(default_factory=dict)  # flags whose name differs from the field
    content: str = ""  # the field that a command reads from a file


def _call(tool: str, words: str, *positional: str, lists: str = "", content: str = "", **flags: str) -> CallSpelling:
    """Return a call. `tool` is the tool's name and action, then pairs of a field and the tool's name for it."""
    name_and_action, *renamed = tool.split()
    name, _, action = name_and_action.partition(".")
    return CallSpelling(
        words,
        name,
        action,
        dict(pair.split("=") for pair in renamed),
        positional,
        frozenset(lists.split()),
        {**flags, content: "file"} if content else flags,
        content,
    )


CALLS: dict[str, CallSpelling] = {
    "ask.create": _call("ask", "ask create", "title", lists="choice"),
    "ask.wait": _call("wait id=ask", "ask wait", "id"),
    "ask.withdraw": _call("ask id=withdraw", "ask withdraw", "id"),
    "caller.whoami": _call("whoami", "whoami"),
    "issue.claim": _call("issues.claim", "issue claim", "id"),
    "issue.close": _call("issues.close", "issue close", "id"),
    "issue.list": _call("issues.list", "issue list"),
    "issue.open": _call("issues.open", "issue open", "to", lists="attach blocks"),
    "issue.reopen": _call("issues.reopen", "issue reopen", "id"),
    "issue.reply": _call("issues.reply", "issue reply", "id", lists="attach"),
    "issue.show": _call("issues.show", "issue show", "id"),
    "mail.ack": _call("mail.ack ids=id", "mail ack", "ids", lists="ids"),
    "mail.broadcast": _call("send", "mail broadcast", lists="attach"),
    "mail.claim": _call("mail.claim", "mail claim", "id"),
    "mail.inbox": _call("inbox", "mail inbox"),
    "mail.of_task": _call("tasks.mail", "task mail", "id"),
    "mail.reply": _call("send id=reply_to", "mail reply", "id", lists="attach"),
    "mail.search": _call("mail.search", "mail search", "query"),
    "mail.send": _call("send", "mail send", "to", lists="to to_member attach"),
    "mail.show": _call("mail.show", "mail show", "id"),
    "mail.status": _call("mail.status", "mail status", "id"),
    "mail.thread": _call("mail.thread", "mail thread", "id"),
    "mail.wait": _call("wait", "mail wait"),
    "member.list": _call("members.list", "member list"),
    "member.show": _call("members.show", "member show", "id"),
    "run.list": _call("run.list", "run list"),
    "session.adopt": _call("sessions.adopt ids=id", "session adopt", "ids", lists="ids"),
    "session.explain": _call("sessions.explain", "session explain", "id"),
    "session.interrupt": _call("sessions.interrupt", "session interrupt", "id"),
    "session.list": _call("sessions.list", "session list"),
    "session.logs": _call("sessions.logs", "session logs", "id"),
    "session.prompt": _call("sessions.prompt", "session prompt", "id", "text"),
    "session.report": _call("report", "session report", "kind", "text"),
    "session.resume": _call("sessions.resume", "session resume", "id"),
    "session.show": _call("sessions.show", "session show", "id"),
    "session.spawn": _call("spawn", "session spawn", lists="task member skill reference allow arguments"),
    "session.stop": _call("sessions.stop", "session stop", "id"),
    "session.wait": _call("wait ids=sessions", "session wait", "ids", lists="ids"),
    "task.blocked": _call("tasks.blocked", "task blocked"),
    "task.cancel": _call("task_update.cancel reason=text", "task cancel", "id"),
    "task.children": _call("tasks.children", "task children", "id"),
    "task.complete": _call("task_update.complete summary=text", "task complete", "id"),
    "task.create": _call("task_create", "task create", "title", lists="depends_on accept gates", gates="gate"),
    "task.depend": _call("task_update.depend", "task depend", "id", lists="on"),
    "task.docs.add": _call("task_update.document content=text", "task docs add", "id", "title", content="content"),
    "task.docs.list": _call("tasks.documents", "task docs list", "id"),
    "task.docs.show": _call("tasks.document", "task docs show", "id"),
    "task.edit": _call("task_update.edit", "task edit", "id", lists="accept gates", gates="gate"),
    "task.list": _call("tasks.list", "task list"),
    "task.ready": _call("tasks.ready", "task ready", "parent"),
    "task.reject": _call("task_update.reject reason=text", "task reject", "id"),
    "task.release": _call("task_update.release", "task release", "id"),
    "task.reopen": _call("task_update.reopen", "task reopen", "id"),
    "task.report": _call("report", "task report", "kind", "id", "text"),
    "task.show": _call("tasks.show", "task show", "id"),
    "task.start": _call("task_update.start", "task start", "id"),
    "task.tree": _call("tasks.tree", "task tree", "id"),
    "task.unblock": _call("task_update.unblock", "task unblock", "id"),
    "team.list": _call("members.teams", "team list"),
    "team.show": _call("members.team", "team show", "id"),
    "worktree.diff": _call("worktrees.diff", "worktree diff", "id"),
    "worktree.list": _call("worktrees.list", "worktree list"),
    "worktree.merge": _call("worktrees.merge", "worktree merge", "id"),
}
# MCP tools take durations as seconds, because a model writes 60 for a minute.
_DURATIONS = frozenset({"timeout", "lease", "debounce"})
_SECONDS = {"s": 1, "m": 60, "h": 3_600}

# The name must follow the braces directly: `${{ secrets.X }}` is plain text.
_PLACEHOLDER = re.compile(r"\{\{([a-z][a-z_.]*)((?:\s[^{}]*)?)\}\}")
_PLAIN = re.compile(r"[\w@%+=:,./…-][\w@%+=:,./…#-]*")
_DURATION = re.compile(r"([0-9]+)(s|m|h)")


_BY_WORDS = {call.command_path: call for call in CALLS.values()}
_LONGEST_FIRST = sorted(_BY_WORDS, key=len, reverse=True)
_COMMAND = re.compile(
    rf"\bmaestro (?P<words>{'|'.join(_LONGEST_FIRST)})\b"
    r"(?: (?P<value>[A-Za-z]+_\w+|[\w.-]*#\d+|[A-Z]{2,}\b))?"
    r"(?P<switches>(?: --[a-z-]+(?= --|[,.;:)`]|$))*)"
)
_FLAG = re.compile(r"(?<!\S)--([a-z][a-z-]*)")
_CURSOR = re.compile(r"--cursor (\S+)")


def spell_call(reach: AgentReach, operation: str, arguments: Arguments) -> str:
    """Return a call with its arguments."""
    call = CALLS[operation]
    if reach is AgentReach.MCP:
        return f"{call.tool}({', '.join(_tool_arguments(call, arguments))})"
    return " ".join([PROGRAM, call.command_path, *_command_arguments(call, arguments)])


def call_name(reach: AgentReach, operation: str, command_path: str) -> str | None:
    """Return the call of any operation without arguments, or None if no MCP tool offers the operation."""
    if reach is not AgentReach.MCP:
        return f"{PROGRAM} {command_path}"
    return spell_call(reach, operation, {}) if operation in CALLS else None


def replace_commands_with_tools(text: str) -> str:
    """Return a note or hint with its commands replaced by MCP tools, where a tool exists."""
    replaced = _CURSOR.sub(r'cursor="\1"', _COMMAND.sub(_replace_with_tool, text))
    if f"{PROGRAM} " in replaced:
        return replaced  # flags of the remaining commands must stay flags
    return _FLAG.sub(lambda flag: flag[1].replace("-", "_"), replaced.replace("-- PROGRAM ARGS…", "arguments"))


def _replace_with_tool(command: re.Match[str]) -> str:
    """Return the tool for a matched command. The tool takes the command's first argument and switches."""
    call = _BY_WORDS.get(command["words"])
    if call is None:
        return command[0]
    value = command["value"]
    arguments: dict[str, list[str]] = {}
    if value and call.positional:
        arguments[call.positional[0]] = [value]
    arguments |= {switch.replace("-", "_"): [] for switch in command["switches"].replace(" --", " ").split()}
    rest = f" {value}" if value and not call.positional else ""
    return f"{call.tool}({', '.join(_tool_arguments(call, arguments))})" + rest


@lru_cache(512)  # only few texts exist: the phases of each template, and the rules
def fill_placeholders(text: str, reach: AgentReach) -> str:
    """Return a text with each placeholder replaced by its call, as code."""
    return _PLACEHOLDER.sub(lambda match: f"`{spell_call(reach, match[1], _parse_arguments(match[2]))}`", text)


def find_placeholders(text: str) -> Iterator[tuple[int, str, Arguments]]:
    """Yield line, operation and arguments of each placeholder. Raise Invalid with the line of an unknown call."""
    for match in _PLACEHOLDER.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match[1] not in CALLS:
            raise errors.Invalid(f"{{{{{match[1]}}}}} is not a call that a template can use.", data={"line": line})
        try:
            yield line, match[1], _parse_arguments(match[2])
        except ValueError as error:
            raise errors.Invalid(f"The call of {match[1]} cannot be parsed: {error}.", data={"line": line}) from None


def _parse_arguments(written: str) -> dict[str, list[str]]:
    arguments: dict[str, list[str]] = {}
    for part in shlex.split(written):
        name, equals, value = part.partition("=")
        values = arguments.setdefault(name, [])
        if equals:
            values.append(value)
    return arguments


def _command_arguments(call: CallSpelling, arguments: Arguments) -> Iterator[str]:
    for name in call.positional:
        yield from map(_quote_for_shell, arguments.get(name, []))
    for name, values in arguments.items():
        if name in call.positional:
            continue
        flag = "--" + call.flags.get(name, name.replace("_", "-"))
        if not values:
            yield flag
        for value in values:
            yield f"{flag} {_quote_for_shell(value)}"


def _tool_arguments(call: CallSpelling, arguments: Arguments) -> Iterator[str]:
    if call.action:
        yield f'action="{call.action}"'
    for name, values in arguments.items():
        shown_values = ["CONTENT"] if name == call.content else values
        argument = call.arguments.get(name, name)
        yield f"{argument}={_json_value(name, shown_values, is_list=name in call.lists and argument != 'id')}"


def _json_value(name: str, values: list[str], *, is_list: bool) -> str:
    if not values:
        return "true"
    if is_list:
        return json.dumps(values, ensure_ascii=False)
    duration = _DURATION.fullmatch(values[0]) if name in _DURATIONS else None
    if duration is not None:
        return str(int(duration[1]) * _SECONDS[duration[2]])
    return json.dumps(values[0], ensure_ascii=False)


def _quote_for_shell(value: str) -> str:
    """Return a value quoted for a shell: double quotes for readability, unless the value has special characters."""
    if _PLAIN.fullmatch(value):
        return value
    return shlex.quote(value) if re.search(r'["$`\\!\n]', value) else f'"{value}"'
