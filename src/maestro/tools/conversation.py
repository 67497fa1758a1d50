"""A conversation with an agent program over its pipes, without any I/O: bytes in, happenings and bytes out.

One class per tool fills this in. What is the same for all is here: lines, prompts that have to wait, open requests.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from maestro.tools.happenings import (
    ALLOW,
    DENY,
    PERMISSION,
    START,
    Asked,
    AskGone,
    Happening,
    RateLimited,
    Said,
    TurnEnded,
)
from maestro.tools.policy import Policy

_LINE_BYTES_MAX = 64 * 1024 * 1024  # a line that does not end is no line
_PROMPTS_KNOWN_MAX = 1_000
WAITS_FOR_ANSWER = "it waits for an answer to what it asked"


@dataclass(frozen=True)
class Opening:
    """What a conversation begins with."""

    prompt: str
    directory: str
    system_prompt: str = ""
    resumes: str | None = None  # the tool's own id of an earlier conversation
    model: str | None = None
    settings: dict[str, Any] | None = None  # what else this tool needs to know, as its `agent.py` wrote it
    hooks: str = ""  # a folder of ours, where the tool must be told to trust the hooks in it
    skills: tuple[str, ...] = ()  # folders in which the tool is to look for more, where it must be told so here
    allow: tuple[str, ...] = ()
    rest: str = "ask"
    is_shared: bool = False  # a person takes part, with a program of their own


@dataclass(frozen=True)
class Prompt:
    """Something to be said to the agent, under an id that the tool hands back."""

    id: str
    text: str


def echo(prompt: Prompt) -> Said:
    """What it was told, for the transcript. The first prompt is long, and to be had elsewhere."""
    return Said("> (its prompts)\n" if prompt.id == START else f"> {prompt.text}\n")


class Conversation:
    """The part that every tool's has in common. A tool's own says how each thing is spelt."""

    def __init__(self, opening: Opening) -> None:
        self.opening = opening
        self.policy = Policy(tuple(opening.allow), opening.rest, opening.directory)
        self.busy = False
        self.joinable = ""  # what another program can join it by, once it can
        self.asks: dict[str, Any] = {}  # by the tool's id, what its answer needs
        self._waiting: deque[Prompt] = deque()  # prompts that cannot be said now
        self._known: dict[str, None] = {}  # prompts that were given, so that none is said twice
        self._unread = bytearray()
        self._out = bytearray()
        self._happened: list[Happening] = []

    # For the runner

    def begin(self) -> None:
        """The first words."""
        raise NotImplementedError

    def feed(self, data: bytes) -> None:
        """What the program said, as far as it has come."""
        self._unread += data
        for line in self._lines():
            self._read(line)
            self._go_on()

    def happened(self) -> list[Happening]:
        """What has come of anything since this was last asked."""
        happened, self._happened = self._happened, []
        return happened

    def outgoing(self) -> bytes:
        """What is to be written to the program."""
        data = bytes(self._out)
        self._out.clear()
        return data

    def say(self, prompt: Prompt) -> str:
        """Tell the agent something; why that has to wait, if it has to. The same prompt again is not said again."""
        if prompt.id in self._known:
            return self.must_wait() if any(one.id == prompt.id for one in self._waiting) else ""
        self._known[prompt.id] = None
        while len(self._known) > _PROMPTS_KNOWN_MAX:
            del self._known[next(iter(self._known))]
        self._waiting.append(prompt)
        reason = self.must_wait()
        self._go_on()
        return reason

    def knows(self, prompt: Prompt) -> bool:
        """Whether this was given before."""
        return prompt.id in self._known

    def answer(self, ask: str, choice: str) -> bool:
        """The answer to what the tool asked; whether it still waits for it."""
        if ask not in self.asks:
            return False
        self._answer(ask, self.asks.pop(ask), choice)
        self._happened.append(AskGone(ask))
        self._go_on()
        return True

    def interrupt(self) -> None:
        """Stop what it does now; the conversation goes on."""
        raise NotImplementedError

    @property
    def is_idle(self) -> bool:
        """Whether it would take up something new at once."""
        return not self.busy and not self.asks and not self._waiting

    def must_wait(self) -> str:
        """Why a prompt cannot be said now."""
        return WAITS_FOR_ANSWER if self.asks else ""

    # For a tool's own

    def _take(self, message: dict[str, Any]) -> None:
        raise NotImplementedError

    def _tell(self, prompt: Prompt) -> None:
        """Say a prompt, now."""
        raise NotImplementedError

    def _answer(self, ask: str, kept: Any, choice: str) -> None:
        raise NotImplementedError

    def _is_open(self) -> bool:
        """Whether the tool is so far that it can be told something."""
        return True

    def _write(self, message: dict[str, Any]) -> None:
        self._out += json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"

    def _note(self, *happened: Happening) -> None:
        self._happened += happened

    def _ask(self, asked: Asked, kept: Any) -> None:
        """The tool asks: answered by the policy, or by whoever is asked."""
        self.asks[asked.ask] = kept
        decided = self.policy.decide(*asked.actions) if asked.what == PERMISSION else None
        if decided is None:
            self._note(Said(f"? {asked.title}\n"), asked)
            return
        del self.asks[asked.ask]
        self._note(Said(f"{'allowed' if decided else 'denied'} by its policy: {asked.title}\n"))
        self._answer(asked.ask, kept, ALLOW if decided else DENY)

    def _ask_gone(self, ask: str) -> None:
        """The tool no longer waits for an answer."""
        if self.asks.pop(ask, None) is not None:
            self._note(AskGone(ask))

    def _all_asks_gone(self) -> None:
        for ask in list(self.asks):
            self._ask_gone(ask)

    def _limited(self, until: float | None, detail: str) -> None:
        """The end of the turn, which follows, shows why."""
        self._note(RateLimited(until, detail))

    def _ended(self, ended: TurnEnded) -> None:
        self.busy = False
        self._all_asks_gone()
        if ended.problem:
            self._note(Said(f"! {ended.problem}\n"))
        self._note(ended)

    # Its own

    def _go_on(self) -> None:
        while self._waiting and self._is_open() and not self.must_wait():
            self._tell(self._waiting.popleft())

    def _lines(self) -> Iterator[bytes]:
        while (end := self._unread.find(b"\n")) >= 0:
            line = bytes(self._unread[:end])
            del self._unread[: end + 1]
            yield line
        if len(self._unread) > _LINE_BYTES_MAX:
            self._unread.clear()

    def _read(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if isinstance(message, dict):
            try:
                self._take(message)
            except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
                # Another version of the program may say things otherwise. The agent works on; a person can see it.
                self._note(Said(f"! this was not understood ({error!r}): {line[:500]!r}\n"))
        else:
            self._note(
                Said(line.decode("utf-8", "replace") + "\n")
            )  # a program that complains does so in plain words
