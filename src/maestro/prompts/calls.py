"""How a call is named: as a command for a shell, or as an MCP tool. The one table both are spelt from.

A template writes `{{mail.send to=NAME subject=TEXT}}`: an operation and its request's fields. A field without a
value is a switch; one that comes twice is a list. Knows no registry; a test holds the table equal to it.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from maestro.core import errors
from maestro.domain.manifests import Reach

PROGRAM = "maestro"

Arguments = Mapping[str, list[str]]  # no value: a switch


@dataclass(frozen=True)
class Call:
    """An operation as a command spells it, and as a tool does."""

    words: str
    tool: str
    action: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)  # where a tool's argument is not called like its field
    positional: tuple[str, ...] = ()
    lists: frozenset[str] = frozenset()
    flags: Mapping[str, str] = field(default_factory=dict)  # where a flag is not called like its field
    content: str = ""  # the field that a command takes from a file


def _call(tool: str, words: str, *positional: str, lists: str = "", content: str = "", **flags: str) -> Call:
    """`tool` is a tool's name and action, and then fields with the tool's names for them."""
    named, *renamed = tool.split()
    name, _, action = named.partition(".")
    return Call(
        words,
        name,
        action,
        dict(pair.split("=") for pair in renamed),
        positional,
        frozenset(lists.split()),
        {**flags, content: "file"} if content else flags,
        content,
    )


CALLS: dict[str, Call] = {
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
    "session.spawn": _call("spawn", "session spawn", lists="task member skill reference allow words"),
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
# Over MCP these are numbers of seconds: a model that thinks of a minute writes 60.
_DURATIONS = frozenset({"timeout", "lease", "debounce"})
_SECONDS = {"s": 1, "m": 60, "h": 3_600}

# A name must follow at once: `${{ secrets.X }}` and the like are only text.
_PLACEHOLDER = re.compile(r"\{\{([a-z][a-z_.]*)((?:\s[^{}]*)?)\}\}")
_PLAIN = re.compile(r"[\w@%+=:,./…-][\w@%+=:,./…#-]*")
_DURATION = re.compile(r"([0-9]+)(s|m|h)")


_BY_WORDS = {call.words: call for call in CALLS.values()}
_LONGEST_FIRST = sorted(_BY_WORDS, key=len, reverse=True)
_COMMAND = re.compile(
    rf"\bmaestro (?P<words>{'|'.join(_LONGEST_FIRST)})\b"
    r"(?: (?P<value>[A-Za-z]+_\w+|[\w.-]*#\d+|[A-Z]{2,}\b))?"
    r"(?P<switches>(?: --[a-z-]+(?= --|[,.;:)`]|$))*)"
)
_FLAG = re.compile(r"(?<!\S)--([a-z][a-z-]*)")
_CURSOR = re.compile(r"--cursor (\S+)")


def spell(reach: Reach, operation: str, arguments: Arguments) -> str:
    """A call with its arguments."""
    call = CALLS[operation]
    if reach is Reach.MCP:
        return f"{call.tool}({', '.join(_fields(call, arguments))})"
    return " ".join([PROGRAM, call.words, *_words(call, arguments)])


def name(reach: Reach, operation: str, words: str) -> str | None:
    """What an operation is called, without arguments; also one that no template mentions. None: by no tool."""
    if reach is not Reach.MCP:
        return f"{PROGRAM} {words}"
    return spell(reach, operation, {}) if operation in CALLS else None


def as_tools(text: str) -> str:
    """A note or hint that names commands, naming tools where there are such."""
    said = _CURSOR.sub(r'cursor="\1"', _COMMAND.sub(_as_tool, text))
    if f"{PROGRAM} " in said:
        return said  # the flags of what is left to the command are the command's
    return _FLAG.sub(lambda found: found[1].replace("-", "_"), said.replace("-- PROGRAM ARGS…", "words"))


def _as_tool(found: re.Match[str]) -> str:
    """The longest command that the words begin with; what follows it stays, but for its first argument."""
    call = _BY_WORDS.get(found["words"])
    if call is None:
        return found[0]
    value = found["value"]
    said: dict[str, list[str]] = {}
    if value and call.positional:
        said[call.positional[0]] = [value]
    said |= {switch.replace("-", "_"): [] for switch in found["switches"].replace(" --", " ").split()}
    rest = f" {value}" if value and not call.positional else ""
    return f"{call.tool}({', '.join(_fields(call, said))})" + rest


@lru_cache(512)  # the texts are few: each template's phases, and the rules
def filled(text: str, reach: Reach) -> str:
    """A text with each placeholder spelt out as code."""
    return _PLACEHOLDER.sub(lambda found: f"`{spell(reach, found[1], _arguments(found[2]))}`", text)


def mentioned(text: str) -> Iterator[tuple[int, str, Arguments]]:
    """Every placeholder of a text, with its place; Invalid names the line of one that means nothing."""
    for found in _PLACEHOLDER.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        if found[1] not in CALLS:
            raise errors.Invalid(f"{{{{{found[1]}}}}} is no call that a template can name.", data={"line": line})
        try:
            yield line, found[1], _arguments(found[2])
        except ValueError as error:
            raise errors.Invalid(f"The call of {found[1]} cannot be read: {error}.", data={"line": line}) from None


def _arguments(written: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for part in shlex.split(written):
        name, equals, value = part.partition("=")
        values = found.setdefault(name, [])
        if equals:
            values.append(value)
    return found


def _words(call: Call, arguments: Arguments) -> Iterator[str]:
    for name in call.positional:
        yield from map(_quoted, arguments.get(name, []))
    for name, values in arguments.items():
        if name in call.positional:
            continue
        flag = "--" + call.flags.get(name, name.replace("_", "-"))
        if not values:
            yield flag
        for value in values:
            yield f"{flag} {_quoted(value)}"


def _fields(call: Call, arguments: Arguments) -> Iterator[str]:
    if call.action:
        yield f'action="{call.action}"'
    for name, values in arguments.items():
        said = ["CONTENT"] if name == call.content else values
        argument = call.arguments.get(name, name)
        yield f"{argument}={_json(name, said, many=name in call.lists and argument != 'id')}"


def _json(name: str, values: list[str], *, many: bool) -> str:
    if not values:
        return "true"
    if many:
        return json.dumps(values, ensure_ascii=False)
    duration = _DURATION.fullmatch(values[0]) if name in _DURATIONS else None
    if duration is not None:
        return str(int(duration[1]) * _SECONDS[duration[2]])
    return json.dumps(values[0], ensure_ascii=False)


def _quoted(value: str) -> str:
    """A value as a shell takes it: double quotes read best, where nothing in it means something to a shell."""
    if _PLAIN.fullmatch(value):
        return value
    return shlex.quote(value) if re.search(r'["$`\\!\n]', value) else f'"{value}"'
