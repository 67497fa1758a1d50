"""`python -m maestro.runner.nursery`: has all that a runner needs loaded, and becomes one for every order.

To start an interpreter takes longer than all the rest of a session's start; to fork one takes a millisecond or two.
Orders come on standard input, each behind its length; on standard output it says who was born and who has ended.
A forked runner waits until the server has recorded its process and says that it may begin. If the server dies before
that, the runner ends without having done anything. Runners that have begun outlive the nursery, which ends with
its server.
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

LOG = "runner.log"
_LENGTH_BYTES = 4
_CHUNK = 1 << 16


class Nursery:
    """Orders in, runners out. No threads: what is forked must be whole."""

    def __init__(self) -> None:
        self._given = bytearray()
        self._children: dict[int, str] = {}
        self._waiting: dict[int, int] = {}  # by the order's number: the pipe on which its runner waits to begin
        self._woken, waking = os.pipe()
        for end in (self._woken, waking):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        self._own = (self._woken, waking)

    def run(self) -> None:
        """Until the server has gone."""
        while True:
            ready, _, _ = select.select([0, self._woken], [], [])
            if self._woken in ready:
                os.read(self._woken, _CHUNK)
                self._reap()
            if 0 in ready:
                data = os.read(0, _CHUNK)
                if not data:
                    return
                self._given += data
                self._take_orders()

    def _take_orders(self) -> None:
        while len(self._given) >= _LENGTH_BYTES:
            end = _LENGTH_BYTES + int.from_bytes(self._given[:_LENGTH_BYTES], "big")
            if len(self._given) < end:
                return
            order = bytes(self._given[_LENGTH_BYTES:end])
            del self._given[:end]
            self._bear(order)

    def _bear(self, message: bytes) -> None:
        given = json.loads(message)
        if "begin" in given:
            self._let_begin(given["begin"], is_wanted=given["is_wanted"])
            return
        number = given.pop("number")
        waits, leave = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(leave)
            self._be_runner(json.dumps(given).encode(), given["folder"], waits)
        os.close(waits)
        self._waiting[number] = leave
        self._children[pid] = given["session_id"]
        _say({"born": given["session_id"], "number": number, "pid": pid})

    def _let_begin(self, number: int, *, is_wanted: bool) -> None:
        """Let a forked runner begin, or end it."""
        leave = self._waiting.pop(number)
        if is_wanted:
            with contextlib.suppress(BrokenPipeError):  # the runner was ended meanwhile
                os.write(leave, b"1")
        os.close(leave)

    def _be_runner(self, order: bytes, folder: str, waits: int) -> None:
        """In the child: never returns."""
        code = 1
        try:
            for leave in self._waiting.values():  # of other runners: each must see the nursery's end
                os.close(leave)
            if not os.read(waits, 1):
                os._exit(0)  # the server has gone, or does not want this runner any more
            os.close(waits)
            os.setsid()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for descriptor in self._own:
                os.close(descriptor)
            log = os.open(os.path.join(folder, LOG), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            for standard in (1, 2):
                os.dup2(log, standard)
            os.close(log)
            code = runner.begin(order)
        except Exception:  # noqa: BLE001 the last handler of this process: what nobody foresaw is in its log
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)

    def _reap(self) -> None:
        while self._children:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            _say({"ended": self._children.pop(pid, ""), "pid": pid})


def _say(what: dict[str, object]) -> None:
    os.write(1, json.dumps(what).encode() + b"\n")


def main() -> int:
    gc.freeze()  # what is loaded stays shared with every runner
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        Nursery().run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
