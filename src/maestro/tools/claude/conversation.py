"""Claude Code over stream-json: a line of JSON per message, both ways (`-p --input-format stream-json`).

A prompt has a uuid that the program hands back: `command_lifecycle` when it is queued and taken up, the message
itself when it is put into the conversation, also in the middle of a turn, after the tool call that runs. The model
has it with the next thing it says. What is a command of the program itself (`/compact`) no model answers: that is
done when its turn ends.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

from maestro.tools.claude.actions import FILES, action
from maestro.tools.claude.questions import answered, question
from maestro.tools.conversation import Conversation, Opening, Prompt, echo
from maestro.tools.happenings import (
    ALLOW,
    DENY,
    PERMISSION,
    PUT_ASIDE,
    QUESTION,
    START,
    Asked,
    Began,
    Said,
    TakenIn,
    TurnEnded,
    TurnStarted,
    Usage,
)

_NO_MODEL = "<synthetic>"
_LIMIT = "rate_limit"
_COMMAND = "<command-name>"  # what it hands back instead of the words that it took for one of its own commands
_GONE = "No conversation found"
_RESULT_CHARS_MAX = 2_000
_REFUSED = "The person who was asked said no."


class ClaudeConversation(Conversation):
    """One `claude -p` that stays."""

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self._prompts: dict[str, Prompt] = {}  # by uuid, what was said and is not in the conversation
        self._seen: list[str] = []  # put into the conversation; the model has not spoken since
        self._commands: set[str] = set()  # of these, what the program itself carries out
        self._conversation = ""  # as it was last called: another after `/clear`
        self._requests = 0
        self._is_limited = False  # the last request was one too many
        self._reset_at: float | None = None  # when there will be room for more, if its provider says so
        self._cost_usd = 0.0

    def begin(self) -> None:
        self._request({"subtype": "initialize"})
        self.say(Prompt(START, self.opening.prompt))

    def interrupt(self) -> None:
        self._request({"subtype": "interrupt"})

    @property
    def is_idle(self) -> bool:
        return super().is_idle and not self._prompts  # what it has queued becomes a turn of its own

    def _request(self, request: dict[str, Any]) -> None:
        self._requests += 1
        self._write({"type": "control_request", "request_id": f"maestro-{self._requests}", "request": request})

    def _tell(self, prompt: Prompt) -> None:
        # Never the same twice: one that a resumed conversation has seen would be passed over.
        known = str(uuid.uuid4())
        self._prompts[known] = prompt
        content = [{"type": "text", "text": prompt.text}]
        self._write({"type": "user", "uuid": known, "message": {"role": "user", "content": content}})
        self._start()

    def _start(self) -> None:
        if not self.busy:
            self.busy = True
            self._note(TurnStarted())

    def _take(self, message: dict[str, Any]) -> None:
        match message.get("type"):
            case "assistant":
                self._start()
                self._spoke(message)
            case "user":
                self._heard(message)
            case "result":
                self._finished(message)
            case "control_request":
                self._asked(message)
            case "control_cancel_request":
                self._ask_gone(str(message.get("request_id")))
            case "command_lifecycle" if message.get("state") == "started":
                self._start()
            case "rate_limit_event":
                self._limit(message.get("rate_limit_info") or {})
            case _:
                pass

    def _spoke(self, message: dict[str, Any]) -> None:
        if (message.get("message") or {}).get("model") == _NO_MODEL:
            # The program itself, in the place of a model that could not be reached: the result says it again.
            self._is_limited = self._is_limited or message.get("error") == _LIMIT
            return
        if message.get("session_id", self._conversation) != self._conversation:
            self._conversation = str(message["session_id"])
            self._note(Began(self._conversation))
        self._note(*(TakenIn(prompt) for prompt in self._seen))
        self._seen = []
        for block in _blocks(message):
            if block.get("type") == "text":
                self._note(Said(f"{block.get('text', '')}\n"))
            elif block.get("type") == "tool_use":
                self._note(Said(f"→ {_call(str(block.get('name')), block.get('input') or {})}\n"))

    def _heard(self, message: dict[str, Any]) -> None:
        if message.get("isReplay"):
            prompt = self._prompts.pop(str(message.get("uuid")), None)
            if prompt is not None:
                self._seen.append(prompt.id)
                if _text((message.get("message") or {}).get("content")).startswith(_COMMAND):
                    self._commands.add(prompt.id)
                self._note(echo(prompt))
            return
        for block in _blocks(message):
            if block.get("type") == "tool_result":
                self._note(Said(f"{_shortened(_text(block.get('content')))}\n"))

    def _finished(self, message: dict[str, Any]) -> None:
        failed = bool(message.get("is_error"))
        problem = str(message.get("result") or "; ".join(map(str, message.get("errors") or ()))) if failed else ""
        interrupted = failed and not problem
        if _GONE in problem and not self._conversation:
            self._note(Began(""))  # it ends now; the next start is a new conversation
        total = message.get("total_cost_usd")
        cost = None
        if isinstance(total, int | float):
            cost, self._cost_usd = max(float(total) - self._cost_usd, 0.0), float(total)
        usage = message.get("usage") or {}
        done = [prompt for prompt in self._seen if prompt in self._commands]
        if done and not failed:
            self._note(*(TakenIn(prompt) for prompt in done), Said(f"{message.get('result') or 'done'}\n"))
        self._seen = []  # a turn that failed: nobody knows that the model has it
        self._commands.clear()
        if failed and self._is_limited:
            self._limited(self._reset_at, problem)
        self._is_limited, self._reset_at = False, None
        self._ended(
            TurnEnded(
                Usage(
                    input_tokens=_number(usage, "input_tokens") + _number(usage, "cache_creation_input_tokens"),
                    output_tokens=_number(usage, "output_tokens"),
                    cached_tokens=_number(usage, "cache_read_input_tokens"),
                    cost_usd=cost,
                    model=next(iter(message.get("modelUsage") or {}), ""),
                ),
                problem=problem,
                interrupted=interrupted,
            )
        )

    def _limit(self, told: dict[str, Any]) -> None:
        until = told.get("resetsAt")
        if told.get("status") == "rejected" and isinstance(until, int | float):  # else it is a warning
            self._is_limited, self._reset_at = True, float(until)

    # What it asks

    def _asked(self, message: dict[str, Any]) -> None:
        request, ask = message.get("request") or {}, str(message.get("request_id"))
        if request.get("subtype") != "can_use_tool":
            return
        tool, given = str(request.get("tool_name")), request.get("input") or {}
        if asks := question(tool, given):
            self._ask(Asked(ask, QUESTION, asks.title, asks.text, asks.choices), (True, given))
            return
        asked = Asked(
            ask=ask,
            what=PERMISSION,
            title=_call(tool, given),
            text=json.dumps(given, ensure_ascii=False, indent=1),
            choices=(ALLOW, DENY),
            actions=(action(tool, given),),
        )
        self._ask(asked, (False, given))

    def _answer(self, ask: str, kept: Any, choice: str) -> None:
        is_question, given = kept
        answer: dict[str, Any]
        if is_question and choice != PUT_ASIDE:
            answer = {"behavior": "allow", "updatedInput": answered(given, choice)}
        elif not is_question and choice == ALLOW:
            answer = {"behavior": "allow", "updatedInput": given}
        else:
            answer = {"behavior": "deny", "message": _REFUSED}
        response = {"subtype": "success", "request_id": ask, "response": answer}
        self._write({"type": "control_response", "response": response})


def _call(tool: str, given: dict[str, Any]) -> str:
    said = given.get("command") or next((given[name] for name in FILES if given.get(name)), "")
    return f"{tool}: {_shortened(str(said))}" if said else tool


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = (message.get("message") or {}).get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content or () if isinstance(block, dict)]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in content or () if isinstance(block, dict))


def _shortened(text: str) -> str:
    return text if len(text) <= _RESULT_CHARS_MAX else f"{text[:_RESULT_CHARS_MAX]}…"


def _number(found: dict[str, Any], name: str) -> int:
    value = found.get(name)
    return int(value) if isinstance(value, int | float) else 0


TALK = ClaudeConversation
