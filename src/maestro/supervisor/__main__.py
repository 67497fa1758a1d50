"""`python -m maestro.supervisor --home DIR …`: keep one server running. The options are those of the server.

People use `maestro up`. This module imports little, because the supervisor lives as long as the agents: after the
stop of the server, the supervisor waits for the last process that it has adopted, and ends.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import sys
import time
from contextlib import suppress

from maestro.supervisor import LOCK_FILE, supervisor_process_name

# The exit codes of a server: stopped, failed, another server runs, no data directory.
STOPPED, FAILED, BUSY, GONE = 0, 1, 5, 6
RESTART = "--restart"  # the server creates no data directory, because no command of the person waits for it
_STOP_SECONDS = 15  # from the signal to stop until the server is killed
_PAUSE_SECONDS, _PAUSE_SECONDS_MAX = 0.1, 30.0  # before the next start, after a server that did not become ready
_POLL_SECONDS = 0.05
_LOCK_WAIT_SECONDS_MAX = 0.5  # a command may hold the lock this long, to learn whether a supervisor runs
_FAILURES_MAX = {BUSY: 5}  # in a row; after that the supervisor leaves the data directory to the other server
_LIVED_SECONDS = 1.0  # a server that dies sooner after it became ready counts as a quick death
_QUICK_DEATHS_MAX = 100  # in a row; after that a ready server counts as a server that did not become ready
_READY_FD = "MAESTRO_READY_FD"
_PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 15, 36


class Supervisor:
    """The supervisor of a data directory, which runs one server after another until a signal comes."""

    def __init__(self, options: list[str], *, ready_fd: int) -> None:
        self._options = options
        self._ready_fd = ready_fd  # the pipe to the command that waits for the first server; -1 without a command
        self._server = 0  # the pid of the server, while one runs
        self._was_ready = False  # whether any server has become ready
        self._quick_deaths = 0  # in a row
        self._is_stopping = False

    def keep_server_running(self) -> int:
        """Start a server, and another one when it dies; return the exit code of the last server."""
        code, has_served = self._run([])
        if not self._was_ready and RESTART not in self._options:
            return code  # the first server has told the waiting command why it failed
        failures = 0 if has_served else 1
        while code not in (STOPPED, GONE) and failures <= _FAILURES_MAX.get(code, failures) and self._pause(failures):
            code, has_served = self._run([RESTART])
            failures = 0 if has_served else failures + 1
        return STOPPED if self._is_stopping else code

    def stop_server(self, *_: object) -> None:
        """Stop the server with a signal. This method is a signal handler."""
        self._is_stopping = True
        if self._server:
            with suppress(ProcessLookupError):  # the server may have ended a moment ago
                os.kill(self._server, signal.SIGTERM)
            signal.alarm(_STOP_SECONDS)

    def kill_server(self, *_: object) -> None:
        """Kill a server that does not stop. This method is a signal handler."""
        if self._server:
            with suppress(ProcessLookupError):
                os.kill(self._server, signal.SIGKILL)

    def _run(self, options: list[str]) -> tuple[int, bool]:
        """Run a server to its end; return its exit code (or minus its signal) and whether the server served long."""
        # An option may occur twice.
        command = [sys.executable, "-P", "-m", "maestro.server", *self._options, *options]
        reader, writer = os.pipe()
        os.set_inheritable(writer, True)
        try:
            self._server = os.posix_spawn(sys.executable, command, {**os.environ, _READY_FD: str(writer)})
        except OSError as error:  # an upgrade may be replacing the interpreter
            sys.stderr.write(f"supervisor: cannot start the server: {error}\n")
            os.close(reader)
            return FAILED, False
        finally:
            os.close(writer)
        if self._is_stopping:  # the signal came before the server had a pid
            self.stop_server()
        line = read_line(reader)
        os.close(reader)
        self._pass_on_ready_line(line)
        is_ready, started_at = line == b"ready\n", time.monotonic()
        self._was_ready |= is_ready
        code = self._wait_for_server()
        has_lived = time.monotonic() - started_at > _LIVED_SECONDS
        self._quick_deaths = 0 if has_lived else self._quick_deaths + 1
        return code, is_ready and self._quick_deaths <= _QUICK_DEATHS_MAX

    def _pass_on_ready_line(self, line: bytes) -> None:
        """Pass the result of the server's start on to the command that waits for the first server."""
        if self._ready_fd < 0:
            return
        with suppress(OSError):  # the command may have ended
            os.write(self._ready_fd, b"pid %d\n" % self._server + line)
        os.close(self._ready_fd)
        self._ready_fd = -1

    def _wait_for_server(self) -> int:
        """Wait for the server's end and return its exit code. Reap adopted processes that end meanwhile."""
        while True:
            pid, status = os.waitpid(-1, 0)
            if pid == self._server:
                self._server = 0
                signal.alarm(0)
                return os.waitstatus_to_exitcode(status)

    def _pause(self, failures: int) -> bool:
        """Wait before the next start, longer after each failure; return whether to start another server."""
        seconds = min(_PAUSE_SECONDS * 2**failures, _PAUSE_SECONDS_MAX) if failures else 0.0
        deadline = time.monotonic() + seconds
        while not self._is_stopping and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        return not self._is_stopping


def main() -> int:
    """Take the supervisor's lock of the data directory, keep a server running, return the last server's exit code."""
    options = sys.argv[1:]
    home = options[options.index("--home") + 1]
    number_text = os.environ.pop(_READY_FD, "")
    ready_fd = int(number_text) if number_text.isdigit() else -1
    if ready_fd >= 0:
        os.set_inheritable(ready_fd, False)
    lock = take_lock(home)
    if lock is None:
        if ready_fd >= 0:
            os.write(ready_fd, b"busy\n")
        return BUSY
    adopt_orphans(home)
    supervisor = Supervisor(options, ready_fd=ready_fd)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, supervisor.stop_server)
    signal.signal(signal.SIGALRM, supervisor.kill_server)
    code = supervisor.keep_server_running()
    os.close(lock)
    wait_for_adopted()
    return code


def take_lock(home: str) -> int | None:
    """Take the lock and return its descriptor; None if another supervisor holds the lock."""
    lock = os.open(os.path.join(home, LOCK_FILE), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + _LOCK_WAIT_SECONDS_MAX
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(lock)
                return None
        time.sleep(_POLL_SECONDS)
    os.pwrite(lock, b"%-10d\n" % os.getpid(), 0)  # of fixed width, so that a reader never finds a part of a pid
    return lock


def read_line(descriptor: int) -> bytes:
    """Return the line that a server writes after its start; the line is incomplete if the server has died."""
    line = b""
    while not line.endswith(b"\n") and (more := os.read(descriptor, 4096)):
        line += more
    return line


def adopt_orphans(home: str) -> None:
    """Become the parent of every descendant that loses its parent, and take the supervisor's process name."""
    if sys.platform == "linux":
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        prctl(_PR_SET_NAME, supervisor_process_name(home).encode(), 0, 0, 0)
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wait_for_adopted() -> None:
    """Wait until all descendants have ended. An orphan that init adopts would look like a process of the person."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


if __name__ == "__main__":
    sys.exit(main())
