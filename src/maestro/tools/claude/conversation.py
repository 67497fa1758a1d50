"""The conversation with Claude Code over stream-json: a line of JSON per message (`-p --input-format stream-json`).

Each prompt has a uuid that the program hands back: in `command_lifecycle` when the prompt is queued and started, and
with the message itself when the prompt enters the conversation. That can happen during a turn, after a tool call. The
model has read the prompt when its next output arrives. No model answers a command of the program (`/compact`): such a
prompt is confirmed when its turn ends.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

from maestro.tools.claude.actions import FILES, tool_action
from maestro.tools.claude.questions import answer_input, find_question
from maestro.tools.conversation import Conversation, ConversationOpening, Prompt, echo_prompt
from maestro.tools.conversation_events import (
    ALLOW,
    DENY,
    PERMISSION,
    QUESTION,
    START,
    UNANSWERED,
    AskOpened,
    ConversationStarted,
    PushConfirmed,
    TranscriptText,
    TurnEnded,
    TurnStarted,
    Usage,
)

_NO_MODEL = "<synthetic>"
_LIMIT = "rate_limit"
_COMMAND = "<command-name>"  # begins the replay of a prompt that Claude runs as its own command
_UNKNOWN_CONVERSATION = "No conversation found"
_RESULT_CHARS_MAX = 2_000
_REFUSED = "The person denied the request."


class ClaudeConversation(Conversation):
    """The conversation with one running `claude -p`."""

    def __init__(self, opening: ConversationOpening) -> None:
        super().__init__(opening)
        self._sent_prompts: dict[str, Prompt] = {}  # by uuid: sent, but not yet in the conversation
        self._unconfirmed_prompts: list[str] = []  # in the conversation, but without later output of the model
        self._program_commands: set[str] = set()  # unconfirmed prompts that Claude runs as its own commands
        self._conversation_id = ""  # Claude's id of the conversation; `/clear` changes it
        self._request_count = 0
        self._is_limited = False  # the last request to the provider hit a rate limit
        self._reset_at: float | None = None  # when the rate limit ends, if the provider reports a time
        self._cost_usd = 0.0

    def start_conversation(self) -> None:
        self._send_request({"subtype": "initialize"})
        self.send_prompt(Prompt(START, self.opening.prompt))

    def interrupt_turn(self) -> None:
        self._send_request({"subtype": "interrupt"})

    @property
    def is_idle(self) -> bool:
        return super().is_idle and not self._sent_prompts  # a queued prompt becomes a turn of its own

    def _send_request(self, request: dict[str, Any]) -> None:
        self._request_count += 1
        self._write_message(
            {"type": "control_request", "request_id": f"maestro-{self._request_count}", "request": request}
        )

    def _send_prompt(self, prompt: Prompt) -> None:
        # A new uuid each time: a resumed conversation skips a uuid that it has seen before.
        prompt_uuid = str(uuid.uuid4())
        self._sent_prompts[prompt_uuid] = prompt
        content = [{"type": "text", "text": prompt.text}]
        self._write_message({"type": "user", "uuid": prompt_uuid, "message": {"role": "user", "content": content}})
        self._start_turn()

    def _start_turn(self) -> None:
        if not self.is_busy:
            self.is_busy = True
            self._emit(TurnStarted())

    def _handle_message(self, message: dict[str, Any]) -> None:
        match message.get("type"):
            case "assistant":
                self._start_turn()
                self._handle_assistant(message)
            case "user":
                self._handle_user(message)
            case "result":
                self._handle_result(message)
            case "control_request":
                self._handle_control_request(message)
            case "control_cancel_request":
                self._withdraw_ask(str(message.get("request_id")))
            case "command_lifecycle" if message.get("state") == "started":
                self._start_turn()
            case "rate_limit_event":
                self._handle_rate_limit(message.get("rate_limit_info") or {})
            case _:
                pass

    def _handle_assistant(self, message: dict[str, Any]) -> None:
        if (message.get("message") or {}).get("model") == _NO_MODEL:
            # Claude itself writes this message when the model cannot be reached. The result repeats the error.
            self._is_limited = self._is_limited or message.get("error") == _LIMIT
            return
        if message.get("session_id", self._conversation_id) != self._conversation_id:
            self._conversation_id = str(message["session_id"])
            self._emit(ConversationStarted(self._conversation_id))
        self._emit(*(PushConfirmed(prompt) for prompt in self._unconfirmed_prompts))
        self._unconfirmed_prompts = []
        for block in _content_blocks(message):
            if block.get("type") == "text":
                self._emit(TranscriptText(f"{block.get('text', '')}\n"))
            elif block.get("type") == "tool_use":
                self._emit(TranscriptText(f"→ {_describe_call(str(block.get('name')), block.get('input') or {})}\n"))

    def _handle_user(self, message: dict[str, Any]) -> None:
        if message.get("isReplay"):
            prompt = self._sent_prompts.pop(str(message.get("uuid")), None)
            if prompt is not None:
                self._unconfirmed_prompts.append(prompt.id)
                if _content_text((message.get("message") or {}).get("content")).startswith(_COMMAND):
                    self._program_commands.add(prompt.id)
                self._emit(echo_prompt(prompt))
            return
        for block in _content_blocks(message):
            if block.get("type") == "tool_result":
                self._emit(TranscriptText(f"{_shorten_text(_content_text(block.get('content')))}\n"))

    def _handle_result(self, message: dict[str, Any]) -> None:
        has_failed = bool(message.get("is_error"))
        problem = str(message.get("result") or "; ".join(map(str, message.get("errors") or ()))) if has_failed else ""
        interrupted = has_failed and not problem
        if _UNKNOWN_CONVERSATION in problem and not self._conversation_id:
            self._emit(ConversationStarted(""))  # Claude ends now; the next start begins a new conversation
        total = message.get("total_cost_usd")
        cost = None
        if isinstance(total, int | float):
            cost, self._cost_usd = max(float(total) - self._cost_usd, 0.0), float(total)
        usage = message.get("usage") or {}
        finished_commands = [prompt for prompt in self._unconfirmed_prompts if prompt in self._program_commands]
        if finished_commands and not has_failed:
            self._emit(
                *(PushConfirmed(prompt) for prompt in finished_commands),
                TranscriptText(f"{message.get('result') or 'done'}\n"),
            )
        self._unconfirmed_prompts = []  # after a failed turn it is unknown whether the model has read the prompts
        self._program_commands.clear()
        if has_failed and self._is_limited:
            self._emit_rate_limit(self._reset_at, problem)
        self._is_limited, self._reset_at = False, None
        self._end_turn(
            TurnEnded(
                Usage(
                    input_tokens=_int_value(usage, "input_tokens") + _int_value(usage, "cache_creation_input_tokens"),
                    output_tokens=_int_value(usage, "output_tokens"),
                    cached_tokens=_int_value(usage, "cache_read_input_tokens"),
                    cost_usd=cost,
                    model=next(iter(message.get("modelUsage") or {}), ""),
                ),
                problem=problem,
                interrupted=interrupted,
            )
        )

    def _handle_rate_limit(self, limit: dict[str, Any]) -> None:
        until = limit.get("resetsAt")
        if limit.get("status") == "rejected" and isinstance(until, int | float):  # other statuses are warnings
            self._is_limited, self._reset_at = True, float(until)

    # Asks

    def _handle_control_request(self, message: dict[str, Any]) -> None:
        request, ask = message.get("request") or {}, str(message.get("request_id"))
        if request.get("subtype") != "can_use_tool":
            return
        tool, given = str(request.get("tool_name")), request.get("input") or {}
        if asks := find_question(tool, given):
            self._open_ask(AskOpened(ask, QUESTION, asks.title, asks.text, asks.choices), (True, given))
            return
        asked = AskOpened(
            ask=ask,
            what=PERMISSION,
            title=_describe_call(tool, given),
            text=json.dumps(given, ensure_ascii=False, indent=1),
            choices=(ALLOW, DENY),
            actions=(tool_action(tool, given),),
        )
        self._open_ask(asked, (False, given))

    def _send_answer(self, ask: str, kept: Any, choice: str) -> None:
        is_question, given = kept
        answer: dict[str, Any]
        if is_question and choice != UNANSWERED:
            answer = {"behavior": "allow", "updatedInput": answer_input(given, choice)}
        elif not is_question and choice == ALLOW:
            answer = {"behavior": "allow", "updatedInput": given}
        else:
            answer = {"behavior": "deny", "message": _REFUSED}
        response = {"subtype": "success", "request_id": ask, "response": answer}
        self._write_message({"type": "control_response", "response": response})


def _describe_call(tool: str, given: dict[str, Any]) -> str:
    detail = given.get("command") or next((given[name] for name in FILES if given.get(name)), "")
    return f"{tool}: {_shorten_text(str(detail))}" if detail else tool


def _content_blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = (message.get("message") or {}).get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content or () if isinstance(block, dict)]


def _content_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in content or () if isinstance(block, dict))


def _shorten_text(text: str) -> str:
    return text if len(text) <= _RESULT_CHARS_MAX else f"{text[:_RESULT_CHARS_MAX]}…"


def _int_value(values: dict[str, Any], name: str) -> int:
    value = values.get(name)
    return int(value) if isinstance(value, int | float) else 0


CONVERSATION = ClaudeConversation
