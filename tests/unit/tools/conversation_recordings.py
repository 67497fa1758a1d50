"""Recorded messages of real programs, and helpers that feed messages to a conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from maestro.tools.conversation import Conversation, ConversationOpening
from maestro.tools.conversation_events import ConversationEvent, TranscriptText

FOLDER = Path(__file__).parent / "recorded"


def opening(**more: Any) -> ConversationOpening:
    """Return the start of a conversation with the prompt "go" in the directory /work."""
    return ConversationOpening(prompt="go", directory="/work", **more)


def recorded_messages(tool: str) -> list[dict[str, Any]]:
    """Return the recorded messages of the real program of a tool."""
    return [json.loads(line) for line in (FOLDER / f"{tool}.jsonl").read_text().splitlines()]


def feed(conversation: Conversation, *messages: dict[str, Any]) -> list[ConversationEvent]:
    """Give messages of the program to a conversation. Return the resulting events."""
    conversation.process_output(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
    return conversation.take_events()


def sent_messages(conversation: Conversation) -> list[dict[str, Any]]:
    """Return and clear the messages for the program."""
    return [json.loads(line) for line in conversation.take_outgoing().splitlines()]


def reported(events: list[ConversationEvent]) -> list[ConversationEvent]:
    """Return the events that the runner reports: all events without texts for the transcript."""
    return [event for event in events if not isinstance(event, TranscriptText)]


def transcript(events: list[ConversationEvent]) -> str:
    """Return the transcript text of the events."""
    return "".join(event.text for event in events if isinstance(event, TranscriptText))
