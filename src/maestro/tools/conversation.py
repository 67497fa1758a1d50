"""A conversation with an agent program, over pipes or a socket, without I/O: bytes in, events and bytes out.

The base class of all tools' conversations. It handles the common part: lines, waiting prompts and open asks.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from maestro.tools.conversation_events import (
    ALLOW,
    DENY,
    PERMISSION,
    START,
    AskOpened,
    AskWithdrawn,
    ConversationEvent,
    RateLimited,
    TranscriptText,
    TurnEnded,
)
from maestro.tools.policy import PermissionPolicy

_LINE_BYTES_MAX = 64 * 1024 * 1024  # a longer line is dropped
_PROMPTS_KNOWN_MAX = 1_000
WAITS_FOR_ANSWER = "it waits for the answer to its ask"


@dataclass(frozen=True)
class ConversationOpening:
    """The start parameters of a conversation. The field names are part of the runner's order."""

    prompt: str
    directory: str
    system_prompt: str = ""
    resumes: str | None = None  # the tool's own id of an earlier conversation
    model: str | None = None
    settings: dict[str, Any] | None = None  # tool-specific parameters, written by the tool's `launch.py`
    hooks: str = ""  # a folder of Maestro's own hooks, if the tool must be told to trust them
    skills: tuple[str, ...] = ()  # folders with skills, if the tool gets them over its protocol
    allow: tuple[str, ...] = ()
    rest: str = "ask"
    is_shared: bool = False  # the person joins the conversation with a second program


@dataclass(frozen=True)
class Prompt:
    """A text for the agent, with an id that the tool hands back."""

    id: str
    text: str


def echo_prompt(prompt: Prompt) -> TranscriptText:
    """Return a prompt as transcript text. A note replaces the first prompt, which is long and stored elsewhere."""
    return TranscriptText("> (start prompts)\n" if prompt.id == START else f"> {prompt.text}\n")


class Conversation:
    """The common part of every tool's conversation. Subclasses implement the tool's protocol."""

    def __init__(self, opening: ConversationOpening) -> None:
        self.opening = opening
        self.policy = PermissionPolicy(tuple(opening.allow), opening.rest, opening.directory)
        self.is_busy = False
        self.join_id = ""  # the id by which another program can join the conversation, once joining is possible
        self.open_asks: dict[str, Any] = {}  # open asks by the tool's id, with the data that the answer needs
        self._waiting_prompts: deque[Prompt] = deque()  # prompts that cannot be sent now
        self._known_prompts: dict[str, None] = {}  # ids of accepted prompts, so that no prompt is sent twice
        self._input = bytearray()
        self._output = bytearray()
        self._events: list[ConversationEvent] = []

    # For the runner

    def start_conversation(self) -> None:
        """Send the first messages of the protocol."""
        raise NotImplementedError

    def process_output(self, data: bytes) -> None:
        """Process output of the program. An incomplete line waits for its rest."""
        self._input += data
        for line in self._complete_lines():
            self._read_line(line)
            self._send_waiting_prompts()

    def take_events(self) -> list[ConversationEvent]:
        """Return and clear the events since the last call."""
        events, self._events = self._events, []
        return events

    def take_outgoing(self) -> bytes:
        """Return and clear the bytes to write to the program."""
        data = bytes(self._output)
        self._output.clear()
        return data

    def send_prompt(self, prompt: Prompt) -> str:
        """Send a prompt, or queue it and return the reason. A known prompt is not sent again."""
        if prompt.id in self._known_prompts:
            return self.wait_reason() if any(waiting.id == prompt.id for waiting in self._waiting_prompts) else ""
        self._known_prompts[prompt.id] = None
        while len(self._known_prompts) > _PROMPTS_KNOWN_MAX:
            del self._known_prompts[next(iter(self._known_prompts))]
        self._waiting_prompts.append(prompt)
        reason = self.wait_reason()
        self._send_waiting_prompts()
        return reason

    def is_known(self, prompt: Prompt) -> bool:
        """Tell whether the prompt was given before."""
        return prompt.id in self._known_prompts

    def answer_ask(self, ask: str, choice: str) -> bool:
        """Answer an ask. Return False if the tool no longer waits for the ask."""
        if ask not in self.open_asks:
            return False
        self._send_answer(ask, self.open_asks.pop(ask), choice)
        self._events.append(AskWithdrawn(ask))
        self._send_waiting_prompts()
        return True

    def interrupt_turn(self) -> None:
        """Interrupt the running turn. The conversation continues."""
        raise NotImplementedError

    @property
    def is_idle(self) -> bool:
        """Tell whether the program would start a new prompt at once."""
        return not self.is_busy and not self.open_asks and not self._waiting_prompts

    def wait_reason(self) -> str:
        """Return the reason why a prompt cannot be sent now, or ''."""
        return WAITS_FOR_ANSWER if self.open_asks else ""

    # For subclasses

    def _handle_message(self, message: dict[str, Any]) -> None:
        raise NotImplementedError

    def _send_prompt(self, prompt: Prompt) -> None:
        """Send a prompt now."""
        raise NotImplementedError

    def _send_answer(self, ask: str, kept: Any, choice: str) -> None:
        raise NotImplementedError

    def _is_open(self) -> bool:
        """Tell whether the tool is ready to take prompts."""
        return True

    def _write_message(self, message: dict[str, Any]) -> None:
        self._output += json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"

    def _emit(self, *events: ConversationEvent) -> None:
        self._events += events

    def _open_ask(self, asked: AskOpened, kept: Any) -> None:
        """Open an ask. The policy answers a permission if it can; otherwise the ask is reported."""
        self.open_asks[asked.ask] = kept
        is_allowed = self.policy.decide_actions(*asked.actions) if asked.what == PERMISSION else None
        if is_allowed is None:
            self._emit(TranscriptText(f"? {asked.title}\n"), asked)
            return
        del self.open_asks[asked.ask]
        self._emit(TranscriptText(f"{'allowed' if is_allowed else 'denied'} by the policy: {asked.title}\n"))
        self._send_answer(asked.ask, kept, ALLOW if is_allowed else DENY)

    def _withdraw_ask(self, ask: str) -> None:
        """Remove an ask that the tool no longer waits for."""
        if self.open_asks.pop(ask, None) is not None:
            self._emit(AskWithdrawn(ask))

    def _withdraw_all_asks(self) -> None:
        for ask in list(self.open_asks):
            self._withdraw_ask(ask)

    def _emit_rate_limit(self, until: float | None, detail: str) -> None:
        """Report a rate limit. The caller ends the turn afterwards and gives the problem there."""
        self._emit(RateLimited(until, detail))

    def _end_turn(self, ended: TurnEnded) -> None:
        self.is_busy = False
        self._withdraw_all_asks()
        if ended.problem:
            self._emit(TranscriptText(f"! {ended.problem}\n"))
        self._emit(ended)

    # Private to this class

    def _send_waiting_prompts(self) -> None:
        while self._waiting_prompts and self._is_open() and not self.wait_reason():
            self._send_prompt(self._waiting_prompts.popleft())

    def _complete_lines(self) -> Iterator[bytes]:
        while (end := self._input.find(b"\n")) >= 0:
            line = bytes(self._input[:end])
            del self._input[: end + 1]
            yield line
        if len(self._input) > _LINE_BYTES_MAX:
            self._input.clear()

    def _read_line(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if isinstance(message, dict):
            try:
                self._handle_message(message)
            except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
                # Another version of the program may use another format. The agent works on; the transcript shows it.
                self._emit(TranscriptText(f"! Maestro could not read this line ({error!r}): {line[:500]!r}\n"))
        else:
            # Programs print some errors as plain text.
            self._emit(TranscriptText(line.decode("utf-8", "replace") + "\n"))
