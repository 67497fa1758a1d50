"""`python -m maestro.runner.forker`: the runner forker. It loads the runner's modules once, and forks each runner.

The start of an interpreter takes longer than the rest of a session's start; a fork takes a millisecond or two. Orders
come on standard input, each behind its length. The forker reports forked and ended runners on standard output. A
forked runner waits until the server has recorded its process and lets it begin. If the server dies before, the runner
ends without any effect. Runners that have begun outlive the forker, which ends with its server.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import sys

from maestro.runner import __main__ as runner
from maestro.system.signal_pipe import SignalPipe
from maestro.wire import runner_folder

_LENGTH_BYTES = 4
_CHUNK = 1 << 16


class RunnerForker:
    """Forks a runner for each order. The forker has no threads: a fork of a process with threads is not safe."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._children: dict[int, str] = {}
        self._waiting: dict[int, int] = {}  # by the order's number: the pipe that lets its runner begin
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        self._signals = SignalPipe()

    def run_until_server_ends(self) -> None:
        """Fork runners until the server is gone."""
        while True:
            ready, _, _ = select.select([0, self._signals.fileno()], [], [])
            if self._signals.fileno() in ready:
                self._signals.clear()
                self._reap_children()
            if 0 in ready:
                data = os.read(0, _CHUNK)
                if not data:
                    return
                self._received += data
                self._read_orders()

    def _read_orders(self) -> None:
        while len(self._received) >= _LENGTH_BYTES:
            end = _LENGTH_BYTES + int.from_bytes(self._received[:_LENGTH_BYTES], "big")
            if len(self._received) < end:
                return
            order = bytes(self._received[_LENGTH_BYTES:end])
            del self._received[:end]
            self._fork_or_release(order)

    def _fork_or_release(self, message: bytes) -> None:
        order = json.loads(message)
        if "begin" in order:
            self._let_begin(order["begin"], is_wanted=order["is_wanted"])
            return
        number = order.pop("number")
        waits, leave = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(leave)
            self._run_as_runner(json.dumps(order).encode(), order["folder"], waits)
        os.close(waits)
        self._waiting[number] = leave
        self._children[pid] = order["session_id"]
        _report_event({"born": order["session_id"], "number": number, "pid": pid})

    def _let_begin(self, number: int, *, is_wanted: bool) -> None:
        """Let a forked runner begin, or end the runner."""
        leave = self._waiting.pop(number)
        if is_wanted:
            with contextlib.suppress(BrokenPipeError):  # the runner has ended meanwhile
                os.write(leave, b"1")
        os.close(leave)

    def _run_as_runner(self, order: bytes, folder: str, waits: int) -> None:
        """Run as a runner, in the child process. Never return."""
        code = 1
        try:
            for leave in self._waiting.values():  # pipes of other runners, which must notice the forker's end
                os.close(leave)
            if not os.read(waits, 1):
                os._exit(0)  # the server is gone, or does not want this runner any more
            os.close(waits)
            os.setsid()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._signals.close()
            log = os.open(
                os.path.join(folder, runner_folder.LOG), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
            for standard in (1, 2):
                os.dup2(log, standard)
            os.close(log)
            runner.run_order(order)
            code = 0
        except Exception:  # noqa: BLE001 the last handler of this process: unexpected errors go to its log
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)

    def _reap_children(self) -> None:
        while self._children:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            _report_event({"ended": self._children.pop(pid, ""), "pid": pid})


def _report_event(event: dict[str, object]) -> None:
    os.write(1, json.dumps(event).encode() + b"\n")


def main() -> int:
    gc.freeze()  # loaded modules stay in memory that all runners share
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        RunnerForker().run_until_server_ends()
    return 0


if __name__ == "__main__":
    sys.exit(main())
