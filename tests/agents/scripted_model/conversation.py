"""What a model is asked and what it answers, in no provider's words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

# The programs' own tools for shell commands, and what each calls the command.
_SHELLS = {"Bash": "command", "exec_command": "cmd", "run_shell_command": "command"}


@dataclass(frozen=True)
class Say:
    """Text, which ends the turn."""

    text: str


@dataclass(frozen=True)
class Call:
    """A call of a tool: of an MCP server, or one of the program's own."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    server: str = ""


@dataclass(frozen=True)
class Shell:
    """A shell command, by whatever tool the program has for that."""

    command: str


@dataclass(frozen=True)
class Refuse:
    """No answer: an HTTP status instead, as a provider whose limit is reached gives one."""

    status: int
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)


Answer = Say | Call | Shell | Refuse


@dataclass(frozen=True)
class Seen:
    """One request, as the model sees it."""

    model: str
    turn: int  # how many answers of the model it holds
    system: str
    newest: str  # what came since the last of them: prompts, tool results, whatever hooks add
    tools: tuple[str, ...]  # as the model must call them
    body: dict[str, Any]  # as it came
    is_aside: bool = False  # a title, a summary: not part of the conversation
    starts: str = ""  # a command that it was told to keep running in the background, and that does not run
    code: str = ""  # the tool for JavaScript, if it is from there that the others are called


Step = Answer | Callable[[Seen], Answer]


def settle(answer: Answer, seen: Seen) -> Say | Call | Refuse:
    """An answer in the names that the program knows. What it does not offer is said, so that a test shows it."""
    if isinstance(answer, Say | Refuse):
        return answer
    if seen.code:
        return _from_code(answer, seen.code)
    spelled = tuple(_SHELLS) if isinstance(answer, Shell) else _spelled(answer)
    found = next((name for name in seen.tools if name in spelled), None)
    if found is None:
        return Say(f"No tool {spelled[0]} is offered, only: {', '.join(seen.tools)}")
    return Call(found, {_SHELLS[found]: answer.command} if isinstance(answer, Shell) else answer.arguments)


def _from_code(answer: Call | Shell, code: str) -> Call:
    if isinstance(answer, Shell):
        name, arguments = "exec_command", {"cmd": answer.command}
    else:
        name, arguments = _spelled(answer)[0], dict(answer.arguments)
    return Call(code, {"source": f"text(await tools.{name}({json.dumps(arguments)}));"})


def _spelled(call: Call) -> tuple[str, ...]:
    """How programs name a tool of an MCP server."""
    if not call.server:
        return (call.tool,)
    return (f"mcp__{call.server}__{call.tool}", f"mcp_{call.server}_{call.tool}")


def text_of(content: Any) -> str:
    """All text in a piece of any provider's conversation."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text for text in map(text_of, content) if text)
    if not isinstance(content, dict):
        return ""
    if "functionResponse" in content:  # what a tool answered stands there under any name
        return text_of(list(content["functionResponse"]["response"].values()))
    for key in ("text", "content", "output", "parts"):
        if key in content:
            return text_of(content[key])
    return ""
