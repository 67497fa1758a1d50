"""The common form of all programs' hooks: moments, events, replies, and the interface of a dialect."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import msgspec

from maestro.tools.conversation_events import Usage

_ASKED_CHARS_MAX = 300
_DETAILS_CHARS_MAX = 6_000
# Arguments of a tool call that describe it best to a person; the first one present is shown.
_DESCRIBING_ARGUMENTS = (
    "command",
    "file_path",
    "filePath",
    "path",
    "url",
    "query",
    "toolName",
    "prompt",
    "description",
    "title",
)


class HookMoment(enum.Enum):
    """The moment at which a hook fires, independent of the program's name for the event."""

    STARTS = "starts"  # a conversation starts or starts again
    PROMPT = "prompt"
    BEFORE_TOOL = "before tool"
    AFTER_TOOL = "after tool"
    MODEL = "model"  # the program calls the model: the call contains everything before this moment
    STOP = "stop"
    FAILS = "fails"  # the turn stops because the model could not be called
    ASKS = "asks"  # the program asks for a permission
    WAITS = "waits"  # the program notifies the person that it waits
    COMPACTS = "compacts"
    ENDS = "ends"


class StartReason(enum.Enum):
    """The reason why a conversation starts."""

    NEW = "new"
    RESUMED = "resumed"
    CLEARED = "cleared"
    COMPACTED = "compacted"


class ToolScope(enum.Enum):
    """The scope of a tool call: what it can change."""

    NOTHING = "nothing"  # the call only reads, or calls Maestro
    A_FILE = "a file"  # the call changes the file that its action names
    ANYTHING = "anything"


class HookQuestion(msgspec.Struct, frozen=True):
    """A question of an agent to its user, and the input of the tool call that asks."""

    title: str
    text: str
    choices: tuple[str, ...]
    given: dict[str, Any]


class HookEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event of a hook, in a form that fits all programs."""

    tool: str
    event: str
    moment: HookMoment
    directory: str = ""
    is_from_subagent: bool = False  # from a subagent of the program: a reply does not reach the main agent
    start_reason: StartReason = StartReason.NEW
    summary: str = ""  # the tool call, or the reason for waiting, on one line
    details: str = ""  # the whole input of the tool call, for the person who decides
    call_digest: str = ""  # the identity of the tool call: a digest of the tool and its whole input
    action: str = ""  # the tool call in the form that policies match (`shell:git push`)
    # Set for a tool call of a program without dialogs: Maestro's reply decides whether the call may run.
    is_gate: bool = False
    scope: ToolScope = ToolScope.ANYTHING
    question: HookQuestion | None = None  # set if the ask is a question, not a permission
    conversation: str = ""  # the program's own id of the conversation
    prompt: str = ""  # the text of a prompt
    transcript: str = ""  # the program's record file of the conversation
    problem: str = ""  # the error that ended a turn
    is_limited: bool = False  # the error is a rate limit of the provider
    needs_person: bool = True  # for WAITS: a dialog is open; False: the program is only idle
    is_final: bool = True  # for ENDS: the program ends too
    reports_model_calls: bool = False  # whether the program fires a hook for each call of its model


class ReplyKind(enum.Enum):
    """The kinds of replies to a hook."""

    NOTHING = "nothing"
    CONTEXT = "context"  # a text for the model
    REFUSE = "refuse"  # refuses the tool call, with the reason
    GO_ON = "go on"  # keeps the agent from stopping, with a text for the model
    ALLOW = "allow"
    DENY = "deny"
    ANSWER = "answer"  # answers a question


class HookReply(msgspec.Struct, frozen=True):
    """The reply to a hook. `receipt` names the mail in the text."""

    kind: ReplyKind = ReplyKind.NOTHING
    text: str = ""
    receipt: str = ""
    question: HookQuestion | None = None  # the question that the reply answers


EMPTY_REPLY = HookReply()


class HookPayload(msgspec.Struct, frozen=True):
    """The used fields of a hook's payload. The other fields may be large and are never decoded.

    A program with other fields has a subclass, named in its dialect."""

    cwd: str = ""
    session_id: str | None = None
    prompt: Any = None
    transcript_path: str | None = None
    error: Any = None
    last_assistant_message: str | None = None
    source: str = ""
    reason: str = ""
    trigger: str = ""
    tool_name: str = ""
    tool_input: msgspec.Raw = msgspec.Raw(b"")
    notification_type: str = ""
    message: str = ""
    agent_id: str = ""
    maestro_test: str = ""  # set in a self-test: the event belongs to no agent and has no effects


class RecordContent(msgspec.Struct, frozen=True):
    """The content of a piece of a program's record file."""

    usage: Usage | None = None  # the usage of the model
    text: str = ""  # contains every prompt that has entered the conversation


class HookDialect:
    """The base class of a tool's hook dialect: the tool's events, and the translation of events and replies."""

    tool: str
    payload_type: type[HookPayload] = HookPayload
    # The events to connect, with the seconds that the program waits for each hook.
    events: Mapping[str, int]
    # The event of a permission request: its hook waits until the person answers.
    permission_event = ""
    # The permission hook fires before each tool call, and the program takes a hook that cannot run for consent.
    gates_tool_calls = False
    # The program shows its dialog while the permission hook waits: the person may answer in either.
    dialog_opens_during_hook = False
    # The program runs no other tool call while a dialog is open.
    shows_single_dialogs = False
    # The protocol reports these events already. With hooks too, a permission would be asked twice.
    events_of_protocol: frozenset[str] = frozenset()
    takes_http_hooks = False
    events_by_command_only: frozenset[str] = frozenset()  # events that the program does not send over HTTP
    timeout_units_per_second = 1  # the unit of timeouts in the program's settings
    hook_fields: Mapping[str, str] = MappingProxyType({})  # more fields of each hook in the program's settings

    def own_folder(self, environment: Mapping[str, str]) -> str:
        """Return the folder in which the program keeps its settings and its records of conversations."""
        raise NotImplementedError

    def read_event(self, event: str, payload: HookPayload) -> HookEvent | None:
        """Return the event in its common form, or None if the event has no effect."""
        raise NotImplementedError

    def read_record(self, piece: bytes) -> RecordContent:
        """Return usage and text of a piece of the program's record file."""
        return RecordContent()

    def encode_reply(self, event: str, reply: HookReply) -> dict[str, Any] | None:
        """Return a reply in the program's format, or None for an empty answer."""
        return encode_permission_reply(event, reply)


@cache
def _payload_decoder(payload_type: type[HookPayload]) -> msgspec.json.Decoder[HookPayload]:
    return msgspec.json.Decoder(payload_type)


def decode_payload(raw: bytes, payload_type: type[HookPayload] = HookPayload) -> HookPayload:
    """Return a payload of a dialect's type, or raise msgspec.DecodeError."""
    try:
        return _payload_decoder(payload_type).decode(raw)
    except (UnicodeDecodeError, RecursionError) as error:  # broken UTF-8, or nested too deep
        raise msgspec.DecodeError(str(error)) from None


def describe_tool_call(payload: HookPayload) -> str:
    """Return a description of a tool call on one line, for a person."""
    return describe_details(payload.tool_name, bytes(payload.tool_input))


def tool_input(payload: HookPayload) -> dict[str, Any]:
    """Return the input of a tool call; {} if the input cannot be decoded."""
    try:
        given = msgspec.json.decode(payload.tool_input) if payload.tool_input else {}
    except msgspec.DecodeError:
        return {}
    return given if isinstance(given, dict) else {}


def tool_input_text(payload: HookPayload) -> str:
    """Return the whole input of a tool call as readable text. A very long text is cut, with a note."""
    try:
        text = msgspec.json.format(bytes(payload.tool_input), indent=1).decode() if payload.tool_input else ""
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    text = text.replace("\\n", "\n")
    left = len(text) - _DETAILS_CHARS_MAX
    return text if left <= 0 else f"{text[:_DETAILS_CHARS_MAX]}\n… and {left} more characters"


def tool_call_digest(payload: HookPayload) -> str:
    return hashlib.sha256(payload.tool_name.encode() + b"\0" + bytes(payload.tool_input)).hexdigest()


def describe_details(name: str, raw: bytes) -> str:
    """Return a name with the most descriptive of its details, on one line."""
    try:
        given = msgspec.json.decode(raw) if raw else {}
    except msgspec.DecodeError:
        given = {}
    detail = ""
    if isinstance(given, dict):
        candidates = (given.get(key) for key in _DESCRIBING_ARGUMENTS)
        detail = next((value for value in candidates if isinstance(value, str) and value), "")
        if isinstance(given.get("command"), list):
            detail = " ".join(map(str, given["command"]))
        detail = detail or (msgspec.json.encode(given).decode() if given else "")
    line = " ".join(f"{name}: {detail}".split()) if detail else name
    return line if len(line) <= _ASKED_CHARS_MAX else line[: _ASKED_CHARS_MAX - 1] + "…"


def context_answer(event: str, text: str) -> dict[str, Any]:
    """Return a text for the model, in the format that all programs with hooks share."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def encode_permission_reply(event: str, reply: HookReply) -> dict[str, Any] | None:
    """Return a reply in the format of Claude Code, which other programs share. A reply to a question has no shared
    format."""
    match reply.kind:
        case ReplyKind.CONTEXT:
            return context_answer(event, reply.text)
        case ReplyKind.REFUSE:
            refusal = {"permissionDecision": "deny", "permissionDecisionReason": reply.text}
            return {"hookSpecificOutput": {"hookEventName": event, **refusal}}
        case ReplyKind.GO_ON:
            return {"decision": "block", "reason": reply.text}
        case ReplyKind.ALLOW:
            return permission_decision(event, {"behavior": "allow"})
        case ReplyKind.DENY:
            return permission_decision(event, {"behavior": "deny", "message": reply.text})
    return None


def permission_decision(event: str, decision: dict[str, Any]) -> dict[str, Any]:
    """Return the decision about a permission request, in the same shared format."""
    return {"hookSpecificOutput": {"hookEventName": event, "decision": decision}}
