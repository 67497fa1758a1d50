"""The moments that every program's hooks come down to, what can be answered, and what a program's dialect offers."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from maestro.tools.happenings import Usage

_ASKED_CHARS_MAX = 300
_DETAILS_CHARS_MAX = 6_000
# Of a tool's arguments, those that tell a person what it is about; the first that is there.
_TELLING = ("command", "file_path", "filePath", "path", "url", "query", "toolName", "prompt", "description", "title")


class Moment(enum.Enum):
    """What a hook tells, whatever it is called."""

    STARTS = "starts"  # a conversation begins, or begins anew
    PROMPT = "prompt"
    BEFORE_TOOL = "before tool"
    AFTER_TOOL = "after tool"
    MODEL = "model"  # the model is about to be asked: whatever came before is in that request
    STOP = "stop"
    FAILS = "fails"  # it stops because its model could not be asked
    ASKS = "asks"  # it wants to be allowed something
    WAITS = "waits"  # it tells the person that it waits for them
    COMPACTS = "compacts"
    ENDS = "ends"


class Beginning(enum.Enum):
    """Why a conversation starts."""

    NEW = "new"
    RESUMED = "resumed"
    CLEARED = "cleared"
    COMPACTED = "compacted"


class Touch(enum.Enum):
    """How far a tool call reaches."""

    NOTHING = "nothing"  # it looks, or is one of Maestro's own
    A_FILE = "a file"  # it changes the one that its action names
    ANYTHING = "anything"


class Question(msgspec.Struct, frozen=True):
    """What an agent asks its user, and the tool call that it is."""

    title: str
    text: str
    choices: tuple[str, ...]
    given: dict[str, Any]


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    """One firing of a hook, in words that fit all programs."""

    tool: str
    event: str
    moment: Moment
    directory: str = ""
    is_aside: bool = False  # told by a helper that the agent itself started: what is said there does not reach it
    beginning: Beginning = Beginning.NEW
    asked: str = ""  # what it wants to do, or is waiting for
    details: str = ""  # all of that, for whoever is to allow it
    call: str = ""  # and what tells it from another: a digest of the tool and all it is called with
    action: str = ""  # the same, in the words that policies match (`shell:git push`)
    # Of a tool call by which its program asks nobody: whether it may be made is decided here.
    is_gate: bool = False
    touch: Touch = Touch.ANYTHING
    question: Question | None = None  # where what it asks is no permission
    conversation: str = ""  # what the program itself calls its conversation
    prompt: str = ""  # of a prompt: what was said
    transcript: str = ""  # the file in which the program keeps the conversation
    problem: str = ""  # why a turn could not go on
    is_limited: bool = False  # because its provider takes no more just now
    needs_person: bool = True  # of one that waits: an open dialog, not just silence
    is_final: bool = True  # of one that ends: the program ends with it
    tells_models: bool = False  # whether this program says when its model is asked


class Kind(enum.Enum):
    """What can be said to a hook."""

    NOTHING = "nothing"
    CONTEXT = "context"  # for the model to know
    REFUSE = "refuse"  # the tool call, with the reason
    GO_ON = "go on"  # instead of stopping, with what to look at
    ALLOW = "allow"
    DENY = "deny"
    ANSWER = "answer"  # to a question


class Reply(msgspec.Struct, frozen=True):
    """What is said to a hook; `receipt` names the mail in it."""

    kind: Kind = Kind.NOTHING
    text: str = ""
    receipt: str = ""
    question: Question | None = None  # that this answers


NOTHING = Reply()


class Payload(msgspec.Struct, frozen=True):
    """What the programs send, as far as anyone here cares. The rest may be large, and is never decoded."""

    cwd: str = ""
    session_id: str | None = None
    prompt: Any = None
    transcript_path: str | None = None
    error: Any = None
    last_assistant_message: str | None = None
    prompt_response: str | None = None
    source: str = ""
    reason: str = ""
    trigger: str = ""
    tool_name: str = ""
    tool_input: msgspec.Raw = msgspec.Raw(b"")
    mcp_context: dict[str, Any] | None = None  # gemini, of a tool that an MCP server has
    notification_type: str = ""
    message: str = ""
    details: msgspec.Raw = msgspec.Raw(b"")  # gemini, of what it waits for
    agent_id: str = ""
    maestro_test: str = ""  # a self-test: nobody's agent, and nothing is to follow from it


class Recorded(msgspec.Struct, frozen=True):
    """A piece of a program's own record of a conversation."""

    usage: Usage | None = None  # what its model took
    text: str = ""  # in which everything stands that has come in


class Dialect(Protocol):
    """One program's hooks."""

    tool: str
    # The events to connect, and how long the program should wait for each, in seconds.
    events: Mapping[str, int]
    # The event that stands for a request for permission: it waits for as long as a person takes.
    asks: str

    def own_folder(self, environment: Mapping[str, str]) -> str:
        """Return the folder in which the program keeps its settings and its records of conversations."""

    def read(self, event: str, payload: Payload) -> Happening | None:
        """What an event means; None if nothing follows from it."""

    def recorded(self, kept: bytes) -> Recorded:
        """What a piece of the program's record of a conversation says."""

    def spell(self, event: str, reply: Reply) -> dict[str, Any] | None:
        """An answer as the program wants it; None to say nothing."""


_decode = msgspec.json.Decoder(Payload).decode


def decode(raw: bytes) -> Payload:
    """A payload; msgspec.DecodeError if it is none."""
    try:
        return _decode(raw)
    except (UnicodeDecodeError, RecursionError) as error:  # half a character, or a nest without end
        raise msgspec.DecodeError(str(error)) from None


def wanted(payload: Payload) -> str:
    """A tool call on one line, as a person is told of it."""
    return described(payload.tool_name, bytes(payload.tool_input))


def arguments(payload: Payload) -> dict[str, Any]:
    """What a tool is called with; nothing if that cannot be read."""
    try:
        given = msgspec.json.decode(payload.tool_input) if payload.tool_input else {}
    except msgspec.DecodeError:
        return {}
    return given if isinstance(given, dict) else {}


def details(payload: Payload) -> str:
    """All that a tool is called with, as it can be read; cut where it is very long, which is said."""
    try:
        text = msgspec.json.format(bytes(payload.tool_input), indent=1).decode() if payload.tool_input else ""
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    text = text.replace("\\n", "\n")
    left = len(text) - _DETAILS_CHARS_MAX
    return text if left <= 0 else f"{text[:_DETAILS_CHARS_MAX]}\n… and {left} characters more"


def call(payload: Payload) -> str:
    return hashlib.sha256(payload.tool_name.encode() + b"\0" + bytes(payload.tool_input)).hexdigest()


def described(name: str, raw: bytes) -> str:
    """What something is called, and what of its details says most."""
    try:
        given = msgspec.json.decode(raw) if raw else {}
    except msgspec.DecodeError:
        given = {}
    detail = ""
    if isinstance(given, dict):
        named = (given.get(key) for key in _TELLING)
        detail = next((value for value in named if isinstance(value, str) and value), "")
        if isinstance(given.get("command"), list):
            detail = " ".join(map(str, given["command"]))
        detail = detail or (msgspec.json.encode(given).decode() if given else "")
    line = " ".join(f"{name}: {detail}".split()) if detail else name
    return line if len(line) <= _ASKED_CHARS_MAX else line[: _ASKED_CHARS_MAX - 1] + "…"


def context(event: str, text: str) -> dict[str, Any]:
    """How all three take something to know."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
