"""A view borrows the terminal in raw mode, and the terminal is restored afterwards, also after a kill."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from maestro.runner import process_tree
from maestro.testing.console import Console
from maestro.testing.supervised import wait_until

BEGIN = "import os, sys; from maestro.client import main; from maestro.client.live import terminal\n"
WAITS = (
    BEGIN
    + "sys.exit(terminal.lend_terminal(lambda watched: (os.write(1, b'ready'), os.read(0, 1), (5, 'bye'))[2], title='a\\x1bb'))"
)


@pytest.fixture
def consoles(tmp_path: Path) -> Iterator[list[Console]]:
    """Return a list for the consoles of a test, which are closed at its end."""
    made: list[Console] = []
    yield made
    for console in made:
        console.close()


def open_console(consoles: list[Console], script: str, tmp_path: Path) -> Console:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    console = Console([sys.executable, "-c", script], cwd=tmp_path, env=environment, columns=90, rows=33)
    consoles.append(console)
    return console


def test_a_view_has_the_terminal_in_raw_mode_and_its_ending_is_passed_on(
    consoles: list[Console], tmp_path: Path
) -> None:
    console = open_console(consoles, WAITS, tmp_path)
    console.wait_for_output(b"ready")
    assert console.is_raw
    console.type_keys(b"x")
    assert console.wait_for_exit() == 5
    assert console.modes() == console.before and b"bye" in console.shown
    assert (
        b"\x1b[?25h" in console.shown and b"\x1b[23;0t" in console.shown
    )  # the cursor is visible and the title is restored


def test_control_characters_do_not_reach_the_title(consoles: list[Console], tmp_path: Path) -> None:
    console = open_console(consoles, WAITS, tmp_path)
    assert b"\x1b]2;ab\x07" in console.wait_for_output(b"ready")
    console.type_keys(b"x")
    console.wait_for_exit()


def test_an_error_of_the_view_gives_its_exit_code_and_message(consoles: list[Console], tmp_path: Path) -> None:
    script = (
        BEGIN + "def work(watched): raise main.CommandEnded(7, 'the run is gone')\n"
        "sys.exit(terminal.lend_terminal(work, title=''))"
    )
    console = open_console(consoles, script, tmp_path)
    assert console.wait_for_exit() == 7
    assert b"the run is gone" in console.shown and console.modes() == console.before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_view_leaves_a_restored_terminal_and_an_error(
    consoles: list[Console], tmp_path: Path, number: signal.Signals
) -> None:
    script = (
        WAITS.replace("sys.exit(", "try: sys.exit(") + "\nexcept main.CommandEnded as ended: sys.exit(ended.message)"
    )
    console = open_console(consoles, script, tmp_path)
    console.wait_for_output(b"ready")
    (view,) = process_tree.find_descendants(console.process.pid)
    os.kill(view, number)
    assert console.wait_for_exit() == 1
    assert f"signal {number.value} ended the view".encode() in console.shown
    wait_until(lambda: console.modes() == console.before, what="the restored terminal")


def test_the_size_is_the_size_of_the_terminal_or_the_default_size(consoles: list[Console], tmp_path: Path) -> None:
    console = open_console(consoles, BEGIN + "print(terminal.terminal_size())", tmp_path)
    console.wait_for_output(b"(90, 33)")
    redirected = f"{sys.executable} -c '{BEGIN}print(terminal.terminal_size())' > size"
    other = Console(["sh", "-c", redirected], cwd=tmp_path, env={"PATH": os.environ["PATH"]})
    consoles.append(other)
    assert other.wait_for_exit() == 0 and (tmp_path / "size").read_text() == "(80, 24)\n"
