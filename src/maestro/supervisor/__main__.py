"""`python -m maestro.supervisor --home DIR …`: keep one server running. The options are the server's own.

People use `maestro up`. This module imports little, because the supervisor lives as long as the agents do: when the
server was told to stop, the supervisor waits for the last process that it has adopted, and then ends.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import sys
import time
from contextlib import suppress

from maestro.supervisor import LOCK, process_name

STOPPED, FAILED, BUSY, GONE = 0, 1, 5, 6  # how a server ends: told to stop; another server runs; no data directory
RESTART = "--restart"  # the server makes no data directory: no person's command waits for it
_STOP_SECONDS = 15  # until a server that was told to stop is ended
_PAUSE_SECONDS, _PAUSE_SECONDS_MAX = 0.1, 30.0  # before a server that did not become ready is started again
_LOOK_SECONDS = 0.05
_LOOK_SECONDS_MAX = 0.5  # that a command may hold the lock only to learn whether a supervisor does
_FAILURES_MAX = {BUSY: 5}  # in a row, after which another server is there to stay
_LIVED_SECONDS = 1.0  # a server that dies sooner after it became ready has died quickly
_QUICK_DEATHS_MAX = 100  # in a row, after which a ready server counts as one that did not become ready
_READY_FD = "MAESTRO_READY_FD"
_PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 15, 36


class Supervisor:
    """Runs one server after another, until one was told to stop."""

    def __init__(self, options: list[str], *, told: int) -> None:
        self._options = options
        self._told = told  # the pipe to the command that waits for the first server; -1 if there is none
        self._server = 0  # the pid of the server, while one runs
        self._was_ready = False  # whether any server has become ready
        self._quick_deaths = 0  # in a row
        self._is_stopping = False

    def keep_server_running(self) -> int:
        """Start a server, and another when the server dies; return the exit code of the last one."""
        code, has_served = self._run([])
        if not self._was_ready and RESTART not in self._options:
            return code  # the person reads why: the first server has told the command that waits
        failures = 0 if has_served else 1
        while code not in (STOPPED, GONE) and failures <= _FAILURES_MAX.get(code, failures) and self._pause(failures):
            code, has_served = self._run([RESTART])
            failures = 0 if has_served else failures + 1
        return STOPPED if self._is_stopping else code

    def stop(self, *_: object) -> None:
        """Tell the server to stop. A signal handler."""
        self._is_stopping = True
        if self._server:
            with suppress(ProcessLookupError):  # the server may have ended a moment ago
                os.kill(self._server, signal.SIGTERM)
            signal.alarm(_STOP_SECONDS)

    def end_server(self, *_: object) -> None:
        """End a server that does not stop. A signal handler."""
        if self._server:
            with suppress(ProcessLookupError):
                os.kill(self._server, signal.SIGKILL)

    def _run(self, options: list[str]) -> tuple[int, bool]:
        """Run one server to its end; return its exit code, or minus its signal, and whether it served for a while."""
        command = [sys.executable, "-P", "-m", "maestro.server", *self._options, *options]  # an option may come twice
        heard, ready = os.pipe()
        os.set_inheritable(ready, True)
        try:
            self._server = os.posix_spawn(sys.executable, command, {**os.environ, _READY_FD: str(ready)})
        except OSError as error:  # while an upgrade replaces the interpreter
            sys.stderr.write(f"supervisor: cannot start the server: {error}\n")
            os.close(heard)
            return FAILED, False
        finally:
            os.close(ready)
        if self._is_stopping:  # the signal came before the server was there
            self.stop()
        line = read_line(heard)
        os.close(heard)
        self._pass_on(line)
        is_ready, began = line == b"ready\n", time.monotonic()
        self._was_ready |= is_ready
        code = self._wait_for_server()
        has_lived = time.monotonic() - began > _LIVED_SECONDS
        self._quick_deaths = 0 if has_lived else self._quick_deaths + 1
        return code, is_ready and self._quick_deaths <= _QUICK_DEATHS_MAX

    def _pass_on(self, line: bytes) -> None:
        """Tell the command that waits for the first server how the server's start went."""
        if self._told < 0:
            return
        with suppress(OSError):  # the command may have gone
            os.write(self._told, b"pid %d\n" % self._server + line)
        os.close(self._told)
        self._told = -1

    def _wait_for_server(self) -> int:
        """Wait for the server's end, and take note of every adopted process that ends meanwhile."""
        while True:
            pid, status = os.waitpid(-1, 0)
            if pid == self._server:
                self._server = 0
                signal.alarm(0)
                return os.waitstatus_to_exitcode(status)

    def _pause(self, failures: int) -> bool:
        """Wait before the next start, longer each time that a server was not ready; return whether to start it."""
        seconds = min(_PAUSE_SECONDS * 2**failures, _PAUSE_SECONDS_MAX) if failures else 0.0
        ends = time.monotonic() + seconds
        while not self._is_stopping and time.monotonic() < ends:
            time.sleep(_LOOK_SECONDS)
        return not self._is_stopping


def main() -> int:
    """Take the lock of the data directory's supervisor, then supervise; return the server's exit code."""
    options = sys.argv[1:]
    home = options[options.index("--home") + 1]
    given = os.environ.pop(_READY_FD, "")
    told = int(given) if given.isdigit() else -1
    if told >= 0:
        os.set_inheritable(told, False)
    lock = take_lock(home)
    if lock is None:
        if told >= 0:
            os.write(told, b"busy\n")
        return BUSY
    adopt_orphans(home)
    supervisor = Supervisor(options, told=told)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, supervisor.stop)
    signal.signal(signal.SIGALRM, supervisor.end_server)
    code = supervisor.keep_server_running()
    os.close(lock)
    wait_for_adopted()
    return code


def take_lock(home: str) -> int | None:
    """Return the descriptor of the lock; None if another supervisor keeps a server running."""
    lock = os.open(os.path.join(home, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    ends = time.monotonic() + _LOOK_SECONDS_MAX
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > ends:
                os.close(lock)
                return None
        time.sleep(_LOOK_SECONDS)
    os.pwrite(lock, b"%-10d\n" % os.getpid(), 0)  # of one width, so that a reader never finds half of it
    return lock


def read_line(descriptor: int) -> bytes:
    """Return what a server says of its start; the line is not complete if the server has died."""
    line = b""
    while not line.endswith(b"\n") and (more := os.read(descriptor, 4096)):
        line += more
    return line


def adopt_orphans(home: str) -> None:
    """Become the parent of every process below that loses its own, under the name by which the server knows us."""
    if sys.platform == "linux":
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        prctl(_PR_SET_NAME, process_name(home).encode(), 0, 0, 0)
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wait_for_adopted() -> None:
    """Wait until no process is left below: an orphan that belonged to the system would look like the person's."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


if __name__ == "__main__":
    sys.exit(main())
