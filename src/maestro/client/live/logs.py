"""`session logs --follow`: the transcript as its runner writes it, until the agent ends."""

from __future__ import annotations

import json
import os
import select
from collections import deque
from collections.abc import Iterator

from maestro.client import thin
from maestro.client.live.link import Link
from maestro.text.terminal_text import Lines

_FILES = ("transcript-older.cast", "transcript.cast")
_QUIET_SECONDS = 0.3  # after so long an unfinished line is shown as far as it goes: it may be a question
_CHUNK = 1 << 20


def run(*, folder: str, name: str, tail: int | None, limit: int, json: bool, color: bool) -> int:
    """Tell everything from the transcript's end on, until there is no more to come."""
    transcript = Transcript(folder)
    told: _Told = _Events() if json else _Text(Lines(color=color))
    told.begin(transcript, tail=tail, limit=limit)
    try:
        code = _follow(folder, transcript, told)
    except KeyboardInterrupt:
        return thin.INTERRUPTED
    thin.put(1, told.end())
    if code is None:
        thin.put(2, os.fsencode(f"[{name} runs no more]\n"))
    else:
        thin.put(2, os.fsencode(f"[{name} has ended with exit code {code}]\n"))
    return 0


def _follow(folder: str, transcript: Transcript, told: _Told) -> int | None:
    """Its exit code, or None if nobody can say. The runner tells when there is more; what, is in the file."""
    try:
        link = Link(folder)
        link.ask(do="watch")
    except OSError:
        link = None
    while link is not None:
        thin.put(1, told.take(transcript.more()))
        while not (link.has_more or select.select([link], [], [], _QUIET_SECONDS if told.waits else None)[0]):
            thin.put(1, told.pause())
        try:
            ended = next((payload for kind, payload in link.frames() if kind == b"X"), None)
        except OSError:
            link.close()
            return _follow(folder, transcript, told)  # it lost patience with us, or is gone
        if ended is not None:
            thin.put(1, told.take(transcript.more()))
            return int(ended)
    thin.put(1, told.take(transcript.more()))
    return transcript.exit_code


class Transcript:
    """Reads the two halves of a transcript as one, also while they change places."""

    def __init__(self, folder: str) -> None:
        self.head = b""
        self.exit_code: int | None = None
        self._folder = folder
        self._file = -1
        self._part = b""
        self._waiting = [file for file in map(self._open, _FILES) if file >= 0]

    def more(self) -> Iterator[list[object]]:
        """What was written since: [seconds, kind, text]."""
        while True:
            if self._file < 0 and not self._next():
                return
            while data := os.read(self._file, _CHUNK):
                *lines, self._part = (self._part + data).split(b"\n")
                yield from self._events(lines)
            if not self._next():
                return

    def _events(self, lines: list[bytes]) -> Iterator[list[object]]:
        for line in lines:
            if line.startswith(b"{"):
                self.head = self.head or line
                continue
            try:
                event = json.loads(line)
            except ValueError:
                continue  # cut short by a full disk
            if event[1] == "m" and event[2].startswith("ended with "):
                word = event[2].rpartition(" ")[2]
                self.exit_code = int(word) if word.isdigit() else None
            yield event

    def _next(self) -> bool:
        """Goes on to the file that follows, if this one will not grow any more."""
        if not self._waiting:
            newest = self._open(_FILES[1])
            if newest < 0 or (self._file >= 0 and os.path.sameopenfile(newest, self._file)):
                if newest >= 0:
                    os.close(newest)
                return False
            # The one we have may have grown until the very moment in which it was put aside.
            self._waiting = [newest]
            return True
        if self._file >= 0:
            os.close(self._file)
        self._file = self._waiting.pop(0)
        self._part = b""
        return True

    def _open(self, name: str) -> int:
        try:
            return os.open(f"{self._folder}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return -1


class _Told:
    """How a transcript is told."""

    waits = False

    def begin(self, transcript: Transcript, *, tail: int | None, limit: int) -> None: ...

    def take(self, events: Iterator[list[object]]) -> bytes:
        raise NotImplementedError

    def pause(self) -> bytes:
        return b""

    def end(self) -> bytes:
        return b""


class _Text(_Told):
    """As lines of text."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    def begin(self, transcript: Transcript, *, tail: int | None, limit: int) -> None:
        text = "".join(str(event[2]) for event in transcript.more() if event[1] == "o")
        if tail is None and len(text) > limit:
            text = text[-limit:].partition("\n")[2]  # from the beginning of a line
        shown = self._lines.take(text)
        if tail is not None:
            shown = "".join(shown.splitlines(keepends=True)[-tail:]) if tail else ""
        self.waits = True
        thin.put(1, shown.encode("utf-8", "replace"))

    def take(self, events: Iterator[list[object]]) -> bytes:
        shown = "".join(self._lines.take(str(event[2])) for event in events if event[1] == "o")
        self.waits = True
        return shown.encode("utf-8", "replace")

    def pause(self) -> bytes:
        self.waits = False
        return self._lines.rest().encode("utf-8", "replace")

    def end(self) -> bytes:
        return self._lines.end().encode("utf-8", "replace")


class _Events(_Told):
    """As an asciicast: its head, then one event a line."""

    def begin(self, transcript: Transcript, *, tail: int | None, limit: int) -> None:
        events = transcript.more()
        last = deque(events, maxlen=tail)
        thin.put(1, transcript.head + b"\n" + self.take(iter(last)))

    def take(self, events: Iterator[list[object]]) -> bytes:
        return b"".join(json.dumps(event, ensure_ascii=False).encode("utf-8", "replace") + b"\n" for event in events)
