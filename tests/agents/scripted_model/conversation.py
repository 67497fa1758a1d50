"""Requests to a model and answers of a model, independent of the provider."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

# The shell tools of the programs, with the name of the argument for the command.
_SHELLS = {"Bash": "command", "exec_command": "cmd", "run_shell_command": "command"}


@dataclass(frozen=True)
class Say:
    """A text, which ends the turn."""

    text: str


@dataclass(frozen=True)
class Call:
    """A call of a tool: of an MCP server, or of the program itself."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    server: str = ""


@dataclass(frozen=True)
class Shell:
    """A shell command, with the shell tool of the program."""

    command: str


@dataclass(frozen=True)
class Refuse:
    """An HTTP error in place of an answer, as from a provider whose limit is reached."""

    status: int
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)


Answer = Say | Call | Shell | Refuse


@dataclass(frozen=True)
class Seen:
    """A request to the model."""

    model: str
    turn: int  # the number of the model's answers in the request
    system: str
    newest: str  # the text since the last answer: prompts, tool results, and texts of hooks
    tools: tuple[str, ...]  # names of the tools, as the model must call them
    body: dict[str, Any]  # the request as it was received
    is_aside: bool = False  # a request for a title or a summary, which is not part of the conversation
    starts: str = ""  # a command that the program should keep running in the background, and that does not run
    code: str = ""  # the tool for JavaScript, if code calls the other tools


Step = Answer | Callable[[Seen], Answer]


def settle(answer: Answer, seen: Seen) -> Say | Call | Refuse:
    """Return the answer with the program's names for tools. If the program does not offer the tool, return a text."""
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
    """Return the names that programs give to a tool of an MCP server."""
    if not call.server:
        return (call.tool,)
    return (f"mcp__{call.server}__{call.tool}", f"mcp_{call.server}_{call.tool}")


def text_of(content: Any) -> str:
    """Return all text in a part of a conversation of any provider."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text for text in map(text_of, content) if text)
    if not isinstance(content, dict):
        return ""
    if "functionResponse" in content:  # the response holds the answer of a tool under any name
        return text_of(list(content["functionResponse"]["response"].values()))
    for key in ("text", "content", "output", "parts"):
        if key in content:
            return text_of(content[key])
    return ""
