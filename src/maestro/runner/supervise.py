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
from maestro.runner.control import Control, Peer, size_in
from maestro.runner.front import Front
from maestro.runner.inbox import Inbox
from maestro.runner.inlet import Inlet
from maestro.runner.note import keep as keep_note
from maestro.runner.order import TEMPORARY, Order
from maestro.runner.reports import Reports
from maestro.runner.showing import Showing
from maestro.runner.talk import Talk
from maestro.runner.wire import Wire

_SIGNALS = {"int": signal.SIGINT, "term": signal.SIGTERM, "kill": signal.SIGKILL, "hup": signal.SIGHUP}
_REPORT_SECONDS = 10.0
_CHUNK = 1 << 16
_ENTER = (b"\r", b"\n", b"\x1b[13")  # the last where a program has told the terminal to spell every key


class Runner:
    """One agent, from its start to its end."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._selector = selectors.DefaultSelector()
        self._reports = Reports(order)
        self._control = Control(order.folder, self._selector)
        self._showing = Showing(order, self._control)
        self._control.on_leave = self._left
        self._size = (order.columns, order.rows)
        self._talk: Talk | None = None
        self._inbox: Inbox | None = None
        self._wire: Wire | None = None  # where the agent is spoken with on a socket of its own
        self._front: Front | None = None  # what is in the terminal then
        self._agent: agents.Agent | None = None
        self._agent_started = ""
        self._inlet: Inlet | None = None  # what the agent itself is told
        self._is_done = False  # it may end as soon as nobody looks on, unless it is told something new
        self._finish_at: float | None = None  # when it is told to end, if it has not by itself
        self._stop_at: float | None = None  # when it is told to end for the last time
        self._asked: str | None = None  # by whom it was told to stop
        self._has_ended = False  # the program itself has
        self._children = tree.Children()

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
        return self._end(agents.how(self._status()))

    def _start(self) -> None:
        if self._order.listens:
            self._meet_on_socket()
        if self._order.inbox:
            self._inbox = Inbox(self._order)
        self._agent = agents.start(self._order, self._note)
        pid = self._agent.pid
        self._reports.tell("started", pid=pid, pid_started=self._agent_started, runner=os.getpid())
        self._inlet = Inlet(self._agent.input, self._selector)
        self._selector.register(self._agent.output, selectors.EVENT_READ, self._heard)
        if self._order.conversation is not None:
            self._selector.register(self._agent.errors, selectors.EVENT_READ, self._heard_errors)
            say = self._wire.say if self._wire is not None else self._inlet.write
            self._talk = Talk(self._order, self._reports, show=self._showing.tell, write=say, join=self._join)
            self._talk.begin()
        elif self._order.input is not None:
            self._write(self._order.input.encode())
            if not self._order.terminal:
                self._inlet.finish()

    def _meet_on_socket(self) -> None:
        """The agent listens there also for the program that is to be in the terminal."""
        self._wire = Wire(self._order.listens, self._selector, heard=self._heard_on_wire, lost=self._lost)
        if self._order.front:
            self._front = Front(self._order, self._selector, show=self._showing.show, on_leave=self._let_end)

    def _note(self, pid: int) -> None:
        """Who we and our agent are, for whoever finds it without us."""
        self._agent_started = tree.started(pid)  # now: it may have ended before it is asked for
        keep_note(self._order.epoch, pid, self._agent_started)

    def _watch(self) -> None:
        """Everything that happens, until the agent's own process has ended and its output is drained."""
        beat_at = time.monotonic() + self._order.heartbeat_seconds
        while self._status() is None:
            for key, events in self._selector.select(max(self._due(beat_at) - time.monotonic(), 0)):
                key.data(self._handle, events)
            self._look_after_others()
            if time.monotonic() >= beat_at:
                self._reports.beat()
                beat_at = time.monotonic() + self._order.heartbeat_seconds
            if self._finish_at is not None and time.monotonic() >= self._finish_at:
                self._finish_at = None
                self._stop("its own end")
            if self._stop_at is not None and time.monotonic() >= self._stop_at:
                tree.signal_all(tree.descendants(os.getpid()), signal.SIGKILL)
                self._stop_at = time.monotonic() + 1.0

    def _due(self, beat_at: float) -> float:
        """When there is something to do, if nothing happens."""
        wire = self._wire.due if self._wire is not None else None
        front = self._front.due if self._front is not None and not self._is_ending else None
        return min([beat_at, *(at for at in (self._stop_at, self._finish_at, wire, front) if at is not None)])

    def _look_after_others(self) -> None:
        if self._wire is not None:
            self._wire.look()
        if self._front is not None and not self._is_ending:
            self._front.look(self._children.statuses)
            self._showing.is_anothers = self._front.is_there

    @property
    def _has_terminal(self) -> bool:
        return self._order.terminal or bool(self._order.front)

    @property
    def _is_ending(self) -> bool:
        return self._asked is not None or self._finish_at is not None

    def _signalled(self, number: int, frame: object) -> None:
        if number == signal.SIGCHLD:
            self._children.reap()
        elif self._asked is None:
            self._stop("signal")

    def _status(self) -> int | None:
        """How the agent's own process ended, if it has."""
        return self._children.statuses.get(self._agent.pid) if self._agent else None

    def _heard(self, handle: Any, events: int) -> None:
        assert self._agent is not None
        if data := self._read(self._agent.output):
            self._take(data)

    def _heard_errors(self, handle: Any, events: int) -> None:
        assert self._agent is not None
        if data := self._read(self._agent.errors):
            self._complain(data)

    def _complain(self, data: bytes) -> None:
        self._showing.tell(data.replace(b"\n", b"\r\n"))

    def _heard_on_wire(self, line: bytes) -> None:
        assert self._talk is not None
        self._talk.heard(line)

    def _lost(self, why: str) -> None:
        """An agent that cannot be spoken with is of no use, and has not ended well."""
        if not self._is_ending and self._agent is not None:
            self._complain(f"! {why}\n".encode())
            self._agent.signal_group(signal.SIGKILL)

    def _join(self, conversation: str) -> None:
        if self._front is not None:
            self._front.join(conversation)

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
        if self._wire is not None:
            self._complain(data)
        elif self._talk is not None:
            self._talk.heard(data)
        else:
            self._showing.show(data)

    # Orders

    def _handle(self, peer: Peer, kind: bytes, payload: bytes) -> None:
        if kind in b"DZ" and peer.read_only:
            return
        if kind == b"D":
            self._write(payload)
        elif kind == b"Z":
            peer.size = size_in(payload) or peer.size
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
        said = self._door.request(do, asked) if self._door is not None else None
        if said is not None:
            peer.answer(ok=True, **said)
        elif do == "state":
            peer.answer(ok=True, **self._state())
        elif do == "attach":
            peer.attached, peer.read_only = True, bool(asked.get("read_only"))
            peer.answer(ok=True, **self._state())
            peer.say(b"O", self._showing.picture())
        elif do == "watch":
            peer.watches = True
            peer.answer(ok=True, **self._state())
        elif do == "write":
            if self._would_lose(data):
                peer.answer(ok=False, problem=f"Its terminal takes lines of at most {agents.LINE_BYTES_MAX} bytes.")
                return
            self._write(data)
            peer.answer(ok=True, left=self._untaken())
        elif do == "interrupt" and self._order.interrupt:
            self._write(self._order.interrupt.encode())
            peer.answer(ok=True)
        elif do == "interrupt" or (do == "signal" and name in _SIGNALS):
            name = "int" if do == "interrupt" else name
            self._showing.transcript.mark(f"signal {name}")
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
            "terminal": self._has_terminal,
            "stopping": self._asked,
            "left": self._untaken(),
            "columns": columns,
            "rows": rows,
            "attached": sum(peer.attached for peer in self._control.peers),
            **(self._door.state() if self._door is not None else {}),
        }

    @property
    def _door(self) -> Talk | Inbox | None:
        """Where something can be said to it without its keyboard."""
        return self._talk or self._inbox

    def _finish(self) -> None:
        """It is told nothing more, and ends by that; if it does not, it is stopped."""
        self._is_done = True
        if self._has_terminal and any(peer.attached for peer in self._control.peers):
            return  # a person is at it: once they have gone
        self._let_end()

    def _let_end(self) -> None:
        if self._finish_at is not None:
            return
        if self._order.terminal:
            self._finish_at = time.monotonic()  # it listens to its keyboard, which has no end
            return
        self._finish_at = time.monotonic() + self._order.stop_seconds
        if self._inlet is not None:
            self._inlet.finish()
        if self._wire is not None and self._agent is not None:
            self._wire.close()
            self._agent.signal_group(signal.SIGTERM)  # one that listens for others would wait for them

    def _stop(self, by: str) -> None:
        """Ask it to end, with all it started; after a grace it is ended."""
        if self._asked is not None:
            return  # it has its time already, and gets no more
        self._asked = by or "someone"
        if not self._has_ended:
            self._reports.record_end(code=None, asked=self._asked)  # before the program is told: a stop stays a stop
        self._stop_at = time.monotonic() + self._order.stop_seconds
        self._showing.transcript.mark(f"stop by {self._asked}")
        if self._agent is not None:
            self._agent.signal_group(signal.SIGTERM)
        if self._inbox is None or not self._inbox.has_waiter:  # whose end would be a word to the agent: it goes last
            tree.signal_all(tree.descendants(os.getpid()), signal.SIGTERM)

    def _left(self) -> None:
        """Someone who looked on has gone."""
        self._fit()
        if self._is_done and (self._talk is None or self._talk.is_idle):
            self._finish()

    def _fit(self) -> None:
        """As large as fits into every terminal that looks on; with none, as it was."""
        sizes = [peer.size for peer in self._control.peers if peer.size]
        if not sizes or self._agent is None:
            return
        fits = (min(columns for columns, _ in sizes), min(rows for _, rows in sizes))
        if fits != self._size:
            self._size = fits
            (self._front or self._agent).resize(*fits)
            self._showing.transcript.resized(*fits)

    def _write(self, data: bytes) -> None:
        """What someone types, or was sent."""
        if self._talk is None and any(key in data for key in _ENTER):
            self._is_done = False  # it may work again, which only the server hears: it says anew when that is over
        self._showing.transcript.input(data)
        into = self._front or self._inlet
        if into is not None:
            into.write(data)

    def _would_lose(self, data: bytes) -> bool:
        at = self._front or self._agent
        return at is not None and at.would_lose(data)

    def _untaken(self) -> int:
        """How many bytes of what was typed have not been taken yet."""
        into = self._front or self._inlet
        return into.left if into is not None else 0

    # The end

    def _end(self, how: dict[str, Any]) -> int:
        self._has_ended = True
        self._reports.record_end(**how, asked=self._asked)
        if self._wire is not None and self._agent is not None:
            self._wire.close()
            self._agent.signal_group(signal.SIGKILL)  # what is left of it would go on for others, if it were asked
        tree.end_all(self._children)  # first: one that floods would never let us come to the end of it
        self._drain_output()
        if self._order.conversation is not None or self._order.inbox:
            import shutil  # once, at the end

            shutil.rmtree(TEMPORARY, ignore_errors=True)
        if self._inbox is not None:
            self._inbox.close()
        if self._wire is not None:
            self._wire.remove()
        self._control.on_leave = lambda: None  # nothing is left that could fit anyone
        self._showing.close(f"ended with {how.get('code')}")
        self._reports.tell_end(**how, asked=self._asked, tail=self._showing.tail)
        self._control.close(int(how.get("code") or 0))  # whoever looks on need not wait for a server
        self._reports.close(seconds=_REPORT_SECONDS)
        return 0

    def _drain_output(self) -> None:
        """What it said last."""
        if self._agent is None:
            return
        if self._front is not None:
            self._front.close()
        for descriptor, take in ((self._agent.output, self._take), (self._agent.errors, self._complain)):
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
