"""Codex over `codex app-server`: JSON-RPC, a line per message.

A prompt starts a turn, or is steered into the one that runs; the program hands its id back with the message
(`clientId`), and the model has it with the next item of its own. One that came in the last moment of a turn is put
into the conversation without anybody reading it: then another turn is started for it.
"""

from __future__ import annotations

from typing import Any

from maestro.tools.codex import asks
from maestro.tools.conversation import Opening, Prompt, echo
from maestro.tools.happenings import ALLOW, START, Began, Said, TakenIn, TurnEnded, TurnStarted, Usage
from maestro.tools.rpc import RpcConversation

_CLIENT = {"name": "maestro", "title": "Maestro", "version": "0"}
_UNREAD = "Take up the message above: it came in the last moment of your turn."
_OF_THREAD = "/<session-flags>/config.toml"  # what the program calls the settings that a thread is begun with
_OUTPUT_CHARS_MAX = 2_000
_LIMIT = "usageLimitExceeded"
_FULL = 100  # per cent


class CodexConversation(RpcConversation):
    """One thread of one app-server."""

    versioned = False

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self._thread = ""
        self._turn = ""  # the one that runs
        self._starting = False  # a turn was asked for
        self._said: dict[str, Prompt] = {}  # handed over, not in the conversation
        self._seen: list[str] = []  # in the conversation; the model has not spoken since
        self._changes: dict[str, tuple[str, ...]] = {}  # the files of changes that are under way, by the item's id
        self._vouched: dict[str, Any] = {}  # hooks that are to run, by what the program calls them
        self._has_begun = False
        self._usage: dict[str, Any] = {}  # all of the thread, as it was last told
        self._reset_at: float | None = None  # when there will be room for more, of a limit that is reached
        self._counted: dict[str, Any] | None = None  # as much of it as was told on

    def begin(self) -> None:
        self._call("initialize", {"clientInfo": _CLIENT}, self._initialized, otherwise=self._failed)
        self.say(Prompt(START, self.opening.prompt))

    @property
    def is_idle(self) -> bool:
        return super().is_idle and not self._said and not self._starting

    def interrupt(self) -> None:
        if self._turn:
            params = {"threadId": self._thread, "turnId": self._turn}
            self._call("turn/interrupt", params, _nothing, otherwise=_nothing)

    def _initialized(self, told: dict[str, Any]) -> None:
        self._notify("initialized")
        if self.opening.skills:
            params = {"extraRoots": list(self.opening.skills)}
            self._call("skills/extraRoots/set", params, self._look_at_hooks, otherwise=self._without_skills)
        else:
            self._look_at_hooks({})

    def _without_skills(self, error: dict[str, Any]) -> None:
        self._note(Said(f"! it takes no skills: {error.get('message')}\n"))
        self._look_at_hooks({})

    def _look_at_hooks(self, told: dict[str, Any]) -> None:
        if not self.opening.hooks:
            self._open({})
            return
        params = {"cwds": [self.opening.hooks]}
        self._call("hooks/list", params, self._vouch, otherwise=lambda error: self._open({}))

    def _vouch(self, told: dict[str, Any]) -> None:
        """It runs no hooks that its person has not reviewed. Maestro's own are vouched for, in this thread; the
        others stay as they are. They lie in the session's folder too, so that it tells by what they are known."""
        found = [hook for place in told.get("data") or () for hook in place.get("hooks") or ()]
        ours = [one for one in found if str(one.get("sourcePath")).startswith(f"{self.opening.hooks}/")]
        self._open({_in_thread(str(one["key"])): {"trusted_hash": one["currentHash"]} for one in ours})

    def _open(self, vouched: dict[str, Any]) -> None:
        self._vouched = vouched
        if self.opening.resumes:
            params = {**self._settings(), "threadId": self.opening.resumes, "excludeTurns": True}
            self._call("thread/resume", params, self._opened, otherwise=self._not_resumed)
        else:
            self._call("thread/start", self._settings(), self._opened, otherwise=self._failed)

    def _settings(self) -> dict[str, Any]:
        opening = self.opening
        params: dict[str, Any] = {
            **(opening.settings or {}),
            "cwd": opening.directory,
            "developerInstructions": opening.system_prompt,
        }
        if self._vouched:
            params["config"] = {**params.get("config", {}), "hooks.state": self._vouched}
        return params | ({"model": opening.model} if opening.model else {})

    def _not_resumed(self, error: dict[str, Any]) -> None:
        self._note(Said(f"! its earlier conversation is not to be had: {error.get('message')}\n"))
        self._call("thread/start", self._settings(), self._opened, otherwise=self._failed)

    def _opened(self, told: dict[str, Any]) -> None:
        self._thread = str(told["thread"]["id"])

    def _failed(self, error: dict[str, Any]) -> None:
        self._ended(TurnEnded(problem=str(error.get("message") or error)))

    def _is_open(self) -> bool:
        return bool(self._thread) and not self._starting

    def _tell(self, prompt: Prompt) -> None:
        self._said[prompt.id] = prompt
        content = [{"type": "text", "text": prompt.text}]
        params = {"threadId": self._thread, "clientUserMessageId": prompt.id, "input": content}
        if self._turn:
            steered = {**params, "expectedTurnId": self._turn}
            self._call("turn/steer", steered, _nothing, otherwise=lambda error: self._not_steered(prompt))
            return
        self._starting = True
        self._call("turn/start", params, self._turn_given, otherwise=self._not_started)

    def _not_steered(self, prompt: Prompt) -> None:
        """The turn ended in between."""
        if self._said.pop(prompt.id, None) is not None:
            self._waiting.appendleft(prompt)

    def _turn_given(self, told: dict[str, Any]) -> None:
        self._starting = False

    def _not_started(self, error: dict[str, Any]) -> None:
        self._starting = False
        self._said.clear()
        self._failed(error)

    # What it tells

    def _noticed(self, method: str, params: dict[str, Any]) -> None:
        if method == "account/rateLimits/updated":
            self._reset_at = _reset_at(params.get("rateLimits") or {})
            return
        if params.get("threadId") != self._thread:
            return  # it has threads of its own, for titles
        match method:
            case "turn/started":
                self._turn = str(params["turn"]["id"])
                self.busy = True
                self._note(TurnStarted())
            case "turn/completed":
                self._completed(params["turn"])
            case "item/started" if params["item"].get("type") == "userMessage":
                self._heard(params["item"])
            case "item/started" | "item/completed":
                self._item(params["item"], is_done=method == "item/completed")
            case "thread/tokenUsage/updated":
                self._counts(params["tokenUsage"]["total"])
            case "serverRequest/resolved":
                self._ask_gone(str(params.get("requestId")))
            case "error":
                self._complained(params)
            case _:
                pass

    def _heard(self, item: dict[str, Any]) -> None:
        self.joinable = self._thread  # one without a word cannot be joined
        prompt = self._said.pop(str(item.get("clientId")), None)
        if prompt is None:
            return
        self._note(echo(prompt))
        if self._turn:
            self._seen.append(prompt.id)
        else:
            self._waiting.append(Prompt(prompt.id, _UNREAD))

    def _item(self, item: dict[str, Any], *, is_done: bool) -> None:
        kind = item.get("type")
        if kind in ("userMessage", "hookPrompt"):  # the latter is what a hook said at its stop
            return
        self._taken_in()
        if kind == "agentMessage" and is_done:
            self._note(Said(f"{item.get('text', '')}\n"))
        elif kind == "commandExecution":
            output = str(item.get("aggregatedOutput") or "")[:_OUTPUT_CHARS_MAX]
            self._note(Said(f"{output.rstrip()}\n" if is_done else f"→ {item.get('command')}\n"))
        elif kind == "mcpToolCall" and not is_done:
            self._note(Said(f"→ {item.get('server')}.{item.get('tool')}\n"))
        elif kind == "fileChange":
            self._changed(str(item.get("id")), asks.files(item), is_done=is_done)

    def _changed(self, item: str, files: tuple[str, ...], *, is_done: bool) -> None:
        self._changes[item] = files
        if is_done:
            del self._changes[item]
            self._note(Said(f"→ changes {', '.join(files)}\n"))

    def _taken_in(self) -> None:
        if self._seen and not self._has_begun:
            self._has_begun = True
            self._note(Began(self._thread))
        self._note(*(TakenIn(prompt) for prompt in self._seen))
        self._seen = []

    def _counts(self, total: dict[str, Any]) -> None:
        self._usage = total
        if self._counted is None and not self._turn:
            self._counted = total  # of a thread that was resumed: told on already, back then

    def _complained(self, params: dict[str, Any]) -> None:
        error = params.get("error") or {}
        if not params.get("willRetry"):
            return  # the end of the turn says it again
        self._note(Said(f"! {error.get('message')}\n"))

    def _completed(self, turn: dict[str, Any]) -> None:
        self._turn = ""
        self._changes.clear()
        error = turn.get("error") or {}
        before, now = self._counted or {}, self._usage
        self._counted = now
        cached = _more(now, before, "cachedInputTokens")
        usage = Usage(
            input_tokens=max(_more(now, before, "inputTokens") - cached, 0),
            output_tokens=_more(now, before, "outputTokens"),
            cached_tokens=cached,
            model=self.opening.model or "",
        )
        if error.get("codexErrorInfo") == _LIMIT:
            self._limited(self._reset_at, str(error.get("message")))
        interrupted = turn.get("status") == "interrupted"
        self._ended(TurnEnded(usage, problem=str(error.get("message") or ""), interrupted=interrupted))
        unread, self._seen = self._seen, []
        if error or interrupted:
            self._said.clear()  # what was steered into it is gone; whoever sent it sees that it is unread
            return
        for prompt in unread:  # under the same id: it is this turn that takes it in
            self._waiting.append(Prompt(prompt, _UNREAD))

    # What it asks

    def _requested(self, number: Any, method: str, params: dict[str, Any]) -> None:
        ask, kept = str(number), (number, method, params)
        if method == asks.QUESTIONS:
            self._ask(asks.question(ask, params), kept)
        elif method in asks.PERMISSIONS:
            files = self._changes.get(str(params.get("itemId")), ())
            self._ask(asks.permission(ask, method, params, files), kept)
        elif not self.opening.is_shared:  # else the person's own program may know
            self._refuse(number, method)

    def _answer(self, ask: str, kept: Any, choice: str) -> None:
        number, method, params = kept
        allowed = choice == ALLOW
        if method == asks.QUESTIONS:
            self._reply(number, asks.answers(params, choice))
        elif method == asks.ELICITATION:
            self._reply(number, {"action": "accept" if allowed else "decline", "content": {} if allowed else None})
        elif method == asks.MORE:
            granted = params.get("permissions") or {} if allowed else {}
            self._reply(number, {"permissions": granted, "scope": "turn"})
        else:
            self._reply(number, {"decision": "accept" if allowed else "decline"})


def _in_thread(key: str) -> str:
    """A hook's name, `FILE:EVENT:GROUP:PLACE`, as it is where the thread brings it."""
    return ":".join([_OF_THREAD, *key.rsplit(":", 3)[1:]])


def _reset_at(told: dict[str, Any]) -> float | None:
    """When the last of the limits that are reached is over."""
    windows = [told.get("primary") or {}, told.get("secondary") or {}]
    full = [
        float(one["resetsAt"]) for one in windows if (one.get("usedPercent") or 0) >= _FULL and one.get("resetsAt")
    ]
    return max(full, default=None)


def _more(now: dict[str, Any], before: dict[str, Any], name: str) -> int:
    return max(int(now.get(name) or 0) - int(before.get(name) or 0), 0)


def _nothing(told: dict[str, Any]) -> None:
    pass


TALK = CodexConversation
