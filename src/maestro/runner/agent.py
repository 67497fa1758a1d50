"""The agent's own process: started in a session of its own, on a terminal or on pipes."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import struct
import termios
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from maestro.runner.order import Order

LINE_BYTES_MAX = 4095
_NOT_STARTED = 127


class CannotStart(Exception):
    """The program could not be run, and why."""


@dataclass
class Agent:
    """A running program."""

    pid: int
    output: int  # a descriptor with all it says
    input: int  # a descriptor it listens to; -1 once that is closed
    terminal: bool
    errors: int = -1  # what it complains of, where that is told apart from what it says

    def resize(self, columns: int, rows: int) -> None:
        if self.terminal:
            fcntl.ioctl(self.output, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def would_lose(self, data: bytes) -> bool:
        """Whether the terminal would drop the end of a line: while it works by lines, it keeps no longer ones."""
        if not self.terminal or self.output < 0:
            return False
        by_line = termios.tcgetattr(self.output)[3] & termios.ICANON
        return bool(by_line) and any(len(line) > LINE_BYTES_MAX for line in data.split(b"\n"))

    def signal_group(self, number: signal.Signals) -> None:
        """Everyone in the agent's own process group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def close(self) -> None:
        for descriptor in (self.output, self.input, self.errors):
            if descriptor < 0:
                continue
            os.close(descriptor)
        self.output = self.input = self.errors = -1


@dataclass(frozen=True)
class Go:
    """What a child waits for before it becomes the program, and where it complains if it cannot."""

    waits: int
    lets_go: int
    telling: int


def start(order: Order, noted: Callable[[int], None]) -> Agent:
    """Run the program; CannotStart if it is not there or may not be run.

    It waits until `noted` has written down its process: what nobody knows of could never be ended.
    """
    told, telling = os.pipe()
    waits, lets_go = os.pipe()
    go = Go(waits, lets_go, telling)
    agent = _on_terminal(order, go) if order.terminal else _on_pipes(order, go)
    os.close(telling)
    os.close(waits)
    noted(agent.pid)
    agent.resize(order.columns, order.rows)  # it asks for that as soon as it runs
    os.write(lets_go, b"g")
    os.close(lets_go)
    problem = os.read(told, 4096)  # ends without a word once the program runs
    os.close(told)
    if problem:
        with contextlib.suppress(ChildProcessError):  # someone may have taken note of its end already
            os.waitpid(agent.pid, 0)
        agent.close()
        raise CannotStart(problem.decode("utf-8", "replace"))
    for end in (agent.output, agent.errors):
        if end >= 0:
            os.set_blocking(end, False)
    return agent


def how(status: int | None) -> dict[str, Any]:
    """How a program ended, as it is reported."""
    if status is None:
        return {"code": None}
    if os.WIFSIGNALED(status):
        return {"code": 128 + os.WTERMSIG(status), "signal": signal.Signals(os.WTERMSIG(status)).name}
    return {"code": os.WEXITSTATUS(status)}


def _on_terminal(order: Order, go: Go) -> Agent:
    pid, master = os.forkpty()
    if pid == 0:
        _become(order, go)
    os.set_inheritable(master, False)
    return Agent(pid, master, os.dup(master), terminal=True)  # two, so that each is waited for on its own


def _on_pipes(order: Order, go: Go) -> Agent:
    heard, says = os.pipe()
    reads, tells = os.pipe()
    # A protocol must stay whole: complaints between its lines would be taken for it.
    complained, complains = os.pipe() if order.conversation else (-1, os.dup(says))
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.dup2(reads, 0)
        os.dup2(says, 1)
        os.dup2(complains, 2)
        _become(order, go)
    for end in (says, reads, complains):
        os.close(end)
    return Agent(pid, heard, tells, terminal=False, errors=complained)


def _become(order: Order, go: Go) -> None:
    """In the child: never returns."""
    try:
        for number in (signal.SIGPIPE, signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.close(go.lets_go)
        if not os.read(go.waits, 1):
            os._exit(_NOT_STARTED)  # the runner is gone
        if order.umask is not None:
            os.umask(order.umask)
        os.chdir(order.directory)
        os.execvpe(order.words[0], order.words, order.environment)
    except OSError as error:
        place = order.directory if error.filename == order.directory else order.words[0]
        said = f"{os.strerror(error.errno or errno.EINVAL)}: {place}"
        os.write(go.telling, said.encode())
    finally:
        os._exit(_NOT_STARTED)
