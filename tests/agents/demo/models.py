"""The models: what one does next follows from what stands in its requests, and from nothing else.

A part is a row of lines. Each is a function of all that its program has told the model so far; it answers None as long
as what it waits for has not come, and meanwhile the model does something else: works on, or ends its turn.
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
    """Mail, as it stands in a request."""

    id: str
    sender: str
    subject: str
    body: str


@dataclass(frozen=True)
class Heard:
    """What a model knows: all that came before, and what is new in this request."""

    all: str
    new: str

    def letter(self, subject: str) -> Letter | None:
        """Mail with this in its subject, if any has come."""
        return next((one for one in letters(self.all) if subject in one.subject), None)

    def letter_from(self, sender: str) -> Letter | None:
        return next((one for one in letters(self.all) if one.sender == sender), None)


@dataclass(frozen=True)
class Line:
    """What is done once it is time for it, and what until then."""

    does: Callable[[Heard], Answer | None]
    meanwhile: Answer = _END


class Part:
    """One program's model."""

    def __init__(self, name: str, lines: Sequence[Line], story: Story) -> None:
        self._name = name
        self._lines = list(lines)
        self._story = story
        self._lock = threading.Lock()
        self._heard: list[str] = []
        self._answers: dict[int, Answer] = {}  # a program that asks again is told the same
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
        if answer != self._last:  # what is done again and again is said once
            self._story.say(self._name, told(answer))
        self._last = answer
        return answer


def letters(text: str) -> list[Letter]:
    """All mail in a text. What a hook says at codex's stop comes to its model escaped once more."""
    found = []
    text = html.unescape(text) if "&lt;mail " in text else text
    for match in _LETTER.finditer(text):
        facts = dict(_FACT.findall(match["facts"]))
        found.append(
            Letter(facts["id"], facts.get("from", "").split(" (")[0], facts.get("subject", ""), match["body"].strip())
        )
    return found


def told(answer: Answer) -> str:
    """An answer on one line."""
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
