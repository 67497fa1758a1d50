"""How a prompt names a call: as a command for a shell, or as an MCP tool. The one table both are spelt from.

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

from maestro import errors
from maestro.domain.manifests import Reach

PROGRAM = "maestro"

Arguments = Mapping[str, list[str]]  # no value: a switch


@dataclass(frozen=True)
class Call:
    """An operation as a command spells it."""

    words: str
    positional: tuple[str, ...] = ()
    lists: frozenset[str] = frozenset()
    flags: Mapping[str, str] = field(default_factory=dict)  # where a flag is not called like its field
    content: str = ""  # the field that a command takes from a file


def _call(words: str, *positional: str, lists: str = "", content: str = "", **flags: str) -> Call:
    renamed = {**flags, content: "file"} if content else flags
    return Call(words, positional, frozenset(lists.split()), renamed, content)


CALLS: dict[str, Call] = {
    "ask.create": _call("ask create", "title", lists="choice"),
    "ask.wait": _call("ask wait", "id"),
    "ask.withdraw": _call("ask withdraw", "id"),
    "caller.whoami": _call("whoami"),
    "mail.ack": _call("mail ack", "ids", lists="ids"),
    "mail.broadcast": _call("mail broadcast"),
    "mail.inbox": _call("mail inbox"),
    "mail.of_task": _call("task mail", "id"),
    "mail.reply": _call("mail reply", "id"),
    "mail.search": _call("mail search", "query"),
    "mail.send": _call("mail send", "to", lists="to to_member"),
    "mail.show": _call("mail show", "id"),
    "mail.status": _call("mail status", "id"),
    "mail.thread": _call("mail thread", "id"),
    "mail.wait": _call("mail wait"),
    "member.list": _call("member list"),
    "member.show": _call("member show", "id"),
    "session.adopt": _call("session adopt", "ids", lists="ids"),
    "session.explain": _call("session explain", "id"),
    "session.interrupt": _call("session interrupt", "id"),
    "session.list": _call("session list"),
    "session.logs": _call("session logs", "id"),
    "session.prompt": _call("session prompt", "id", "text"),
    "session.report": _call("session report", "kind", "text"),
    "session.resume": _call("session resume", "id"),
    "session.show": _call("session show", "id"),
    "session.spawn": _call("session spawn", lists="task member skill reference words"),
    "session.stop": _call("session stop", "id"),
    "session.wait": _call("session wait", "ids", lists="ids"),
    "task.blocked": _call("task blocked"),
    "task.cancel": _call("task cancel", "id"),
    "task.children": _call("task children", "id"),
    "task.complete": _call("task complete", "id"),
    "task.create": _call("task create", "title", lists="depends_on accept gates", gates="gate"),
    "task.depend": _call("task depend", "id", lists="on"),
    "task.docs.add": _call("task docs add", "id", "title", content="content"),
    "task.docs.list": _call("task docs list", "id"),
    "task.docs.show": _call("task docs show", "id"),
    "task.edit": _call("task edit", "id", lists="accept gates", gates="gate"),
    "task.list": _call("task list"),
    "task.ready": _call("task ready", "parent"),
    "task.reject": _call("task reject", "id"),
    "task.release": _call("task release", "id"),
    "task.reopen": _call("task reopen", "id"),
    "task.report": _call("task report", "kind", "id", "text"),
    "task.show": _call("task show", "id"),
    "task.start": _call("task start", "id"),
    "task.tree": _call("task tree", "id"),
    "task.unblock": _call("task unblock", "id"),
    "team.show": _call("team show", "id"),
    "worktree.diff": _call("worktree diff", "id"),
    "worktree.list": _call("worktree list"),
    "worktree.merge": _call("worktree merge", "id"),
}
# Over MCP these are numbers of milliseconds, as in every other JSON.
_DURATIONS = frozenset({"timeout", "lease", "debounce"})
_MILLISECONDS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}

# A name must follow at once: `${{ secrets.X }}` and the like are only text.
_PLACEHOLDER = re.compile(r"\{\{([a-z][a-z_.]*)((?:\s[^{}]*)?)\}\}")
_PLAIN = re.compile(r"[\w@%+=:,./…-][\w@%+=:,./…#-]*")
_DURATION = re.compile(r"([0-9]+)(ms|s|m|h)")


def spell(reach: Reach, operation: str, arguments: Arguments) -> str:
    """A call with its arguments."""
    call = CALLS[operation]
    if reach is Reach.MCP:
        return f"{tool_name(operation)}({', '.join(_fields(call, arguments))})"
    return " ".join([PROGRAM, call.words, *_words(call, arguments)])


def tool_name(operation: str) -> str:
    """What an operation is called as an MCP tool."""
    return operation.replace(".", "_")


def name(reach: Reach, operation: str, words: str) -> str:
    """What an operation is called, without arguments; also one that no template mentions."""
    return tool_name(operation) if reach is Reach.MCP else f"{PROGRAM} {words}"


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
    for name, values in arguments.items():
        said = ["CONTENT"] if name == call.content else values
        yield f"{name}={_json(name, said, many=name in call.lists)}"


def _json(name: str, values: list[str], *, many: bool) -> str:
    if not values:
        return "true"
    if many:
        return json.dumps(values, ensure_ascii=False)
    duration = _DURATION.fullmatch(values[0]) if name in _DURATIONS else None
    if duration is not None:
        return str(int(duration[1]) * _MILLISECONDS[duration[2]])
    return json.dumps(values[0], ensure_ascii=False)


def _quoted(value: str) -> str:
    """A value as a shell takes it: double quotes read best, where nothing in it means something to a shell."""
    if _PLAIN.fullmatch(value):
        return value
    return shlex.quote(value) if re.search(r'["$`\\!\n]', value) else f'"{value}"'
