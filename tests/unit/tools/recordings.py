"""What the real programs said once, line by line; and playing it to a conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from maestro.tools.conversation import Conversation, ConversationOpening
from maestro.tools.conversation_events import ConversationEvent, TranscriptText

FOLDER = Path(__file__).parent / "recorded"


def opening(**more: Any) -> ConversationOpening:
    return ConversationOpening(prompt="go", directory="/work", **more)


def recorded(tool: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{tool}.jsonl").read_text().splitlines()]


def feed(talk: Conversation, *messages: dict[str, Any]) -> list[ConversationEvent]:
    talk.process_output(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
    return talk.take_events()


def written(talk: Conversation) -> list[dict[str, Any]]:
    """What it wants written to the program."""
    return [json.loads(line) for line in talk.take_outgoing().splitlines()]


def told(happened: list[ConversationEvent]) -> list[ConversationEvent]:
    """What is reported: all but what is only shown."""
    return [one for one in happened if not isinstance(one, TranscriptText)]


def shown(happened: list[ConversationEvent]) -> str:
    return "".join(one.text for one in happened if isinstance(one, TranscriptText))
