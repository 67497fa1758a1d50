"""What a terminal shows now, as bytes that draw it again: the end of its output, and the modes it was in before that.

No emulator: whoever attaches has a terminal of their own, and that one draws. So it costs the agent next to nothing.
"""

from __future__ import annotations

import re

KEPT_BYTES = 64 * 1024
_BOUNDARY_BYTES = 4096  # how far a cut looks for a place between two lines or sequences
_STACK_MAX = 8

_STATE = re.compile(
    rb"\x1b\[\?(?P<modes>[\d;]+)(?P<set>[hl])"
    rb"|\x1b\[(?P<region>[\d;]*)r"
    rb"|\x1b(?P<keypad>[=>])"
    rb"|\x1b\[>(?P<push>[\d;]*)u"
    rb"|\x1b\[<(?P<pop>\d*)u"
    rb"|(?P<reset>\x1bc)"
)
# A visit to the other screen, as an editor makes one, from its beginning to its end: nothing of it is to be seen.
_VISITS = re.compile(rb"\x1b\[\?(?:1049|1047|47)h.*?\x1b\[\?(?:1049|1047|47)l", re.DOTALL)
_LEFT = re.compile(rb"\x1b\[\?(?:1049|1047|47)l")
_CLEARED = re.compile(rb"\x1bc|\x1b\[[23]J|\x1b\[\?(?:1049|1047|47)h")
# What a terminal answers, as if someone had typed it; what rings; what reaches for the clipboard.
_ASKS = re.compile(
    rb"(?P<command>\x1b\][^\x07\x1b]*(?:\x07|\x1b\\))"
    rb"|\x1b[PX^_][^\x1b]*\x1b\\"
    rb"|\x1b\[[>=?]?[\d;]*[cnxt]"
    rb"|\x1b\[>[\d;]*q|\x1b\[\?u|\x1b\[\??[\d;]*\$p"
    rb"|[\x05\x07]"
)
_ALTERNATES = (b"1049", b"1047", b"47")


class Screen:
    """Takes in what an agent's terminal is told, and can tell it again to another one."""

    def __init__(self) -> None:
        self._recent = bytearray()
        self._before = _State()  # as it was where the recent output begins

    def take(self, data: bytes) -> None:
        self._recent += data
        if len(self._recent) > 2 * KEPT_BYTES:  # seldom, and a lot at once
            self._let_go(len(self._recent) - KEPT_BYTES)

    def picture(self) -> bytes:
        """The screen, for a terminal that has shown nothing of it yet."""
        shown = bytes(self._recent)
        state = self._before.copy()
        if state.is_on_other_screen and (left := _LEFT.search(shown)):
            state.take(shown[: left.end()])
            state.leave_other_screen()
            shown = shown[left.end() :]  # what stands on the first screen cannot be had any more
        shown = _VISITS.sub(_modes_of, shown)
        begin = max((found.start() for found in _CLEARED.finditer(shown)), default=0)
        state.take(shown[:begin])
        return b"\x1b[0m" + state.told() + _ASKS.sub(_unless_asking, shown[begin:])

    def _let_go(self, size: int) -> None:
        at = size
        for place in range(size, min(size + _BOUNDARY_BYTES, len(self._recent))):
            if self._recent[place] in b"\n\x1b":
                at = place
                break
        self._before.take(self._recent[:at])
        del self._recent[:at]


class _State:
    """The modes that outlast the text: which screen, which keys, the mouse, the part that scrolls."""

    def __init__(self) -> None:
        self.modes: dict[bytes, bytes] = {}
        self.region = b""
        self.keypad = b""
        self.keys: list[bytes] = []

    def copy(self) -> _State:
        made = _State()
        made.modes, made.region, made.keypad, made.keys = dict(self.modes), self.region, self.keypad, list(self.keys)
        return made

    @property
    def is_on_other_screen(self) -> bool:
        return any(self.modes.get(mode) == b"h" for mode in _ALTERNATES)

    def leave_other_screen(self) -> _State:
        self.modes = {mode: value for mode, value in self.modes.items() if mode not in _ALTERNATES}
        self.region = b""
        return self

    def take(self, data: bytes | bytearray) -> None:
        for found in _STATE.finditer(data):
            if found["modes"]:
                self.modes.update(dict.fromkeys(found["modes"].split(b";"), found["set"]))
            elif found["region"] is not None:
                self.region = found["region"]
            elif found["keypad"]:
                self.keypad = found["keypad"]
            elif found["push"] is not None:
                self.keys = [*self.keys, found["push"]][-_STACK_MAX:]
            elif found["pop"] is not None:
                del self.keys[-int(found["pop"] or 1) :]
            else:
                self.modes, self.region, self.keypad, self.keys = {}, b"", b"", []

    def told(self) -> bytes:
        """The sequences that bring a terminal into these modes: its screen first, for some modes belong to one."""
        order = sorted(self.modes, key=lambda mode: mode not in _ALTERNATES)
        said = [b"\x1b[?" + mode + self.modes[mode] for mode in order if mode]
        said += [b"\x1b[" + self.region + b"r"] if self.region else []
        said += [b"\x1b" + self.keypad] if self.keypad else []
        said += [b"\x1b[>" + flags + b"u" for flags in self.keys]
        return b"".join(said)


def _modes_of(visit: re.Match[bytes]) -> bytes:
    """What a visit changed that may outlast it."""
    state = _State()
    state.take(visit[0])
    return state.leave_other_screen().told()


def _unless_asking(found: re.Match[bytes]) -> bytes:
    command = found["command"] or b""
    return b"" if b";?" in command or command.startswith(b"\x1b]52;") else command
