"""What the real programs said once, line by line; and playing it to a conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from maestro.tools.conversation import Conversation, Opening
from maestro.tools.happenings import Happening, Said

FOLDER = Path(__file__).parent / "recorded"


def opening(**more: Any) -> Opening:
    return Opening(prompt="go", directory="/work", **more)


def recorded(tool: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{tool}.jsonl").read_text().splitlines()]


def feed(talk: Conversation, *messages: dict[str, Any]) -> list[Happening]:
    talk.feed(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
    return talk.happened()


def written(talk: Conversation) -> list[dict[str, Any]]:
    """What it wants written to the program."""
    return [json.loads(line) for line in talk.outgoing().splitlines()]


def told(happened: list[Happening]) -> list[Happening]:
    """What is reported: all but what is only shown."""
    return [one for one in happened if not isinstance(one, Said)]


def shown(happened: list[Happening]) -> str:
    return "".join(one.text for one in happened if isinstance(one, Said))
