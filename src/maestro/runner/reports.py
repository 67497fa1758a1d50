"""What a runner tells the server, in order and not lost: what cannot be delivered lies in a file until it can."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections import deque
from typing import Any

from maestro import limits
from maestro.client import call
from maestro.runner.order import Order

SPOOL = "spool.json"
_PAUSE_SECONDS = 0.2
_PAUSE_SECONDS_MAX = 5.0
_AROUND_BYTES = 4_096  # what a frame holds beside a report
_FAILED, _NOT_NOW = 1, (3, 8)  # what a command ends with: the server could not; there is none, or it has no room


class Reports:
    """A thread that hands reports over one after another, so that the terminal never waits for the server."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._environment = {"MAESTRO_TOKEN": order.token}
        self._spool = os.path.join(order.folder, SPOOL)
        self._waiting: deque[dict[str, Any]] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._failures = 0  # of the server, over the same report
        self._is_kept = True  # of an earlier runner something may lie there
        self._thread = threading.Thread(target=self._deliver, name="reports", daemon=True)
        self._thread.start()

    def tell(self, kind: str, **facts: Any) -> None:
        """Report something."""
        with self._changed:
            self._waiting.append({"kind": kind, "epoch": self._order.epoch, **facts})
            self._changed.notify()

    def beat(self) -> None:
        """A sign of life; one that waits already is enough."""
        with self._changed:
            if not any(report["kind"] == "beat" for report in self._waiting):
                self._waiting.append({"kind": "beat"})
                self._changed.notify()

    def close(self, *, seconds: float) -> None:
        """Deliver what is left, for a while; what then remains is in the spool for the next server."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(seconds)

    def _deliver(self) -> None:
        pause = _PAUSE_SECONDS
        while True:
            with self._changed:
                while not self._waiting and not self._closing:
                    self._changed.wait()
                if not self._waiting:
                    return
                report = self._waiting[0]
            if self._hand_over(report):
                pause = _PAUSE_SECONDS
                with self._changed:
                    self._waiting.popleft()
                if self._is_kept:
                    self._keep()
                continue
            self._keep()
            with self._changed:
                self._changed.wait(pause)
            pause = min(pause * 2, _PAUSE_SECONDS_MAX)

    def _hand_over(self, report: dict[str, Any]) -> bool:
        """Whether the server has it, or never will."""
        told = json.dumps(report)
        if len(told) > limits.frame_bytes_max - _AROUND_BYTES:
            return _given_up(told, f"it has {len(told)} bytes")
        words = ["session", "heartbeat"] if report["kind"] == "beat" else ["runner", "report", told]
        try:
            answer = call.ask(words, path=self._order.socket, environment=self._environment)
        except (OSError, ValueError):
            return False
        if answer.code in _NOT_NOW:
            return False
        if answer.code == _FAILED:
            self._failures += 1
            if self._failures < limits.runner_report_tries_max:
                return False
        self._failures = 0
        return answer.code == 0 or report["kind"] == "beat" or _given_up(told, answer.err.decode("utf-8", "replace"))

    def _keep(self) -> None:
        """What is not delivered yet, on the disk."""
        with self._changed:
            left = [report for report in self._waiting if report["kind"] != "beat"]
        self._is_kept = bool(left)
        if not left:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._spool)
            return
        part = f"{self._spool}.part"
        with open(part, "w", encoding="utf-8") as file:
            json.dump(left, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, self._spool)


def _given_up(told: str, why: str) -> bool:
    """What comes after it must not wait for ever. Whoever looks for it finds it in the runner's log."""
    sys.stderr.write(f"a report was left out: {why.strip()}: {told[:500]}\n")
    sys.stderr.flush()
    return True
