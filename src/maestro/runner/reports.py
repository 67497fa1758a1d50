"""Deliver the runner's reports to the server, in order and without loss. Undelivered reports wait in a spool file."""

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
from maestro.wire import exit_codes, frames, runner_folder
from maestro.wire.end_record import EndRecord
from maestro.wire.runner_order import RunnerOrder
from maestro.wire.runner_reports import EXITED, HEARTBEAT, STARTED

_PAUSE_SECONDS = 0.2
_PAUSE_SECONDS_MAX = 5.0
_AROUND_BYTES = 4_096  # the size of a frame beside its report
_NOT_NOW = (exit_codes.TIMED_OUT, exit_codes.NO_SERVER)  # no server answers, or the server has no room
_POLL_SECONDS = 1.0
_IN_RECORD = (STARTED, EXITED, HEARTBEAT)  # the end record replaces these reports


class ReportSender:
    """A thread that delivers reports one after another: the terminal must never wait for the server."""

    def __init__(self, order: RunnerOrder) -> None:
        self._order = order
        self._environment = {"MAESTRO_TOKEN": order.token}
        self._spool = os.path.join(order.folder, runner_folder.SPOOL)
        self._end_record = EndRecord(order.folder)
        self._end: dict[str, Any] | None = None  # the known facts about the program's end
        self._is_recorded = False  # whether the end record on disk holds these facts
        self._is_spooled = False  # whether the spool holds all waiting reports
        self._waiting: deque[dict[str, Any]] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._failures = 0  # failures of the server with the same report
        self._is_stored = False  # whether the server has stored the last delivered report
        self._may_have_spool = True  # whether a spool may exist, also from an earlier runner
        self._thread = threading.Thread(target=self._deliver_reports, name="reports", daemon=True)
        self._thread.start()

    def queue_report(self, kind: str, **facts: Any) -> None:
        """Queue a report for delivery."""
        with self._changed:
            self._waiting.append({"kind": kind, "epoch": self._order.epoch, **facts})
            self._changed.notify()

    def queue_heartbeat(self) -> None:
        """Queue a heartbeat, unless a heartbeat is already waiting."""
        with self._changed:
            if not any(report["kind"] == HEARTBEAT for report in self._waiting):
                self._waiting.append({"kind": HEARTBEAT})
                self._changed.notify()

    def record_end(self, **facts: Any) -> None:
        """Write the known facts about the end into the end record, before any other step."""
        self._end = {"kind": EXITED, "epoch": self._order.epoch, **facts}
        self._is_recorded = self._end_record.write_report(self._end)

    def queue_end(self, **facts: Any) -> None:
        """Queue the report of the program's end, which is the last report of a runner."""
        self.record_end(**facts)
        self.queue_report(EXITED, **facts)

    def close(self, *, seconds: float) -> None:
        """Deliver the waiting reports for `seconds`, then leave them in the spool. Wait until they are on disk."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(seconds)
        while self._thread.is_alive() and not self._is_on_disk():
            self._thread.join(_POLL_SECONDS)

    def _is_on_disk(self) -> bool:
        """Return whether the disk holds all waiting reports: in the spool, or only the end in the end record."""
        with self._changed:
            has_others = any(report["kind"] not in _IN_RECORD for report in self._waiting)
        return self._is_spooled or (self._is_recorded and not has_others)

    def _deliver_reports(self) -> None:
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
                if report["kind"] == EXITED and self._is_stored:
                    self._end_record.remove()  # after a refusal, the server reads the record instead
                if self._may_have_spool:
                    self._write_to_disk()
                continue
            self._write_to_disk()
            with self._changed:
                self._changed.wait(pause)
            pause = min(pause * 2, _PAUSE_SECONDS_MAX)

    def _hand_over(self, report: dict[str, Any]) -> bool:
        """Send a report to the server; return True if the server has stored it or will never store it."""
        text = json.dumps(report)
        self._is_stored = False
        if len(text) > frames.PAYLOAD_BYTES_MAX - _AROUND_BYTES:
            return _drop_report(text, f"the report has {len(text)} bytes")
        arguments = ["session", "heartbeat"] if report["kind"] == HEARTBEAT else self._report_arguments(text)
        try:
            answer = call.run_on_server(arguments, socket_path=self._order.socket, environment=self._environment)
        except (OSError, ValueError):
            return False
        if answer.code in _NOT_NOW or (answer.code == exit_codes.FAILED and _is_retryable(answer.err)):
            return False
        if answer.code == exit_codes.FAILED:
            self._failures += 1
            if self._failures < limits.runner_report_attempts_max:
                return False
        self._failures = 0
        self._is_stored = answer.code == exit_codes.DONE
        if self._is_stored or report["kind"] == HEARTBEAT:
            return True
        return _drop_report(text, answer.err.decode("utf-8", "replace"))

    def _report_arguments(self, text: str) -> list[str]:
        return ["runner", "report", "--json", "--secret", self._order.secret, text]

    def _write_to_disk(self) -> None:
        """Write undelivered reports to the disk. A full disk refuses the spool, but not the end record."""
        with self._changed:
            left = [report for report in self._waiting if report["kind"] != HEARTBEAT]
        self._may_have_spool = bool(left)
        if self._end is not None and not self._is_recorded:
            self._is_recorded = self._end_record.write_report(self._end)
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
                os.unlink(part)  # the partial file would hold space on a full disk
            raise


def _is_retryable(output: bytes) -> bool:
    """Return whether the server can store the report later: the server's disk is full, or the server is stopping."""
    try:
        error = json.loads(output.decode("utf-8", "replace").strip().splitlines()[-1])
        return error.get("retryable") is True or str(error.get("code")).startswith("storage")
    except (ValueError, IndexError, AttributeError):
        return False


def _drop_report(text: str, why: str) -> bool:
    """Drop a report, and write it to the runner's log: later reports must not wait for ever. Return True."""
    with contextlib.suppress(OSError):  # the disk of the log may be full
        sys.stderr.write(f"a report was dropped: {why.strip()}: {text[:500]}\n")
        sys.stderr.flush()
    return True
