"""What a runner tells the server, in order and not lost: what cannot be delivered lies in a file until it can."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections import deque
from typing import Any

from maestro.client import call
from maestro.core import limits
from maestro.runner.order import Order
from maestro.wire.end_record import EndRecord

SPOOL = "spool.json"
_PAUSE_SECONDS = 0.2
_PAUSE_SECONDS_MAX = 5.0
_AROUND_BYTES = 4_096  # what a frame holds beside a report
_FAILED, _NOT_NOW = 1, (3, 8)  # what a command ends with: the server could not; there is none, or it has no room
_LOOKS_SECONDS = 1.0
_IN_RECORD = ("started", "exited", "beat")  # what the record of the end makes up for


class Reports:
    """A thread that hands reports over one after another, so that the terminal never waits for the server."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._environment = {"MAESTRO_TOKEN": order.token}
        self._spool = os.path.join(order.folder, SPOOL)
        self._end_record = EndRecord(order.folder)
        self._end: dict[str, Any] | None = None  # the end as far as it is known, until the server has stored it
        self._is_recorded = False  # whether the reserved space holds that
        self._is_spooled = False  # whether the spool holds all that waits
        self._waiting: deque[dict[str, Any]] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._failures = 0  # of the server, over the same report
        self._is_stored = False  # whether the server has stored the last report that was handed over
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

    def record_end(self, **facts: Any) -> None:
        """Keep what is known of the end in the reserved space, before anything else is done about it."""
        self._end = {"kind": "exited", "epoch": self._order.epoch, **facts}
        self._is_recorded = self._end_record.write(self._end)

    def tell_end(self, **facts: Any) -> None:
        """Report the end of the program, the last report of a runner."""
        self.record_end(**facts)
        self.tell("exited", **facts)

    def close(self, *, seconds: float) -> None:
        """Deliver what is left. After a while, leave it to the spool, but never end before it is on the disk."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(seconds)
        while self._thread.is_alive() and not self._is_on_disk():
            self._thread.join(_LOOKS_SECONDS)

    def _is_on_disk(self) -> bool:
        """Return whether the next server finds all that waits: in the spool, or the end alone in its record."""
        with self._changed:
            others = any(report["kind"] not in _IN_RECORD for report in self._waiting)
        return self._is_spooled or (self._is_recorded and not others)

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
                if report["kind"] == "exited" and self._is_stored:
                    self._end_record.remove()  # after a refusal, the server reads the record instead
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
        self._is_stored = False
        if len(told) > limits.frame_bytes_max - _AROUND_BYTES:
            return _given_up(told, f"it has {len(told)} bytes")
        words = ["session", "heartbeat"] if report["kind"] == "beat" else self._report(told)
        try:
            answer = call.ask(words, path=self._order.socket, environment=self._environment)
        except (OSError, ValueError):
            return False
        if answer.code in _NOT_NOW or (answer.code == _FAILED and _is_retryable(answer.err)):
            return False
        if answer.code == _FAILED:
            self._failures += 1
            if self._failures < limits.runner_report_tries_max:
                return False
        self._failures = 0
        self._is_stored = answer.code == 0
        return self._is_stored or report["kind"] == "beat" or _given_up(told, answer.err.decode("utf-8", "replace"))

    def _report(self, told: str) -> list[str]:
        return ["runner", "report", "--json", "--secret", self._order.secret, told]

    def _keep(self) -> None:
        """Put on the disk what is not delivered yet. A full disk refuses the spool, not the record of the end."""
        with self._changed:
            left = [report for report in self._waiting if report["kind"] != "beat"]
        self._is_kept = bool(left)
        if self._end is not None and not self._is_recorded:
            self._is_recorded = self._end_record.write(self._end)
        try:
            self._write_spool(left)
        except OSError:
            self._is_spooled = False
        else:
            self._is_spooled = True

    def _write_spool(self, left: list[dict[str, Any]]) -> None:
        if not left:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._spool)
            return
        part = f"{self._spool}.part"
        try:
            with open(part, "w", encoding="utf-8") as file:
                json.dump(left, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, self._spool)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(part)  # it holds space that others need
            raise


def _is_retryable(said: bytes) -> bool:
    """Return whether the same report can be stored later: the server's disk is full, or it is stopping."""
    try:
        error = json.loads(said.decode("utf-8", "replace").strip().splitlines()[-1])
        return error.get("retryable") is True or str(error.get("code")).startswith("storage")
    except (ValueError, IndexError, AttributeError):
        return False


def _given_up(told: str, why: str) -> bool:
    """What comes after it must not wait for ever. Whoever looks for it finds it in the runner's log."""
    with contextlib.suppress(OSError):  # the disk of the log may be full
        sys.stderr.write(f"a report was left out: {why.strip()}: {told[:500]}\n")
        sys.stderr.flush()
    return True
