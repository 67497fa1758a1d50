"""Gemini CLI over `gemini --acp` (Agent Client Protocol): JSON-RPC, a line per message.

A second prompt cancels the one that runs. So each waits here for the end of the one before, and whoever sent it is
told. It hands no prompt back: that the model has one is known from what the program tells while it carries it out.
"""

from __future__ import annotations

import re
import time
from typing import Any

from maestro.tools.conversation import Opening, Prompt, echo
from maestro.tools.gemini import calls
from maestro.tools.happenings import (
    ALLOW,
    DENY,
    PERMISSION,
    START,
    Asked,
    Began,
    Said,
    TakenIn,
    TurnEnded,
    TurnStarted,
    Usage,
)
from maestro.tools.rpc import RpcConversation

_ONE_AT_A_TIME = "it works, and takes one prompt after another"
_OUTPUT_CHARS_MAX = 2_000
_CANCELLED = {"outcome": {"outcome": "cancelled"}}
_TOO_MANY = 429
# How long a limit lasts is told in words alone: "retry after 600s", "Your quota will reset after 3h20m5.1s".
_WAIT = re.compile(r"\b(?:retry|reset) (?:in|after) ((?:[0-9]+(?:\.[0-9]+)?(?:h|ms|m|s))+)", re.IGNORECASE)
_PART = re.compile(r"([0-9.]+)(h|ms|m|s)", re.IGNORECASE)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


class GeminiConversation(RpcConversation):
    """One session of one program."""

    clock = staticmethod(time.time)

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self._session = ""
        self._is_ready = False
        self._prompt: Prompt | None = None  # the one that is carried out
        self._is_taken_in = False
        self._has_begun = False
        self._is_at_line_start = True  # of the transcript

    def begin(self) -> None:
        self._call(
            "initialize", {"protocolVersion": 1, "clientCapabilities": {}}, self._initialized, otherwise=self._failed
        )
        self.say(Prompt(START, self.opening.prompt))

    def must_wait(self) -> str:
        return super().must_wait() or (_ONE_AT_A_TIME if self.busy else "")

    def interrupt(self) -> None:
        if not self._prompt:
            return
        self._notify("session/cancel", {"sessionId": self._session})
        for ask in list(self.asks):  # it would wait for its answers before it stops
            number, _ = self.asks[ask]
            self._reply(number, _CANCELLED)
            self._ask_gone(ask)

    # The beginning

    def _initialized(self, told: dict[str, Any]) -> None:
        if self.opening.resumes:
            self._session = self.opening.resumes
            params = {**self._place(), "sessionId": self._session}
            self._call("session/load", params, self._opened, otherwise=self._not_resumed)
        else:
            self._call("session/new", self._place(), self._opened, otherwise=self._failed)

    def _place(self) -> dict[str, Any]:
        return {"cwd": self.opening.directory, "mcpServers": (self.opening.settings or {}).get("mcpServers", [])}

    def _not_resumed(self, error: dict[str, Any]) -> None:
        self._note(Said(f"! its earlier conversation is not to be had: {error.get('message')}\n"))
        self._session = ""
        self._call("session/new", self._place(), self._opened, otherwise=self._failed)

    def _opened(self, told: dict[str, Any]) -> None:
        self._session = self._session or str(told["sessionId"])
        mode = (self.opening.settings or {}).get("mode")
        if mode:
            params = {"sessionId": self._session, "modeId": mode}
            self._call("session/set_mode", params, self._ready, otherwise=self._failed)
        else:
            self._ready({})

    def _ready(self, told: dict[str, Any]) -> None:
        self._is_ready = True

    def _failed(self, error: dict[str, Any]) -> None:
        self._ended(TurnEnded(problem=str(error.get("message") or error)))

    def _is_open(self) -> bool:
        return self._is_ready

    # Prompts

    def _tell(self, prompt: Prompt) -> None:
        self._prompt, self._is_taken_in, self.busy = prompt, False, True
        self._note(TurnStarted(), echo(prompt))
        self._call(
            "session/prompt",
            {"sessionId": self._session, "prompt": [{"type": "text", "text": prompt.text}]},
            self._done,
            otherwise=self._broken,
        )

    def _done(self, told: dict[str, Any]) -> None:
        interrupted = told.get("stopReason") == "cancelled"
        counted = ((told.get("_meta") or {}).get("quota") or {}).get("token_count") or {}
        if counted.get("input_tokens"):
            self._taken_in()
        self._end_line()
        self._prompt = None
        models = ((told.get("_meta") or {}).get("quota") or {}).get("model_usage") or ()
        usage = Usage(
            input_tokens=int(counted.get("input_tokens") or 0),
            output_tokens=int(counted.get("output_tokens") or 0),
            model=str(models[0].get("model", "")) if models else "",
        )
        self._ended(TurnEnded(usage if counted else None, interrupted=interrupted))

    def _broken(self, error: dict[str, Any]) -> None:
        self._prompt = None
        self._end_line()
        said = str((error.get("data") or {}).get("details") or error.get("message") or error)
        if error.get("code") == _TOO_MANY:
            wait = _wait_seconds(said)
            self._limited(None if wait is None else self.clock() + wait, said)
        self._ended(TurnEnded(problem=said))

    def _taken_in(self) -> None:
        if self._prompt is None or self._is_taken_in:
            return
        self._is_taken_in = True
        if not self._has_begun:
            self._has_begun = True
            self._note(Began(self._session))
        self._note(TakenIn(self._prompt.id))

    # What it tells

    def _noticed(self, method: str, params: dict[str, Any]) -> None:
        update = params.get("update") or {}
        # What comes before the first prompt is an earlier conversation, told again.
        if method != "session/update" or self._prompt is None:
            return
        kind = update.get("sessionUpdate")
        if kind == "agent_message_chunk":
            self._taken_in()
            self._is_at_line_start = False
            self._note(Said(str((update.get("content") or {}).get("text", ""))))
        elif kind in ("tool_call", "tool_call_update"):
            self._taken_in()
            self._end_line()
            if kind == "tool_call":
                self._note(Said(f"→ {update.get('title')}\n"))
            if update.get("status") in ("completed", "failed"):
                self._note(Said(f"{_text(update)[:_OUTPUT_CHARS_MAX]}\n"))
        elif kind == "agent_thought_chunk":
            self._taken_in()

    def _end_line(self) -> None:
        if not self._is_at_line_start:
            self._note(Said("\n"))
            self._is_at_line_start = True

    # What it asks

    def _requested(self, number: Any, method: str, params: dict[str, Any]) -> None:
        if method != "session/request_permission":
            self._refuse(number, method)
            return
        self._taken_in()
        self._end_line()
        call = params.get("toolCall") or {}
        title, said = calls.title(call), str(call.get("title") or "")
        asked = Asked(
            ask=f"{self._session}:{number}",
            what=PERMISSION,
            title=title,
            text="\n\n".join(one for one in (title, "" if said in title else said, _text(call)) if one),
            choices=(ALLOW, DENY),
            actions=calls.actions(call),
        )
        self._ask(asked, (number, params.get("options") or []))

    def _answer(self, ask: str, kept: Any, choice: str) -> None:
        number, options = kept
        wanted = "allow_once" if choice == ALLOW else "reject_once"
        found = next((one.get("optionId") for one in options if one.get("kind") == wanted), None)
        chosen = {"outcome": {"outcome": "selected", "optionId": found}} if found else _CANCELLED
        self._reply(number, chosen)


def _wait_seconds(said: str) -> float | None:
    found = _WAIT.search(said)
    if found is None:
        return None
    return sum(float(number) * _SECONDS[unit.lower()] for number, unit in _PART.findall(found[1]))


def _text(update: dict[str, Any]) -> str:
    parts = [one.get("content") or one for one in update.get("content") or () if isinstance(one, dict)]
    return "\n".join(str(part.get("text") or part.get("path") or "") for part in parts if isinstance(part, dict))


TALK = GeminiConversation
