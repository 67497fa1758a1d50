"""The runner's loop: passes output on, takes orders, gives signs of life, and ends everything when the agent ends."""

from __future__ import annotations

import base64
import json
import os
import selectors
import signal
import time
from typing import Any

from maestro.runner import agent as agents
from maestro.runner import tree
from maestro.runner.control import Control, Peer
from maestro.runner.inbox import Inbox
from maestro.runner.order import NOTE, TEMPORARY, Order
from maestro.runner.reports import Reports
from maestro.runner.screen import Screen
from maestro.runner.talk import Talk
from maestro.runner.transcript import Transcript

_SIGNALS = {"int": signal.SIGINT, "term": signal.SIGTERM, "kill": signal.SIGKILL, "hup": signal.SIGHUP}
_TAIL_BYTES = 4096
_LEFTOVERS_SECONDS = 2.0
_REPORT_SECONDS = 10.0
_CHUNK = 1 << 16
_SIDE_MAX = 10_000  # of a terminal, in characters


class Runner:
    """One agent, from its start to its end."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._selector = selectors.DefaultSelector()
        self._reports = Reports(order)
        self._control = Control(order.folder, self._selector)
        self._transcript = Transcript(
            order.folder, columns=order.columns, rows=order.rows, bytes_max=order.transcript_bytes_max
        )
        self._control.on_leave = self._left
        self._screen = Screen()
        self._size = (order.columns, order.rows)
        self._talk: Talk | None = None
        self._inbox: Inbox | None = None
        self._agent: agents.Agent | None = None
        self._agent_started = ""
        self._tail = b""
        self._pending = bytearray()  # input that the agent has not taken yet
        self._awaits_input = False  # whether we are told when it takes more
        self._closes_input = False  # after the last of it
        self._is_done = False  # it may end as soon as nobody looks on
        self._finish_at: float | None = None  # when it is told to end, if it has not by itself
        self._stop_at: float | None = None  # when it is told to end for the last time
        self._asked: str | None = None  # by whom it was told to stop
        self._statuses: dict[int, int] = {}  # of every child that ended, also before we knew it as the agent

    def run(self) -> int:
        """Until the agent has ended, and the server knows."""
        tree.adopt_orphans()
        woken, waking = os.pipe()
        for end in (woken, waking):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signalled)
        self._selector.register(woken, selectors.EVENT_READ, lambda handle, events: os.read(woken, 4096))
        try:
            self._start()
        except agents.CannotStart as problem:
            return self._end({"code": 127, "problem": str(problem)})
        self._watch()
        return self._end(_how(self._status()))

    def _start(self) -> None:
        self._agent = agents.start(self._order, self._note)
        pid = self._agent.pid
        self._reports.tell("started", pid=pid, pid_started=self._agent_started, runner=os.getpid())
        self._selector.register(self._agent.output, selectors.EVENT_READ, self._heard)
        if self._order.conversation is not None:
            self._selector.register(self._agent.errors, selectors.EVENT_READ, self._heard_errors)
            self._talk = Talk(self._order, self._reports, show=self._show, write=self._send)
            self._talk.begin()
        elif self._order.inbox:
            self._inbox = Inbox(self._order)
        elif self._order.input is not None:
            self._write(self._order.input.encode(), then_close=not self._order.terminal)

    def _note(self, pid: int) -> None:
        """Who we and our agent are, for whoever finds it without us."""
        self._agent_started = tree.started(pid)  # now: it may have ended before it is asked for
        note = {
            "epoch": self._order.epoch,
            "runner": os.getpid(),
            "runner_started": tree.started(os.getpid()),
            "agent": pid,
            "agent_started": self._agent_started,
        }
        with open(f"{NOTE}.part", "w", encoding="utf-8") as file:
            file.write(json.dumps(note))
        os.replace(f"{NOTE}.part", NOTE)

    def _watch(self) -> None:
        """Everything that happens, until the agent's own process has ended and its output is drained."""
        beat_at = time.monotonic() + self._order.heartbeat_seconds
        while self._status() is None:
            now = time.monotonic()
            due = min(beat_at, self._stop_at or beat_at, self._finish_at or beat_at)
            for key, events in self._selector.select(max(due - now, 0)):
                key.data(self._handle, events)
            if time.monotonic() >= beat_at:
                self._reports.beat()
                beat_at = time.monotonic() + self._order.heartbeat_seconds
            if self._finish_at is not None and time.monotonic() >= self._finish_at:
                self._finish_at = None
                self._stop("its own end")
            if self._stop_at is not None and time.monotonic() >= self._stop_at:
                tree.signal_all(tree.descendants(os.getpid()), signal.SIGKILL)
                self._stop_at = time.monotonic() + 1.0

    def _signalled(self, number: int, frame: object) -> None:
        if number == signal.SIGCHLD:
            self._reap()
        elif self._asked is None:
            self._stop("signal")

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._statuses[pid] = status

    def _status(self) -> int | None:
        """How the agent's own process ended, if it has."""
        return self._statuses.get(self._agent.pid) if self._agent else None

    def _heard(self, handle: Any, events: int) -> None:
        assert self._agent is not None
        if data := self._read(self._agent.output):
            self._take(data)

    def _heard_errors(self, handle: Any, events: int) -> None:
        assert self._agent is not None
        if data := self._read(self._agent.errors):
            self._show(data.replace(b"\n", b"\r\n"))

    def _read(self, descriptor: int) -> bytes:
        """What is there; at its end it is listened to no more."""
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return b""
        except OSError:  # a terminal whose last process has gone says EIO
            data = b""
        if not data:
            self._selector.unregister(descriptor)
        return data

    def _take(self, data: bytes) -> None:
        """What the agent said: part of a conversation, or simply to be seen."""
        if self._talk is not None:
            self._talk.heard(data)
        else:
            self._show(data)

    def _show(self, data: bytes) -> None:
        """Kept first, then shown."""
        self._tail = (self._tail + data)[-_TAIL_BYTES:]
        self._screen.take(data)
        self._transcript.output(data)
        self._control.show(data)

    # Orders

    def _handle(self, peer: Peer, kind: bytes, payload: bytes) -> None:
        if kind in b"DZ" and peer.read_only:
            return
        if kind == b"D":
            self._write(payload)
        elif kind == b"Z":
            peer.size = _size(payload) or peer.size
            self._fit()
        elif kind == b"Q":
            self._request(peer, payload)
        else:
            peer.close()

    def _request(self, peer: Peer, payload: bytes) -> None:
        try:
            asked = json.loads(payload)
            do, name = str(asked["do"]), str(asked.get("name"))
            data = base64.b64decode(asked["data"], validate=True) if do == "write" else b""
        except (ValueError, KeyError, TypeError, AttributeError):
            peer.answer(ok=False, problem="not a request")
            return
        door = self._talk or self._inbox
        said = door.request(do, asked) if door is not None else None
        if said is not None:
            peer.answer(ok=True, **said)
        elif do == "state":
            peer.answer(ok=True, **self._state())
        elif do == "attach":
            peer.attached, peer.read_only = True, bool(asked.get("read_only"))
            peer.answer(ok=True, **self._state())
            peer.say(b"O", self._screen.picture())
        elif do == "watch":
            peer.watches = True
            peer.answer(ok=True, **self._state())
        elif do == "write":
            if self._agent is not None and self._agent.would_lose(data):
                peer.answer(ok=False, problem=f"Its terminal takes lines of at most {agents.LINE_BYTES_MAX} bytes.")
                return
            self._write(data)
            peer.answer(ok=True, left=len(self._pending))
        elif do == "interrupt" and self._order.interrupt:
            self._write(self._order.interrupt.encode())
            peer.answer(ok=True)
        elif do == "interrupt" or (do == "signal" and name in _SIGNALS):
            name = "int" if do == "interrupt" else name
            self._transcript.mark(f"signal {name}")
            if self._agent is not None:
                self._agent.signal_group(_SIGNALS[name])
            peer.answer(ok=True)
        elif do == "finish":
            self._finish()
            peer.answer(ok=True)
        elif do == "stop":
            self._stop(str(asked.get("by", "")))
            peer.answer(ok=True)
        else:
            peer.answer(ok=False, problem=f"cannot {do}")

    def _state(self) -> dict[str, Any]:
        pid = self._agent.pid if self._agent else None
        columns, rows = self._size
        return {
            "runner": os.getpid(),
            "agent": pid,
            "terminal": self._order.terminal,
            "stopping": self._asked,
            "left": len(self._pending),
            "columns": columns,
            "rows": rows,
            "attached": sum(peer.attached for peer in self._control.peers),
            **(self._talk.state() if self._talk is not None else {}),
        }

    def _finish(self) -> None:
        """It is told nothing more, and ends by that; if it does not, it is stopped."""
        self._is_done = True
        if self._order.terminal and any(peer.attached for peer in self._control.peers):
            return  # a person is at it: once they have gone
        if self._finish_at is None and self._order.terminal:
            self._finish_at = time.monotonic()  # it listens to its keyboard, which has no end
        elif self._finish_at is None:
            self._finish_at = time.monotonic() + self._order.stop_seconds
            self._closes_input = True
            self._drain_input()

    def _stop(self, by: str) -> None:
        """Ask it to end, with all it started; after a grace it is ended."""
        if self._asked is not None:
            return  # it has its time already, and gets no more
        self._asked = by or "someone"
        self._stop_at = time.monotonic() + self._order.stop_seconds
        self._transcript.mark(f"stop by {self._asked}")
        if self._agent is not None:
            self._agent.signal_group(signal.SIGTERM)
        tree.signal_all(tree.descendants(os.getpid()), signal.SIGTERM)

    def _left(self) -> None:
        """Someone who looked on has gone."""
        self._fit()
        if self._is_done:
            self._finish()

    def _fit(self) -> None:
        """As large as fits into every terminal that looks on; with none, as it was."""
        sizes = [peer.size for peer in self._control.peers if peer.size]
        if not sizes or self._agent is None:
            return
        fits = (min(columns for columns, _ in sizes), min(rows for _, rows in sizes))
        if fits != self._size:
            self._size = fits
            self._agent.resize(*fits)
            self._transcript.resized(*fits)

    def _write(self, data: bytes, *, then_close: bool = False) -> None:
        self._transcript.input(data)
        self._send(data, then_close=then_close)

    def _send(self, data: bytes, *, then_close: bool = False) -> None:
        self._pending += data
        self._closes_input = self._closes_input or then_close
        self._drain_input()

    def _drain_input(self, handle: Any = None, events: int = 0) -> None:
        """As much as the agent takes now; the rest when it takes more."""
        agent = self._agent
        if agent is None or agent.input < 0:
            self._pending.clear()
            return
        os.set_blocking(agent.input, False)
        try:
            while self._pending:
                del self._pending[: os.write(agent.input, self._pending)]
        except BlockingIOError:
            self._await_input(agent.input, waits=True)
            return
        except OSError:  # it listens no more
            self._pending.clear()
        self._await_input(agent.input, waits=False)
        if self._closes_input:
            os.close(agent.input)
            agent.input = -1

    def _await_input(self, descriptor: int, *, waits: bool) -> None:
        if waits and not self._awaits_input:
            self._selector.register(descriptor, selectors.EVENT_WRITE, self._drain_input)
        elif not waits and self._awaits_input:
            self._selector.unregister(descriptor)
        self._awaits_input = waits

    # The end

    def _end(self, how: dict[str, Any]) -> int:
        self._end_leftovers()  # first: one that floods would never let us come to the end of it
        self._drain_output()
        if self._order.conversation is not None or self._order.inbox:
            import shutil  # once, at the end

            shutil.rmtree(TEMPORARY, ignore_errors=True)
        if self._inbox is not None:
            self._inbox.close()
        self._transcript.mark(f"ended with {how.get('code')}")
        self._control.on_leave = lambda: None  # nothing is left that could fit anyone
        self._transcript.close()
        tail = self._tail.decode("utf-8", "replace")
        self._reports.tell("exited", **how, asked=self._asked, tail=tail)
        self._control.close(int(how.get("code") or 0))  # whoever looks on need not wait for a server
        self._reports.close(seconds=_REPORT_SECONDS)
        return 0

    def _drain_output(self) -> None:
        """What it said last."""
        if self._agent is None:
            return
        for descriptor, take in ((self._agent.output, self._take), (self._agent.errors, self._show)):
            while descriptor >= 0:
                try:
                    data = os.read(descriptor, _CHUNK)
                except OSError:
                    break
                if not data:
                    break
                take(data)
        if self._talk is not None:
            self._talk.close()

    def _end_leftovers(self) -> None:
        """Whatever the agent left behind ends with it: first asked, then not."""
        if not tree.has_children():
            return
        ends = time.monotonic() + _LEFTOVERS_SECONDS
        left = tree.descendants(os.getpid())
        tree.signal_all(left, signal.SIGTERM)
        while left:
            self._reap()
            if time.monotonic() > ends:
                tree.signal_all(left, signal.SIGKILL)
            time.sleep(0.02)
            left = tree.descendants(os.getpid())


def _size(payload: bytes) -> tuple[int, int] | None:
    columns, _, rows = payload.partition(b" ")
    if not (columns.isdigit() and rows.isdigit() and len(payload) < 16):
        return None
    found = (int(columns), int(rows))
    return found if all(0 < side <= _SIDE_MAX for side in found) else None


def _how(status: int | None) -> dict[str, Any]:
    if status is None:
        return {"code": None}
    if os.WIFSIGNALED(status):
        return {"code": 128 + os.WTERMSIG(status), "signal": signal.Signals(os.WTERMSIG(status)).name}
    return {"code": os.WEXITSTATUS(status)}
