"""`session attach`: show a session's terminal in the person's terminal, directly from the session's runner."""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import time

from maestro.client import main
from maestro.client.live import terminal
from maestro.client.live.link import RunnerLink
from maestro.system.signal_pipe import SignalPipe
from maestro.wire import exit_codes, frames, runner_requests

_CHUNK = 1 << 16
_RETRY_SECONDS = 2.0
_PAUSE_SECONDS = 0.05
# Switches to the alternate screen of a terminal and back.
_OTHER_SCREEN = re.compile(rb"\x1b\[\?(?:1049|1047|47)(?P<entered>[hl])")
_SEQUENCE_BYTES = 16
# Any sequence but colours, the erasing of a line and modes: a program that uses it draws the whole screen.
_DRAWS = re.compile(rb"\x1b\[(?![\d;:]*m|\d*K|\?[\d;]*[hl])|\x1b[78cDM]")


def run(*, folder: str, name: str, read_only: bool, detach_key: str) -> int:
    """Attach until the person leaves or the program ends."""
    try:
        link = RunnerLink(folder)
    except OSError:
        raise main.CommandEnded(
            exit_codes.FAILED, f"the runner of {name} does not answer\nsee: maestro session explain {name}"
        ) from None
    leave = "-".join((detach_key[:-2].capitalize(), detach_key[-1]))
    state = "watching" if read_only else "attached to"
    main.write_all(2, os.fsencode(f"[{state} {name}; {leave} detaches, the session goes on]\n"))
    view = _AttachedTerminal(link, folder, name, read_only=read_only, key=DetachKey(detach_key))
    return terminal.lend_terminal(view.run, title=f"{name} ({leave} detaches)")


class DetachKey:
    """The key that detaches, in each of the forms in which terminals send it."""

    def __init__(self, spelt: str) -> None:
        char = spelt[-1]
        code = ord(char)
        forms = [re.escape(bytes([code & 0x1F])), rb"\x1b\[%d;5(?::1)?u" % code, rb"\x1b\[27;5;%d~" % code]
        self._pattern = re.compile(b"|".join(forms))

    def bytes_before(self, typed: bytes) -> bytes | None:
        """Return the bytes typed before the key; None if the key was not typed."""
        match = self._pattern.search(typed)
        return typed[: match.start()] if match else None


class _AttachedTerminal:
    """The person's terminal, attached to one session."""

    def __init__(self, link: RunnerLink, folder: str, name: str, *, read_only: bool, key: DetachKey) -> None:
        self._link = link
        self._folder = folder
        self._name = name
        self._read_only = read_only
        self._key = key
        self._resized = False
        self._is_asked_to_end = False
        self._is_first_output = True
        self._on_other_screen = False
        self._last_bytes = b""
        self._draws = False  # whether the program draws the whole screen; known from its first output

    def run(self, watched: int) -> terminal.Ending:
        signals = self._install_signal_handlers()
        try:
            self._attach()
        except OSError:
            return self._ending_without_runner()
        ending = self._show_frames()
        if ending is not None:
            return ending
        with selectors.DefaultSelector() as selector:
            for source in (0, signals, watched):
                selector.register(source, selectors.EVENT_READ)
            selector.register(self._link, selectors.EVENT_READ)
            while True:
                ready = {key.fd for key, _ in selector.select()}
                if signals.fileno() in ready:
                    signals.clear()
                if watched in ready or self._is_asked_to_end:
                    return self._ending_for_person("detached from")
                if self._resized:
                    self._send_size()
                if 0 in ready and not self._pass_on_typed():
                    return self._ending_for_person("detached from")
                if self._link.fileno() in ready:
                    selector.unregister(self._link)
                    ending = self._show_frames()
                    if ending is not None:
                        return ending
                    selector.register(self._link, selectors.EVENT_READ)

    def _install_signal_handlers(self) -> SignalPipe:
        signals = SignalPipe()
        signal.signal(signal.SIGWINCH, lambda number, frame: setattr(self, "_resized", True))
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, lambda number, frame: setattr(self, "_is_asked_to_end", True))
        signal.signal(signal.SIGTSTP, signal.SIG_IGN)
        return signals

    def _attach(self) -> None:
        """Send the terminal's size, unless the person only reads, and ask the runner to draw the present screen."""
        self._send_size()
        self._link.send_request(do=runner_requests.ATTACH, read_only=self._read_only)
        self._is_first_output = True

    def _send_size(self) -> None:
        self._resized = False
        if not self._read_only:
            self._send_frame(frames.SIZE, b"%d %d" % terminal.terminal_size())

    def _pass_on_typed(self) -> bool:
        """Pass on typed bytes; return False if the person typed the key that detaches."""
        try:
            data = os.read(0, _CHUNK)
        except OSError:
            data = b""
        if not data:
            return False
        before = self._key.bytes_before(data)
        rest = data if before is None else before
        if rest and not self._read_only:
            self._send_frame(frames.DATA, rest)
        return before is None

    def _send_frame(self, kind: bytes, payload: bytes) -> None:
        with contextlib.suppress(OSError):  # the next read notices that the runner is gone
            self._link.send_frame(kind, payload)

    def _show_frames(self) -> terminal.Ending | None:
        """Show the program's output; return an ending if the program has ended."""
        try:
            for kind, payload in self._link.receive_frames():
                if kind == frames.OUT and self._is_first_output:
                    self._is_first_output = False
                    self._draws = bool(_DRAWS.search(payload))
                    self._show(payload, adapt_picture(payload, rows=terminal.terminal_size()[1]))
                elif kind == frames.OUT:
                    self._show(payload, payload)
                elif kind == frames.EXIT:
                    return self._ending_for_person("the end of", f" (exit code {payload.decode()})")
        except OSError:
            return self._reconnect()
        return None

    def _show(self, payload: bytes, as_drawn: bytes) -> None:
        self._on_other_screen = is_on_other_screen(self._last_bytes + payload, self._on_other_screen)
        self._last_bytes = payload[-_SEQUENCE_BYTES:]
        main.write_all(1, as_drawn)

    def _reconnect(self) -> terminal.Ending | None:
        """Reconnect after a lost connection: this terminal was too slow, or the runner is gone."""
        self._link.close()
        ends = time.monotonic() + _RETRY_SECONDS
        while time.monotonic() < ends:
            try:
                self._link = RunnerLink(self._folder)
                self._attach()
            except OSError:
                time.sleep(_PAUSE_SECONDS)
            else:
                return self._show_frames()
        return self._ending_without_runner()

    def _ending_without_runner(self) -> terminal.Ending:
        self._move_below_drawing()
        return exit_codes.FAILED, f"the runner of {self._name} is gone\nsee: maestro session explain {self._name}"

    def _ending_for_person(self, how: str, more: str = "") -> terminal.Ending:
        self._move_below_drawing()
        again = "" if more else f"; attach again with: maestro session attach {self._name}"
        return 0, f"[{how} {self._name}{more}{again}]"

    def _move_below_drawing(self) -> None:
        """Move the cursor below the drawing, for the last message."""
        with contextlib.suppress(main.CommandEnded):
            if self._on_other_screen:
                main.write_all(1, terminal.LEAVE_ALTERNATE_SCREEN)
            main.write_all(1, b"\x1b[999;1H\r\n" if self._draws and not self._on_other_screen else b"\r\n")


def is_on_other_screen(shown: bytes, before: bool = False) -> bool:
    """Return whether a terminal that shows these bytes is on its second screen, which editors use."""
    for switch in _OTHER_SCREEN.finditer(shown):
        before = switch["entered"] == b"h"
    return before


def adapt_picture(picture: bytes, *, rows: int) -> bytes:
    """Adapt the screen that the runner draws first, so that it does not overwrite the text of the person's terminal.

    Plain lines are shown below that text; a whole screen is drawn after the text has been scrolled away.
    """
    if is_on_other_screen(picture):
        return picture
    if not _DRAWS.search(picture):
        lines = picture.split(b"\n")
        return b"\x1b[0m" + b"\n".join(lines[-(rows - 1) :])
    return b"\n" * (rows - 1) + b"\x1b[H\x1b[J" + picture
