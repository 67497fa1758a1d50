"""The conversation with Gemini CLI over `gemini --acp` (Agent Client Protocol): JSON-RPC, a line per message.

A second prompt would cancel the running prompt. So each prompt waits for the end of the previous turn, and its sender
is told. Gemini hands no prompt back: output during the turn shows that the model has read the prompt.
"""

from __future__ import annotations

import re
import time
from typing import Any

from maestro.tools.conversation import ConversationOpening, Prompt, echo_prompt
from maestro.tools.conversation_events import (
    ALLOW,
    DENY,
    PERMISSION,
    START,
    AskOpened,
    ConversationStarted,
    PushConfirmed,
    TranscriptText,
    TurnEnded,
    TurnStarted,
    Usage,
)
from maestro.tools.gemini import calls
from maestro.tools.rpc import RpcConversation

_ONE_AT_A_TIME = "it is busy and takes one prompt at a time"
_OUTPUT_CHARS_MAX = 2_000
_CANCELLED = {"outcome": {"outcome": "cancelled"}}
_TOO_MANY = 429
# Gemini reports the duration of a limit only as text: "retry after 600s", "Your quota will reset after 3h20m5.1s".
_WAIT = re.compile(r"\b(?:retry|reset) (?:in|after) ((?:[0-9]+(?:\.[0-9]+)?(?:h|ms|m|s))+)", re.IGNORECASE)
_PART = re.compile(r"([0-9.]+)(h|ms|m|s)", re.IGNORECASE)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


class GeminiConversation(RpcConversation):
    """The conversation in one session of `gemini --acp`."""

    clock = staticmethod(time.time)

    def __init__(self, opening: ConversationOpening) -> None:
        super().__init__(opening)
        self._session_id = ""
        self._is_ready = False
        self._running_prompt: Prompt | None = None  # the prompt of the running turn
        self._is_prompt_confirmed = False
        self._has_begun = False
        self._is_at_line_start = True  # whether the transcript is at the start of a line

    def start_conversation(self) -> None:
        self._call_method(
            "initialize",
            {"protocolVersion": 1, "clientCapabilities": {}},
            self._on_initialized,
            otherwise=self._on_failed,
        )
        self.send_prompt(Prompt(START, self.opening.prompt))

    def wait_reason(self) -> str:
        return super().wait_reason() or (_ONE_AT_A_TIME if self.is_busy else "")

    def interrupt_turn(self) -> None:
        if not self._running_prompt:
            return
        self._send_notification("session/cancel", {"sessionId": self._session_id})
        for ask in list(self.open_asks):  # Gemini would wait for the answers before it stops
            number, _ = self.open_asks[ask]
            self._send_result(number, _CANCELLED)
            self._withdraw_ask(ask)

    # Start of the session

    def _on_initialized(self, result: dict[str, Any]) -> None:
        if self.opening.resumes:
            self._session_id = self.opening.resumes
            params = {**self._session_parameters(), "sessionId": self._session_id}
            self._call_method("session/load", params, self._on_session_opened, otherwise=self._on_resume_refused)
        else:
            self._call_method(
                "session/new", self._session_parameters(), self._on_session_opened, otherwise=self._on_failed
            )

    def _session_parameters(self) -> dict[str, Any]:
        return {"cwd": self.opening.directory, "mcpServers": (self.opening.settings or {}).get("mcpServers", [])}

    def _on_resume_refused(self, error: dict[str, Any]) -> None:
        self._emit(TranscriptText(f"! The earlier conversation cannot be resumed: {error.get('message')}\n"))
        self._session_id = ""
        self._call_method(
            "session/new", self._session_parameters(), self._on_session_opened, otherwise=self._on_failed
        )

    def _on_session_opened(self, result: dict[str, Any]) -> None:
        self._session_id = self._session_id or str(result["sessionId"])
        mode = (self.opening.settings or {}).get("mode")
        if mode:
            params = {"sessionId": self._session_id, "modeId": mode}
            self._call_method("session/set_mode", params, self._on_ready, otherwise=self._on_failed)
        else:
            self._on_ready({})

    def _on_ready(self, result: dict[str, Any]) -> None:
        self._is_ready = True

    def _on_failed(self, error: dict[str, Any]) -> None:
        self._end_turn(TurnEnded(problem=str(error.get("message") or error)))

    def _is_open(self) -> bool:
        return self._is_ready

    # Prompts

    def _send_prompt(self, prompt: Prompt) -> None:
        self._running_prompt, self._is_prompt_confirmed, self.is_busy = prompt, False, True
        self._emit(TurnStarted(), echo_prompt(prompt))
        self._call_method(
            "session/prompt",
            {"sessionId": self._session_id, "prompt": [{"type": "text", "text": prompt.text}]},
            self._on_prompt_done,
            otherwise=self._on_prompt_failed,
        )

    def _on_prompt_done(self, result: dict[str, Any]) -> None:
        interrupted = result.get("stopReason") == "cancelled"
        counted = ((result.get("_meta") or {}).get("quota") or {}).get("token_count") or {}
        if counted.get("input_tokens"):
            self._confirm_prompt()
        self._end_line()
        self._running_prompt = None
        models = ((result.get("_meta") or {}).get("quota") or {}).get("model_usage") or ()
        usage = Usage(
            input_tokens=int(counted.get("input_tokens") or 0),
            output_tokens=int(counted.get("output_tokens") or 0),
            model=str(models[0].get("model", "")) if models else "",
        )
        self._end_turn(TurnEnded(usage if counted else None, interrupted=interrupted))

    def _on_prompt_failed(self, error: dict[str, Any]) -> None:
        self._running_prompt = None
        self._end_line()
        problem = str((error.get("data") or {}).get("details") or error.get("message") or error)
        if error.get("code") == _TOO_MANY:
            wait = _wait_seconds(problem)
            self._emit_rate_limit(None if wait is None else self.clock() + wait, problem)
        self._end_turn(TurnEnded(problem=problem))

    def _confirm_prompt(self) -> None:
        if self._running_prompt is None or self._is_prompt_confirmed:
            return
        self._is_prompt_confirmed = True
        if not self._has_begun:
            self._has_begun = True
            self._emit(ConversationStarted(self._session_id))
        self._emit(PushConfirmed(self._running_prompt.id))

    # Notifications

    def _handle_notification(self, method: str, params: dict[str, Any]) -> None:
        update = params.get("update") or {}
        # Updates before the first prompt repeat an earlier conversation.
        if method != "session/update" or self._running_prompt is None:
            return
        kind = update.get("sessionUpdate")
        if kind == "agent_message_chunk":
            self._confirm_prompt()
            self._is_at_line_start = False
            self._emit(TranscriptText(str((update.get("content") or {}).get("text", ""))))
        elif kind in ("tool_call", "tool_call_update"):
            self._confirm_prompt()
            self._end_line()
            if kind == "tool_call":
                self._emit(TranscriptText(f"→ {update.get('title')}\n"))
            if update.get("status") in ("completed", "failed"):
                self._emit(TranscriptText(f"{_content_text(update)[:_OUTPUT_CHARS_MAX]}\n"))
        elif kind == "agent_thought_chunk":
            self._confirm_prompt()

    def _end_line(self) -> None:
        if not self._is_at_line_start:
            self._emit(TranscriptText("\n"))
            self._is_at_line_start = True

    # Asks

    def _handle_request(self, number: Any, method: str, params: dict[str, Any]) -> None:
        if method != "session/request_permission":
            self._refuse_request(number, method)
            return
        self._confirm_prompt()
        self._end_line()
        call = params.get("toolCall") or {}
        title, call_title = calls.call_title(call), str(call.get("title") or "")
        asked = AskOpened(
            ask=f"{self._session_id}:{number}",
            what=PERMISSION,
            title=title,
            text="\n\n".join(
                part for part in (title, "" if call_title in title else call_title, _content_text(call)) if part
            ),
            choices=(ALLOW, DENY),
            actions=calls.call_actions(call),
        )
        self._open_ask(asked, (number, params.get("options") or []))

    def _send_answer(self, ask: str, kept: Any, choice: str) -> None:
        number, options = kept
        wanted = "allow_once" if choice == ALLOW else "reject_once"
        option_id = next((option.get("optionId") for option in options if option.get("kind") == wanted), None)
        chosen = {"outcome": {"outcome": "selected", "optionId": option_id}} if option_id else _CANCELLED
        self._send_result(number, chosen)


def _wait_seconds(text: str) -> float | None:
    match = _WAIT.search(text)
    if match is None:
        return None
    return sum(float(number) * _SECONDS[unit.lower()] for number, unit in _PART.findall(match[1]))


def _content_text(update: dict[str, Any]) -> str:
    parts = [entry.get("content") or entry for entry in update.get("content") or () if isinstance(entry, dict)]
    return "\n".join(str(part.get("text") or part.get("path") or "") for part in parts if isinstance(part, dict))


CONVERSATION = GeminiConversation
