"""The conversation with Codex over `codex app-server`: JSON-RPC, a line per message.

A prompt starts a turn, or is steered into the running turn. Codex hands the prompt's id back with the message
(`clientId`). The model has read the prompt when its next item arrives. A prompt in the last moment of a turn enters
the conversation, but the model does not read it: then Maestro starts another turn for the prompt.
"""

from __future__ import annotations

from typing import Any

from maestro.tools.codex import asks
from maestro.tools.conversation import ConversationOpening, Prompt, echo_prompt
from maestro.tools.conversation_events import (
    ALLOW,
    START,
    ConversationStarted,
    PushConfirmed,
    TranscriptText,
    TurnEnded,
    TurnStarted,
    Usage,
)
from maestro.tools.rpc import RpcConversation

_CLIENT = {"name": "maestro", "title": "Maestro", "version": "0"}
_UNREAD = "Read and handle the message above: it arrived in the last moment of your turn."
_THREAD_CONFIG = "/<session-flags>/config.toml"  # Codex's name for the settings that a thread starts with
_OUTPUT_CHARS_MAX = 2_000
_LIMIT = "usageLimitExceeded"
_FULL = 100  # per cent


class CodexConversation(RpcConversation):
    """The conversation in one thread of an app-server."""

    versioned = False

    def __init__(self, opening: ConversationOpening) -> None:
        super().__init__(opening)
        self._thread_id = ""
        self._turn_id = ""  # the running turn, or ''
        self._is_turn_starting = False  # a turn is requested but not yet accepted
        self._sent_prompts: dict[str, Prompt] = {}  # by id: sent, but not yet in the conversation
        self._unconfirmed_prompts: list[str] = []  # in the conversation, but without a later item of the model
        self._changed_files: dict[str, tuple[str, ...]] = {}  # the files of running changes, by the item's id
        self._trusted_hooks: dict[str, Any] = {}  # Maestro's hooks, by Codex's key
        self._has_begun = False
        self._total_usage: dict[str, Any] = {}  # the last reported usage of the whole thread
        self._reset_at: float | None = None  # when the reached rate limit ends
        self._reported_usage: dict[str, Any] | None = None  # the part of the usage that is already reported

    def start_conversation(self) -> None:
        self._call_method("initialize", {"clientInfo": _CLIENT}, self._on_initialized, otherwise=self._on_failed)
        self.send_prompt(Prompt(START, self.opening.prompt))

    @property
    def is_idle(self) -> bool:
        return super().is_idle and not self._sent_prompts and not self._is_turn_starting

    def interrupt_turn(self) -> None:
        if self._turn_id:
            params = {"threadId": self._thread_id, "turnId": self._turn_id}
            self._call_method("turn/interrupt", params, _ignore_result, otherwise=_ignore_result)

    def _on_initialized(self, result: dict[str, Any]) -> None:
        self._send_notification("initialized")
        if self.opening.skills:
            params = {"extraRoots": list(self.opening.skills)}
            self._call_method("skills/extraRoots/set", params, self._list_hooks, otherwise=self._on_skills_refused)
        else:
            self._list_hooks({})

    def _on_skills_refused(self, error: dict[str, Any]) -> None:
        self._emit(TranscriptText(f"! Codex refuses the skills: {error.get('message')}\n"))
        self._list_hooks({})

    def _list_hooks(self, result: dict[str, Any]) -> None:
        if not self.opening.hooks:
            self._open_thread({})
            return
        params = {"cwds": [self.opening.hooks]}
        self._call_method("hooks/list", params, self._trust_own_hooks, otherwise=lambda error: self._open_thread({}))

    def _trust_own_hooks(self, result: dict[str, Any]) -> None:
        """Trust Maestro's own hooks in this thread. Codex runs no hooks that the person has not reviewed. Other hooks
        stay untrusted. Maestro's hooks also lie in the session's folder, so Codex reports their keys and hashes."""
        listed = [hook for entry in result.get("data") or () for hook in entry.get("hooks") or ()]
        own = [hook for hook in listed if str(hook.get("sourcePath")).startswith(f"{self.opening.hooks}/")]
        self._open_thread(
            {_hook_key_in_thread(str(hook["key"])): {"trusted_hash": hook["currentHash"]} for hook in own}
        )

    def _open_thread(self, trusted_hooks: dict[str, Any]) -> None:
        self._trusted_hooks = trusted_hooks
        if self.opening.resumes:
            params = {**self._thread_settings(), "threadId": self.opening.resumes, "excludeTurns": True}
            self._call_method("thread/resume", params, self._on_thread_opened, otherwise=self._on_resume_refused)
        else:
            self._call_method(
                "thread/start", self._thread_settings(), self._on_thread_opened, otherwise=self._on_failed
            )

    def _thread_settings(self) -> dict[str, Any]:
        opening = self.opening
        params: dict[str, Any] = {
            **(opening.settings or {}),
            "cwd": opening.directory,
            "developerInstructions": opening.system_prompt,
        }
        if self._trusted_hooks:
            params["config"] = {**params.get("config", {}), "hooks.state": self._trusted_hooks}
        return params | ({"model": opening.model} if opening.model else {})

    def _on_resume_refused(self, error: dict[str, Any]) -> None:
        self._emit(TranscriptText(f"! The earlier conversation cannot be resumed: {error.get('message')}\n"))
        self._call_method("thread/start", self._thread_settings(), self._on_thread_opened, otherwise=self._on_failed)

    def _on_thread_opened(self, result: dict[str, Any]) -> None:
        self._thread_id = str(result["thread"]["id"])

    def _on_failed(self, error: dict[str, Any]) -> None:
        self._end_turn(TurnEnded(problem=str(error.get("message") or error)))

    def _is_open(self) -> bool:
        return bool(self._thread_id) and not self._is_turn_starting

    def _send_prompt(self, prompt: Prompt) -> None:
        self._sent_prompts[prompt.id] = prompt
        content = [{"type": "text", "text": prompt.text}]
        params = {"threadId": self._thread_id, "clientUserMessageId": prompt.id, "input": content}
        if self._turn_id:
            steered = {**params, "expectedTurnId": self._turn_id}
            self._call_method(
                "turn/steer", steered, _ignore_result, otherwise=lambda error: self._on_steer_refused(prompt)
            )
            return
        self._is_turn_starting = True
        self._call_method("turn/start", params, self._on_turn_accepted, otherwise=self._on_turn_refused)

    def _on_steer_refused(self, prompt: Prompt) -> None:
        """Queue the prompt again: the turn ended before the prompt arrived."""
        if self._sent_prompts.pop(prompt.id, None) is not None:
            self._waiting_prompts.appendleft(prompt)

    def _on_turn_accepted(self, result: dict[str, Any]) -> None:
        self._is_turn_starting = False

    def _on_turn_refused(self, error: dict[str, Any]) -> None:
        self._is_turn_starting = False
        self._sent_prompts.clear()
        self._on_failed(error)

    # Notifications

    def _handle_notification(self, method: str, params: dict[str, Any]) -> None:
        if method == "account/rateLimits/updated":
            self._reset_at = _reset_at(params.get("rateLimits") or {})
            return
        if params.get("threadId") != self._thread_id:
            return  # Codex has threads of its own, for titles
        match method:
            case "turn/started":
                self._turn_id = str(params["turn"]["id"])
                self.is_busy = True
                self._emit(TurnStarted())
            case "turn/completed":
                self._handle_turn_completed(params["turn"])
            case "item/started" if params["item"].get("type") == "userMessage":
                self._handle_user_message(params["item"])
            case "item/started" | "item/completed":
                self._handle_item(params["item"], is_done=method == "item/completed")
            case "thread/tokenUsage/updated":
                self._update_usage(params["tokenUsage"]["total"])
            case "serverRequest/resolved":
                self._withdraw_ask(str(params.get("requestId")))
            case "error":
                self._handle_error(params)
            case _:
                pass

    def _handle_user_message(self, item: dict[str, Any]) -> None:
        self.join_id = self._thread_id  # a thread without a message cannot be joined
        prompt = self._sent_prompts.pop(str(item.get("clientId")), None)
        if prompt is None:
            return
        self._emit(echo_prompt(prompt))
        if self._turn_id:
            self._unconfirmed_prompts.append(prompt.id)
        else:
            self._waiting_prompts.append(Prompt(prompt.id, _UNREAD))

    def _handle_item(self, item: dict[str, Any], *, is_done: bool) -> None:
        kind = item.get("type")
        if kind in ("userMessage", "hookPrompt"):  # a `hookPrompt` is the text of a stop hook
            return
        self._confirm_prompts()
        if kind == "agentMessage" and is_done:
            self._emit(TranscriptText(f"{item.get('text', '')}\n"))
        elif kind == "commandExecution":
            output = str(item.get("aggregatedOutput") or "")[:_OUTPUT_CHARS_MAX]
            self._emit(TranscriptText(f"{output.rstrip()}\n" if is_done else f"→ {item.get('command')}\n"))
        elif kind == "mcpToolCall" and not is_done:
            self._emit(TranscriptText(f"→ {item.get('server')}.{item.get('tool')}\n"))
        elif kind == "fileChange":
            self._handle_file_change(str(item.get("id")), asks.files_of_change(item), is_done=is_done)

    def _handle_file_change(self, item: str, files: tuple[str, ...], *, is_done: bool) -> None:
        self._changed_files[item] = files
        if is_done:
            del self._changed_files[item]
            self._emit(TranscriptText(f"→ changes {', '.join(files)}\n"))

    def _confirm_prompts(self) -> None:
        if self._unconfirmed_prompts and not self._has_begun:
            self._has_begun = True
            self._emit(ConversationStarted(self._thread_id))
        self._emit(*(PushConfirmed(prompt) for prompt in self._unconfirmed_prompts))
        self._unconfirmed_prompts = []

    def _update_usage(self, total: dict[str, Any]) -> None:
        self._total_usage = total
        if self._reported_usage is None and not self._turn_id:
            self._reported_usage = total  # the usage of a resumed thread before this start is already reported

    def _handle_error(self, params: dict[str, Any]) -> None:
        error = params.get("error") or {}
        if not params.get("willRetry"):
            return  # the end of the turn repeats the error
        self._emit(TranscriptText(f"! {error.get('message')}\n"))

    def _handle_turn_completed(self, turn: dict[str, Any]) -> None:
        self._turn_id = ""
        self._changed_files.clear()
        error = turn.get("error") or {}
        before, now = self._reported_usage or {}, self._total_usage
        self._reported_usage = now
        cached = _difference(now, before, "cachedInputTokens")
        usage = Usage(
            input_tokens=max(_difference(now, before, "inputTokens") - cached, 0),
            output_tokens=_difference(now, before, "outputTokens"),
            cached_tokens=cached,
            model=self.opening.model or "",
        )
        if error.get("codexErrorInfo") == _LIMIT:
            self._emit_rate_limit(self._reset_at, str(error.get("message")))
        interrupted = turn.get("status") == "interrupted"
        self._end_turn(TurnEnded(usage, problem=str(error.get("message") or ""), interrupted=interrupted))
        unread, self._unconfirmed_prompts = self._unconfirmed_prompts, []
        if error or interrupted:
            self._sent_prompts.clear()  # steered prompts are lost; the sender sees them as unread
            return
        for prompt in unread:  # with the same id: the new turn confirms the prompt
            self._waiting_prompts.append(Prompt(prompt, _UNREAD))

    # Asks

    def _handle_request(self, number: Any, method: str, params: dict[str, Any]) -> None:
        ask, kept = str(number), (number, method, params)
        if method == asks.QUESTIONS:
            self._open_ask(asks.question_ask(ask, params), kept)
        elif method in asks.PERMISSIONS:
            files = self._changed_files.get(str(params.get("itemId")), ())
            self._open_ask(asks.permission_ask(ask, method, params, files), kept)
        elif not self.opening.is_shared:  # otherwise the person's own program may answer
            self._refuse_request(number, method)

    def _send_answer(self, ask: str, kept: Any, choice: str) -> None:
        number, method, params = kept
        is_allowed = choice == ALLOW
        if method == asks.QUESTIONS:
            self._send_result(number, asks.encode_answers(params, choice))
        elif method == asks.ELICITATION:
            self._send_result(
                number, {"action": "accept" if is_allowed else "decline", "content": {} if is_allowed else None}
            )
        elif method == asks.MORE_PERMISSIONS:
            granted = params.get("permissions") or {} if is_allowed else {}
            self._send_result(number, {"permissions": granted, "scope": "turn"})
        else:
            self._send_result(number, {"decision": "accept" if is_allowed else "decline"})


def _hook_key_in_thread(key: str) -> str:
    """Return the key of a hook, `FILE:EVENT:GROUP:INDEX`, as if the hook came from the thread's settings."""
    return ":".join([_THREAD_CONFIG, *key.rsplit(":", 3)[1:]])


def _reset_at(limits: dict[str, Any]) -> float | None:
    """Return when the last of the reached rate limits ends."""
    windows = [limits.get("primary") or {}, limits.get("secondary") or {}]
    full = [
        float(window["resetsAt"])
        for window in windows
        if (window.get("usedPercent") or 0) >= _FULL and window.get("resetsAt")
    ]
    return max(full, default=None)


def _difference(now: dict[str, Any], before: dict[str, Any], name: str) -> int:
    return max(int(now.get(name) or 0) - int(before.get(name) or 0), 0)


def _ignore_result(result: dict[str, Any]) -> None:
    pass


CONVERSATION = CodexConversation
