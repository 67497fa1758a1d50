"""The terminal of a process is named as a person finds it: tmux pane, terminal program, tty."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from maestro.system.terminals import describe_terminal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the environment of a process")


@contextmanager
def process_in_terminal(**variables: str) -> Iterator[tuple[int, str]]:
    """Start a process in a new pseudo terminal; yield its pid and the name of the terminal."""
    master, slave = pty.openpty()
    name = os.ttyname(slave).removeprefix("/dev/")
    script = "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); print(flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=slave,
        stdout=subprocess.PIPE,
        env={"PATH": os.environ["PATH"], **variables},
    )
    os.close(slave)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield process.pid, name
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        os.close(master)


@pytest.mark.parametrize(
    ("variables", "window"),
    [
        ({}, ""),
        ({"TMUX": "/tmp/tmux-0/default,1,0", "TMUX_PANE": "%5", "TERM_PROGRAM": "tmux"}, "tmux %5, "),
        ({"ZELLIJ_PANE_ID": "3"}, "zellij 3, "),
        ({"STY": "12.work", "WINDOW": "2"}, "screen 12.work 2, "),
        ({"TERM_PROGRAM": "vscode"}, "vscode, "),
        ({"TERM_PROGRAM": "a\x1b[31mb"}, "a[31mb, "),
    ],
)
def test_a_process_in_a_terminal_is_described_by_pane_or_program_and_tty(
    variables: dict[str, str], window: str
) -> None:
    with process_in_terminal(**variables) as (pid, tty):
        assert describe_terminal(pid) == f"{window}{tty}"


def test_a_process_without_a_terminal_and_a_missing_process_have_no_description() -> None:
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        assert describe_terminal(process.pid) == ""
    finally:
        process.kill()
        process.wait()
    assert describe_terminal(process.pid) == ""
