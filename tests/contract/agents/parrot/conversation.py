"""The conversation with the parrot: a line of JSON for each message. The parrot answers each prompt with a line."""

from __future__ import annotations

from typing import Any

from maestro.tools.conversation import Conversation, Prompt, echo_prompt
from maestro.tools.conversation_events import (
    START,
    ConversationStarted,
    PushConfirmed,
    TranscriptText,
    TurnEnded,
    TurnStarted,
    Usage,
)


class ParrotConversation(Conversation):
    """A conversation with a running parrot."""

    def start_conversation(self) -> None:
        self._emit(ConversationStarted(self.opening.resumes or "the parrot's conversation"))
        self.send_prompt(Prompt(START, self.opening.prompt))

    def interrupt_turn(self) -> None:
        self._write_message({"interrupt": True})

    def _send_prompt(self, prompt: Prompt) -> None:
        self.is_busy = True
        self._write_message({"id": prompt.id, "prompt": prompt.text})
        self._emit(TurnStarted(), echo_prompt(prompt))

    def _handle_message(self, message: dict[str, Any]) -> None:
        self._emit(PushConfirmed(str(message["id"])), TranscriptText(f"{message['answer']}\n"))
        self._end_turn(TurnEnded(Usage(input_tokens=1, output_tokens=1)))

    def _send_answer(self, ask: str, kept: Any, choice: str) -> None:
        self._write_message({"ask": ask, "choice": choice})


CONVERSATION = ParrotConversation
