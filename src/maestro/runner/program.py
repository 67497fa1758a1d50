"""The program's process: started in its own process session, on a terminal or on pipes."""

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

from maestro.wire.runner_order import RunnerOrder

LINE_BYTES_MAX = 4095
_NOT_STARTED = 127


class ProgramNotStarted(Exception):
    """The program could not be started; the message is the reason."""


@dataclass
class RunningProgram:
    """A running program."""

    pid: int
    output: int  # the descriptor of its output
    input: int  # the descriptor of its input; -1 once closed
    terminal: bool
    errors: int = -1  # the descriptor of its standard error, if separate from its output

    def resize_terminal(self, columns: int, rows: int) -> None:
        if self.terminal:
            fcntl.ioctl(self.output, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def would_cut_line(self, data: bytes) -> bool:
        """Return whether the terminal would drop the end of a line: in line mode it keeps LINE_BYTES_MAX bytes."""
        if not self.terminal or self.output < 0:
            return False
        by_line = termios.tcgetattr(self.output)[3] & termios.ICANON
        return bool(by_line) and any(len(line) > LINE_BYTES_MAX for line in data.split(b"\n"))

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to all processes in the program's process group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def close_descriptors(self) -> None:
        for descriptor in (self.output, self.input, self.errors):
            if descriptor < 0:
                continue
            os.close(descriptor)
        self.output = self.input = self.errors = -1


@dataclass(frozen=True)
class StartPipes:
    """The pipes between the runner and a child that is about to become the program.

    The child reads `permission_reader` before it starts the program, and writes a start failure to `failure_writer`.
    """

    permission_reader: int
    permission_writer: int
    failure_writer: int


def start_program(order: RunnerOrder, record_pid: Callable[[int], None]) -> RunningProgram:
    """Start the program; raise ProgramNotStarted if the program does not exist or may not be run.

    The child waits until `record_pid` has recorded its process: an unrecorded process could never be ended.
    """
    failure_reader, failure_writer = os.pipe()
    permission_reader, permission_writer = os.pipe()
    go = StartPipes(permission_reader, permission_writer, failure_writer)
    running = _start_on_terminal(order, go) if order.terminal else _start_on_pipes(order, go)
    os.close(failure_writer)
    os.close(permission_reader)
    record_pid(running.pid)
    running.resize_terminal(order.columns, order.rows)  # the program reads the size as soon as it runs
    os.write(permission_writer, b"g")
    os.close(permission_writer)
    problem = os.read(failure_reader, 4096)  # empty once the program runs
    os.close(failure_reader)
    if problem:
        with contextlib.suppress(ChildProcessError):  # the SIGCHLD handler may have reaped the child already
            os.waitpid(running.pid, 0)
        running.close_descriptors()
        raise ProgramNotStarted(problem.decode("utf-8", "replace"))
    for end in (running.output, running.errors):
        if end >= 0:
            os.set_blocking(end, False)
    return running


def describe_end(status: int) -> dict[str, Any]:
    """Return the exit code and signal of a program, in the form of a report."""
    if os.WIFSIGNALED(status):
        return {"code": 128 + os.WTERMSIG(status), "signal": signal.Signals(os.WTERMSIG(status)).name}
    return {"code": os.WEXITSTATUS(status)}


def _start_on_terminal(order: RunnerOrder, go: StartPipes) -> RunningProgram:
    pid, master = os.forkpty()
    if pid == 0:
        _become_program(order, go)
    os.set_inheritable(master, False)
    # The selector needs one descriptor for each direction.
    return RunningProgram(pid, master, os.dup(master), terminal=True)


def _start_on_pipes(order: RunnerOrder, go: StartPipes) -> RunningProgram:
    output_reader, output_writer = os.pipe()
    input_reader, input_writer = os.pipe()
    # A conversation needs a separate pipe for errors: error text between its lines would break the protocol.
    error_reader, error_writer = os.pipe() if order.conversation else (-1, os.dup(output_writer))
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.dup2(input_reader, 0)
        os.dup2(output_writer, 1)
        os.dup2(error_writer, 2)
        _become_program(order, go)
    for end in (output_writer, input_reader, error_writer):
        os.close(end)
    return RunningProgram(pid, output_reader, input_writer, terminal=False, errors=error_reader)


def _become_program(order: RunnerOrder, go: StartPipes) -> None:
    """Become the program, in the child process. Never return."""
    try:
        for number in (signal.SIGPIPE, signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.close(go.permission_writer)
        if not os.read(go.permission_reader, 1):
            os._exit(_NOT_STARTED)  # the runner is gone
        if order.umask is not None:
            os.umask(order.umask)
        os.chdir(order.directory)
        os.execvpe(order.arguments[0], order.arguments, order.environment)
    except OSError as error:
        path = order.directory if error.filename == order.directory else order.arguments[0]
        problem = f"{os.strerror(error.errno or errno.EINVAL)}: {path}"
        os.write(go.failure_writer, problem.encode())
    finally:
        os._exit(_NOT_STARTED)
