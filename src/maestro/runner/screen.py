"""The present screen of a terminal, as bytes that draw it again: the recent output, and the modes before that output.

The module is no terminal emulator, which keeps it cheap: the attached terminal interprets the bytes.
"""

from __future__ import annotations

import re

KEPT_BYTES = 64 * 1024
_BOUNDARY_BYTES = 4096  # the distance within which a cut looks for the border of a line or sequence
_STACK_MAX = 8

_MODE_SEQUENCES = re.compile(
    rb"\x1b\[\?(?P<modes>[\d;]+)(?P<set>[hl])"
    rb"|\x1b\[(?P<region>[\d;]*)r"
    rb"|\x1b(?P<keypad>[=>])"
    rb"|\x1b\[>(?P<push>[\d;]*)u"
    rb"|\x1b\[<(?P<pop>\d*)u"
    rb"|(?P<reset>\x1bc)"
)
# A whole visit to the second screen, as editors make: no text of the visit stays visible.
_VISITS = re.compile(rb"\x1b\[\?(?:1049|1047|47)h.*?\x1b\[\?(?:1049|1047|47)l", re.DOTALL)
_SCREEN_LEFT = re.compile(rb"\x1b\[\?(?:1049|1047|47)l")
_CLEARED = re.compile(rb"\x1bc|\x1b\[[23]J|\x1b\[\?(?:1049|1047|47)h")
# Sequences that a terminal answers as if a person typed, that ring the bell, or that read the clipboard.
_UNSAFE_SEQUENCES = re.compile(
    rb"(?P<command>\x1b\][^\x07\x1b]*(?:\x07|\x1b\\))"
    rb"|\x1b[PX^_][^\x1b]*\x1b\\"
    rb"|\x1b\[[>=?]?[\d;]*[cnxt]"
    rb"|\x1b\[>[\d;]*q|\x1b\[\?u|\x1b\[\??[\d;]*\$p"
    rb"|[\x05\x07]"
)
_ALTERNATES = (b"1049", b"1047", b"47")


class Screen:
    """The recent output of a program, which can draw the screen again on another terminal."""

    def __init__(self) -> None:
        self._recent = bytearray()
        self._before = _TerminalModes()  # the modes at the beginning of the recent output

    def add_output(self, data: bytes) -> None:
        self._recent += data
        if len(self._recent) > 2 * KEPT_BYTES:  # cut seldom, and many bytes at once
            self._drop_oldest(len(self._recent) - KEPT_BYTES)

    def draw_picture(self) -> bytes:
        """Return the bytes that draw the screen on a new terminal."""
        shown = bytes(self._recent)
        state = self._before.copy_modes()
        if state.is_on_other_screen and (left := _SCREEN_LEFT.search(shown)):
            state.apply_output(shown[: left.end()])
            state.leave_other_screen()
            shown = shown[left.end() :]  # the older text of the first screen is lost
        shown = _VISITS.sub(_lasting_modes, shown)
        begin = max((cleared.start() for cleared in _CLEARED.finditer(shown)), default=0)
        state.apply_output(shown[:begin])
        return b"\x1b[0m" + state.mode_sequences() + _UNSAFE_SEQUENCES.sub(_keep_if_safe, shown[begin:])

    def _drop_oldest(self, size: int) -> None:
        at = size
        for index in range(size, min(size + _BOUNDARY_BYTES, len(self._recent))):
            if self._recent[index] in b"\n\x1b":
                at = index
                break
        self._before.apply_output(self._recent[:at])
        del self._recent[:at]


class _TerminalModes:
    """The modes of a terminal that outlast the text: the screen, the keys, the mouse, the scroll region."""

    def __init__(self) -> None:
        self.modes: dict[bytes, bytes] = {}
        self.region = b""
        self.keypad = b""
        self.keys: list[bytes] = []

    def copy_modes(self) -> _TerminalModes:
        copied = _TerminalModes()
        copied.modes, copied.keys = dict(self.modes), list(self.keys)
        copied.region, copied.keypad = self.region, self.keypad
        return copied

    @property
    def is_on_other_screen(self) -> bool:
        return any(self.modes.get(mode) == b"h" for mode in _ALTERNATES)

    def leave_other_screen(self) -> _TerminalModes:
        self.modes = {mode: value for mode, value in self.modes.items() if mode not in _ALTERNATES}
        self.region = b""
        return self

    def apply_output(self, data: bytes | bytearray) -> None:
        for found in _MODE_SEQUENCES.finditer(data):
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

    def mode_sequences(self) -> bytes:
        """Return the sequences that set these modes. The screen comes first: some modes belong to one screen."""
        order = sorted(self.modes, key=lambda mode: mode not in _ALTERNATES)
        sequences = [b"\x1b[?" + mode + self.modes[mode] for mode in order if mode]
        sequences += [b"\x1b[" + self.region + b"r"] if self.region else []
        sequences += [b"\x1b" + self.keypad] if self.keypad else []
        sequences += [b"\x1b[>" + flags + b"u" for flags in self.keys]
        return b"".join(sequences)


def _lasting_modes(visit: re.Match[bytes]) -> bytes:
    """Return the modes that a visit to the second screen changed and that outlast the visit."""
    state = _TerminalModes()
    state.apply_output(visit[0])
    return state.leave_other_screen().mode_sequences()


def _keep_if_safe(sequence: re.Match[bytes]) -> bytes:
    command = sequence["command"] or b""
    return b"" if b";?" in command or command.startswith(b"\x1b]52;") else command
