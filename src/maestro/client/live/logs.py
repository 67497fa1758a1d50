"""`session logs --follow`: print the transcript while the runner writes it, until the program ends."""

from __future__ import annotations

import json
import os
import select
from collections import deque
from collections.abc import Iterator

from maestro.client import main
from maestro.client.live.link import RunnerLink
from maestro.text.terminal_text import TerminalLines
from maestro.wire import exit_codes, frames, runner_folder, runner_requests

_QUIET_SECONDS = 0.3  # after this time an unfinished line is printed: the line may be a question
_CHUNK = 1 << 20


def run(*, folder: str, name: str, tail: int | None, limit: int, json: bool, color: bool) -> int:
    """Print the last `tail` lines of the transcript, or its last `limit` characters, and new output until the end."""
    transcript = TranscriptReader(folder)
    printer: _Printer = _EventPrinter() if json else _TextPrinter(TerminalLines(color=color))
    printer.print_start(transcript, tail=tail, limit=limit)
    try:
        code = _follow_transcript(folder, transcript, printer)
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED
    main.write_all(1, printer.format_end())
    if code is None:
        main.write_all(2, os.fsencode(f"[{name} does not run any more]\n"))
    else:
        main.write_all(2, os.fsencode(f"[{name} has ended with exit code {code}]\n"))
    return 0


def _follow_transcript(folder: str, transcript: TranscriptReader, printer: _Printer) -> int | None:
    """Print new events until the program ends; return its exit code, or None if unknown.

    The runner only reports that the transcript has grown; the text is in the file.
    """
    try:
        link = RunnerLink(folder)
        link.send_request(do=runner_requests.WATCH)
    except OSError:
        link = None
    while link is not None:
        main.write_all(1, printer.format_events(transcript.new_events()))
        while not (link.has_more or select.select([link], [], [], _QUIET_SECONDS if printer.waits else None)[0]):
            main.write_all(1, printer.format_unfinished())
        try:
            ended = next((payload for kind, payload in link.receive_frames() if kind == frames.EXIT), None)
        except OSError:
            link.close()
            return _follow_transcript(folder, transcript, printer)  # this reader was too slow, or the runner is gone
        if ended is not None:
            main.write_all(1, printer.format_events(transcript.new_events()))
            return int(ended)
    main.write_all(1, printer.format_events(transcript.new_events()))
    return transcript.exit_code


class TranscriptReader:
    """Read the two files of a transcript as one sequence of events, also while the runner starts a new file."""

    def __init__(self, folder: str) -> None:
        self.head = b""
        self.exit_code: int | None = None
        self._folder = folder
        self._file = -1
        self._part = b""
        self._waiting = [
            file
            for file in map(self._open_file, (runner_folder.OLDER_TRANSCRIPT, runner_folder.TRANSCRIPT))
            if file >= 0
        ]

    def new_events(self) -> Iterator[list[object]]:
        """Yield the events that were written since the last call: [seconds, kind, text]."""
        while True:
            if self._file < 0 and not self._open_next_file():
                return
            while data := os.read(self._file, _CHUNK):
                *lines, self._part = (self._part + data).split(b"\n")
                yield from self._parse_events(lines)
            if not self._open_next_file():
                return

    def _parse_events(self, lines: list[bytes]) -> Iterator[list[object]]:
        for line in lines:
            if line.startswith(b"{"):
                self.head = self.head or line
                continue
            try:
                event = json.loads(line)
            except ValueError:
                continue  # a full disk cut the line short
            if event[1] == "m" and event[2].startswith("ended with "):
                code = event[2].rpartition(" ")[2]
                self.exit_code = int(code) if code.isdigit() else None
            yield event

    def _open_next_file(self) -> bool:
        """Go on to the next file, if the present file does not grow any more; return whether more can be read."""
        if not self._waiting:
            newest = self._open_file(runner_folder.TRANSCRIPT)
            if newest < 0 or (self._file >= 0 and os.path.sameopenfile(newest, self._file)):
                if newest >= 0:
                    os.close(newest)
                return False
            # Read the present file once more before the new file: it may have grown until the runner renamed it.
            self._waiting = [newest]
            return True
        if self._file >= 0:
            os.close(self._file)
        self._file = self._waiting.pop(0)
        self._part = b""
        return True

    def _open_file(self, name: str) -> int:
        try:
            return os.open(f"{self._folder}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return -1


class _Printer:
    """A way to print a transcript. `waits` is true while an unfinished line may be pending."""

    waits = False

    def print_start(self, transcript: TranscriptReader, *, tail: int | None, limit: int) -> None: ...

    def format_events(self, events: Iterator[list[object]]) -> bytes:
        raise NotImplementedError

    def format_unfinished(self) -> bytes:
        return b""

    def format_end(self) -> bytes:
        return b""


class _TextPrinter(_Printer):
    """Print a transcript as lines of text."""

    def __init__(self, lines: TerminalLines) -> None:
        self._lines = lines

    def print_start(self, transcript: TranscriptReader, *, tail: int | None, limit: int) -> None:
        text = "".join(str(event[2]) for event in transcript.new_events() if event[1] == "o")
        if tail is None and len(text) > limit:
            text = text[-limit:].partition("\n")[2]  # begin with a whole line
        shown = self._lines.add_output(text)
        if tail is not None:
            shown = "".join(shown.splitlines(keepends=True)[-tail:]) if tail else ""
        self.waits = True
        main.write_all(1, shown.encode("utf-8", "replace"))

    def format_events(self, events: Iterator[list[object]]) -> bytes:
        shown = "".join(self._lines.add_output(str(event[2])) for event in events if event[1] == "o")
        self.waits = True
        return shown.encode("utf-8", "replace")

    def format_unfinished(self) -> bytes:
        self.waits = False
        return self._lines.flush_line().encode("utf-8", "replace")

    def format_end(self) -> bytes:
        return self._lines.finish_output().encode("utf-8", "replace")


class _EventPrinter(_Printer):
    """Print a transcript as an asciicast: its head, then one event a line."""

    def print_start(self, transcript: TranscriptReader, *, tail: int | None, limit: int) -> None:
        events = transcript.new_events()
        last = deque(events, maxlen=tail)
        main.write_all(1, transcript.head + b"\n" + self.format_events(iter(last)))

    def format_events(self, events: Iterator[list[object]]) -> bytes:
        return b"".join(json.dumps(event, ensure_ascii=False).encode("utf-8", "replace") + b"\n" for event in events)
