"""`session attach`: an agent's terminal in one's own, straight from its runner."""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import time

from maestro.client import thin
from maestro.client.live import terminal
from maestro.client.live.link import Link

_CHUNK = 1 << 16
_RETRY_SECONDS = 2.0
_PAUSE_SECONDS = 0.05
# Whatever is more than text on lines that follow each other: then the screen is drawn whole.
_OTHER_SCREEN = re.compile(rb"\x1b\[\?(?:1049|1047|47)(?P<entered>[hl])")
_SEQUENCE_BYTES = 16
_DRAWS = re.compile(rb"\x1b\[(?![\d;:]*m|\d*K|\?[\d;]*[hl])|\x1b[78cDM]")


def run(*, folder: str, name: str, read_only: bool, detach_key: str) -> int:
    """Attach until the person leaves, or the agent ends."""
    try:
        link = Link(folder)
    except OSError:
        raise thin.Ended(thin.FAILED, f"the runner of {name} is not there\nmaestro session explain {name}") from None
    leave = "-".join((detach_key[:-2].capitalize(), detach_key[-1]))
    what = "looking at" if read_only else "attached to"
    thin.put(2, os.fsencode(f"[{what} {name}; {leave} leaves it running]\n"))
    view = _Attached(link, folder, name, read_only=read_only, key=Key(detach_key))
    return terminal.lend(view.run, title=f"{name} ({leave} detaches)")


class Key:
    """Finds the key that leaves, in each of the ways in which terminals write it."""

    def __init__(self, spelt: str) -> None:
        char = spelt[-1]
        code = ord(char)
        forms = [re.escape(bytes([code & 0x1F])), rb"\x1b\[%d;5(?::1)?u" % code, rb"\x1b\[27;5;%d~" % code]
        self._pattern = re.compile(b"|".join(forms))

    def before(self, typed: bytes) -> bytes | None:
        """What was typed before it; None if it was not."""
        found = self._pattern.search(typed)
        return typed[: found.start()] if found else None


class _Attached:
    """One terminal at one agent."""

    def __init__(self, link: Link, folder: str, name: str, *, read_only: bool, key: Key) -> None:
        self._link = link
        self._folder = folder
        self._name = name
        self._read_only = read_only
        self._key = key
        self._resized = False
        self._told_to_end = False
        self._awaits_picture = True
        self._on_other_screen = False
        self._last = b""
        self._draws = False  # whether the agent draws on all of the screen

    def run(self, watched: int) -> terminal.Ending:
        woken = self._signals()
        try:
            self._begin()
        except OSError:
            return self._gone()
        ending = self._shown()
        if ending is not None:
            return ending
        with selectors.DefaultSelector() as selector:
            for source in (0, woken, watched):
                selector.register(source, selectors.EVENT_READ)
            selector.register(self._link, selectors.EVENT_READ)
            while True:
                ready = {key.fd for key, _ in selector.select()}
                if woken in ready:
                    os.read(woken, 4096)
                if watched in ready or self._told_to_end:
                    return self._leave("detached from")
                if self._resized:
                    self._tell_size()
                if 0 in ready and not self._typed():
                    return self._leave("detached from")
                if self._link.fileno() in ready:
                    selector.unregister(self._link)
                    ending = self._shown()
                    if ending is not None:
                        return ending
                    selector.register(self._link, selectors.EVENT_READ)

    def _signals(self) -> int:
        woken, waking = os.pipe()
        for end in (woken, waking):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        signal.signal(signal.SIGWINCH, lambda number, frame: setattr(self, "_resized", True))
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, lambda number, frame: setattr(self, "_told_to_end", True))
        signal.signal(signal.SIGTSTP, signal.SIG_IGN)
        return woken

    def _begin(self) -> None:
        """First the size, so that what is drawn fits; then the screen as it is."""
        self._tell_size()
        self._link.ask(do="attach", read_only=self._read_only)
        self._awaits_picture = True

    def _tell_size(self) -> None:
        self._resized = False
        if not self._read_only:
            self._say(b"Z", b"%d %d" % terminal.size())

    def _typed(self) -> bool:
        """Passes on what was typed; False when it was time to leave."""
        try:
            data = os.read(0, _CHUNK)
        except OSError:
            data = b""
        if not data:
            return False
        before = self._key.before(data)
        rest = data if before is None else before
        if rest and not self._read_only:
            self._say(b"D", rest)
        return before is None

    def _say(self, kind: bytes, payload: bytes) -> None:
        with contextlib.suppress(OSError):  # that it is gone shows where we listen
            self._link.say(kind, payload)

    def _shown(self) -> terminal.Ending | None:
        """Shows what the agent showed; its end is ours."""
        try:
            for kind, payload in self._link.frames():
                if kind == b"O" and self._awaits_picture:
                    self._awaits_picture = False
                    self._draws = bool(_DRAWS.search(payload))
                    self._show(payload, drawn(payload, rows=terminal.size()[1]))
                elif kind == b"O":
                    self._show(payload, payload)
                elif kind == b"X":
                    return self._leave("the end of", f" (exit code {payload.decode()})")
        except OSError:
            return self._come_back()
        return None

    def _show(self, payload: bytes, as_drawn: bytes) -> None:
        self._on_other_screen = is_on_other_screen(self._last + payload, self._on_other_screen)
        self._last = payload[-_SEQUENCE_BYTES:]
        thin.put(1, as_drawn)

    def _come_back(self) -> terminal.Ending | None:
        """The connection is gone: we were too slow and were let go, or the runner is no more."""
        self._link.close()
        ends = time.monotonic() + _RETRY_SECONDS
        while time.monotonic() < ends:
            try:
                self._link = Link(self._folder)
                self._begin()
            except OSError:
                time.sleep(_PAUSE_SECONDS)
            else:
                return self._shown()
        return self._gone()

    def _gone(self) -> terminal.Ending:
        self._make_room()
        return thin.FAILED, f"the runner of {self._name} is gone\nmaestro session explain {self._name}"

    def _leave(self, how: str, more: str = "") -> terminal.Ending:
        self._make_room()
        again = "" if more else f"; back with: maestro session attach {self._name}"
        return 0, f"[{how} {self._name}{more}{again}]"

    def _make_room(self) -> None:
        """What is said last stands below what was drawn."""
        with contextlib.suppress(thin.Ended):
            if self._on_other_screen:
                thin.put(1, terminal.LEAVE_OTHER_SCREEN)
            thin.put(1, b"\x1b[999;1H\r\n" if self._draws and not self._on_other_screen else b"\r\n")


def is_on_other_screen(shown: bytes, before: bool = False) -> bool:
    """Whether a terminal is on its second screen, the one that editors use, after it has shown this."""
    for found in _OTHER_SCREEN.finditer(shown):
        before = found["entered"] == b"h"
    return before


def drawn(picture: bytes, *, rows: int) -> bytes:
    """A picture as it goes to a terminal that shows something else: below it, or on a screen that was cleared."""
    if is_on_other_screen(picture):
        return picture
    if not _DRAWS.search(picture):
        lines = picture.split(b"\n")
        return b"\x1b[0m" + b"\n".join(lines[-(rows - 1) :])
    return b"\n" * (rows - 1) + b"\x1b[H\x1b[J" + picture
