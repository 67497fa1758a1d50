"""A program in a window of its own: a pseudo terminal that the person reads and types in, as if started by hand."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from agent_programs import installed, screens
from agent_programs.base import Room

_SECONDS_MAX = 60.0
_CURSOR_QUESTION, _CURSOR_ANSWER = b"\x1b[6n", b"\x1b[1;1R"
READY = {"claude": "for shortcuts", "codex": "Ask Codex", "gemini": "Type your message"}
DIALOG = {"claude": "Do you want", "codex": "Would you like", "gemini": "Allow"}
ALLOW, REFUSE = "\r", "\x1b"  # the dialogs of all programs allow with Enter and refuse with Escape


class Window:
    """A program in a pseudo terminal."""

    def __init__(
        self, tool: str, work: Path, environment: Mapping[str, str], *, arguments: tuple[str, ...] = ()
    ) -> None:
        self.tool = tool
        self.output = bytearray()
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", screens.ROWS, screens.COLUMNS, 0, 0))
        self.terminal = os.ttyname(slave).removeprefix("/dev/")
        self.process = subprocess.Popen(
            [installed.program(tool), *_ARGUMENTS[tool], *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=work,
            env={**environment, "TERM": "xterm-256color"},
            preexec_fn=_own_terminal,
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while piece := os.read(self._master, 1 << 16):
                self.output.extend(piece)
                if _CURSOR_QUESTION in piece:
                    os.write(self._master, _CURSOR_ANSWER)

    @property
    def screen(self) -> str:
        """Return the text on the screen."""
        return screens.seen(self.output.decode(errors="replace"))

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def type_prompt(self, text: str) -> None:
        """Type a prompt and press Enter. A program takes a text that comes together with Enter for a paste."""
        self.press(text)
        self.wait_for(text)
        time.sleep(0.5)
        self.press("\r")

    def shows_dialog(self) -> bool:
        """Return whether a dialog is on the visible part of the screen."""
        return DIALOG[self.tool] in "\n".join(self.screen.splitlines()[-screens.ROWS :])

    def answer_dialog(self, keys: str) -> None:
        """Press keys until the dialog is gone: a program ignores keys in the first moment of a dialog."""
        deadline = time.monotonic() + _SECONDS_MAX
        while self.shows_dialog():
            assert time.monotonic() < deadline, f"the dialog of {self.tool} stays:\n{self.screen}"
            self.press(keys)
            time.sleep(0.7)

    def wait_for(self, text: str) -> None:
        self.wait_until(lambda: text in self.screen, text)

    def wait_until(self, condition: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + _SECONDS_MAX
        while not condition():
            assert time.monotonic() < deadline, (
                f"{what!r} did not happen in the window of {self.tool}:\n{self.screen}"
            )
            time.sleep(0.05)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)


_ARGUMENTS = {
    "claude": ("--model", "sonnet", "--permission-mode", "default"),
    "codex": (),
    "gemini": ("-m", "gemini-2.5-pro"),
}


def _own_terminal() -> None:
    """Make the pseudo terminal the controlling terminal of the new process."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def trust_folder(tool: str, room: Room, work: Path) -> None:
    """Answer the program's question whether the person trusts a folder, as the person did at an earlier start."""
    match tool:
        case "claude":
            file = room.home / ".claude" / ".claude.json"
            known = json.loads(file.read_text())
            trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
            known.setdefault("projects", {})[str(work)] = trusted
            file.write_text(json.dumps(known))
        case "codex":
            file = room.home / ".codex" / "config.toml"
            first = 'model = "scripted"\napproval_policy = "on-request"\nsandbox_mode = "read-only"\n'
            text = file.read_text()
            text = text if text.startswith(first) else first + text
            file.write_text(f'{text}\n[projects."{work}"]\ntrust_level = "trusted"\n')
        case "gemini":
            file = room.home / ".gemini" / "trustedFolders.json"
            known = json.loads(file.read_text()) if file.exists() else {}
            file.write_text(json.dumps(known | {str(work): "TRUST_FOLDER"}))


@contextlib.contextmanager
def open_window(
    tool: str, work: Path, environment: Mapping[str, str], *, arguments: tuple[str, ...] = ()
) -> Iterator[Window]:
    """Start a program in a window, and wait until it takes prompts."""
    window = Window(tool, work, environment, arguments=arguments)
    try:
        window.wait_for(READY[tool])
        yield window
    finally:
        window.close()
