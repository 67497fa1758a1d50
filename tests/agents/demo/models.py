"""The models of the demo: the next answer of a model depends only on the requests to the model.

A part is a sequence of lines. A line is a function of all texts that the program has sent to the model. The line
returns None until the awaited text has come. Until then the model gives another answer: it works, or ends its turn.
"""

from __future__ import annotations

import html
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scripted_model import Answer, Call, Refuse, Say, Seen, Shell

from demo.story import Story

_LETTER = re.compile(r"<(?:mail|message) (?P<facts>id=[^>]*)>(?P<body>.*?)</(?:mail|message)>", re.DOTALL)
_FACT = re.compile(r'([\w-]+)="([^"]*)"')
_END = Say("That was it.")


@dataclass(frozen=True)
class Letter:
    """A message, as it appears in a request."""

    id: str
    sender: str
    subject: str
    body: str


@dataclass(frozen=True)
class Heard:
    """The knowledge of a model: all texts so far, and the new texts of this request."""

    all: str
    new: str

    def letter(self, subject: str) -> Letter | None:
        """Return the received message with this text in its subject, or None."""
        return next((one for one in letters(self.all) if subject in one.subject), None)

    def letter_from(self, sender: str) -> Letter | None:
        return next((one for one in letters(self.all) if one.sender == sender), None)


@dataclass(frozen=True)
class Line:
    """An action that a model takes when its condition is met, and the answer of the model until then."""

    does: Callable[[Heard], Answer | None]
    meanwhile: Answer = _END


class Part:
    """The model of a program."""

    def __init__(self, name: str, lines: Sequence[Line], story: Story) -> None:
        self._name = name
        self._lines = list(lines)
        self._story = story
        self._lock = threading.Lock()
        self._heard: list[str] = []
        self._answers: dict[int, Answer] = {}  # a repeated request gets the same answer
        self._read: set[str] = set()
        self._last: Answer | None = None

    def __call__(self, seen: Seen) -> Answer:
        with self._lock:
            if seen.turn not in self._answers:
                self._answers[seen.turn] = self._next(seen)
            return self._answers[seen.turn]

    def _next(self, seen: Seen) -> Answer:
        for one in letters(seen.newest):
            if one.id not in self._read:
                self._read.add(one.id)
                self._story.say(self._name, f"◂ {one.sender}: {one.subject} | {' '.join(one.body.split())}")
        self._heard.append(seen.newest)
        answer = self._lines[0].does(Heard("\n".join(self._heard), seen.newest)) if self._lines else _END
        if answer is None:
            answer = self._lines[0].meanwhile
        elif self._lines:
            self._lines.pop(0)
        if answer != self._last:  # a repeated answer is shown once
            self._story.say(self._name, told(answer))
        self._last = answer
        return answer


def letters(text: str) -> list[Letter]:
    """Return all messages in a text. Codex escapes the text of a stop hook once more for its model."""
    found = []
    text = html.unescape(text) if "&lt;mail " in text else text
    for match in _LETTER.finditer(text):
        facts = dict(_FACT.findall(match["facts"]))
        found.append(
            Letter(facts["id"], facts.get("from", "").split(" (")[0], facts.get("subject", ""), match["body"].strip())
        )
    return found


def told(answer: Answer) -> str:
    """Return an answer as a single line."""
    match answer:
        case Say(text):
            return f"“{text}”"
        case Shell(command):
            return "$ " + command.replace("\n", " ⏎ ")
        case Call(tool, arguments, server):
            shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items() if name != "content")
            return f"{server}.{tool}({shown})".lstrip(".")
        case Refuse(status):
            return f"refused: {status}"
