"""The runner's main loop: pass on output, carry out requests, send heartbeats, and clean up when the program ends."""

from __future__ import annotations

import base64
import json
import os
import selectors
import signal
import time
from typing import Any

from maestro.runner import process_tree, program
from maestro.runner.control import ControlPeer, ControlSocket, parse_size
from maestro.runner.conversation import RunnerConversation
from maestro.runner.identity_file import write_identity
from maestro.runner.inbox import ProgramInbox
from maestro.runner.input_writer import InputWriter
from maestro.runner.output import SessionOutput
from maestro.runner.reading import read_available
from maestro.runner.reports import ReportSender
from maestro.runner.terminal_client import TerminalClient
from maestro.runner.websocket_link import WebSocketLink
from maestro.system.signal_pipe import SignalPipe
from maestro.wire import frames, runner_folder, runner_reports, runner_requests
from maestro.wire.runner_order import RunnerOrder

_LAST_REPORTS_SECONDS_MAX = 10.0
# The third form is Enter in a terminal that reports every key as an escape code.
_ENTER = (b"\r", b"\n", b"\x1b[13")


class Runner:
    """The main loop of a runner, from the start to the end of its program.

    Each callback in the selector gets the handler of frames and the events of its descriptor, used or not.
    """

    def __init__(self, order: RunnerOrder) -> None:
        self._order = order
        self._selector = selectors.DefaultSelector()
        self._reports = ReportSender(order)
        self._control = ControlSocket(order.folder, self._selector)
        self._output = SessionOutput(order, self._control)
        self._control.on_peer_gone = self._handle_peer_gone
        self._size = (order.columns, order.rows)
        self._conversation: RunnerConversation | None = None
        self._inbox: ProgramInbox | None = None
        self._link: WebSocketLink | None = None  # the connection to a program that listens on its own socket
        self._client: TerminalClient | None = None  # the terminal client of such a program
        self._program: program.RunningProgram | None = None
        self._program_started = ""
        self._input: InputWriter | None = None  # the input of the program itself
        self._may_end = False  # the program may end when no terminal is attached, unless it gets new input
        self._finish_at: float | None = None  # the time of the stop, if the program does not end by itself
        self._kill_at: float | None = None  # the time of the next SIGKILL
        self._stopped_by: str | None = None  # the name of the caller that asked for the stop
        self._has_ended = False  # whether the program's own process has ended
        self._children = process_tree.ChildStatuses()

    def run_to_end(self) -> None:
        """Run the program to its end, and report the end to the server."""
        process_tree.adopt_orphans()
        signals = SignalPipe()
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._handle_signal)
        self._selector.register(signals, selectors.EVENT_READ, lambda handle, events: signals.clear())
        try:
            self._start_program()
        except program.ProgramNotStarted as problem:
            self._report_end({"code": 127, "problem": str(problem)})
            return
        self._report_end(program.describe_end(self._handle_events_until_end()))

    def _start_program(self) -> None:
        if self._order.socket_path:
            self._prepare_socket_link()
        if self._order.inbox:
            self._inbox = ProgramInbox(self._order)
        self._program = program.start_program(self._order, self._write_identity)
        pid, started = self._program.pid, self._program_started
        self._reports.queue_report(runner_reports.STARTED, pid=pid, pid_started=started, runner=os.getpid())
        self._input = InputWriter(self._program.input, self._selector)
        self._selector.register(self._program.output, selectors.EVENT_READ, self._read_output)
        if self._order.conversation is not None:
            self._selector.register(self._program.errors, selectors.EVENT_READ, self._read_errors)
            self._conversation = RunnerConversation(
                self._order,
                self._reports,
                show=self._output.show_unless_drawn,
                write=self._link.send_lines if self._link is not None else self._input.write_input,
                on_joinable=self._plan_client_start,
            )
            self._conversation.start_conversation()
        elif self._order.input is not None:
            self._write_input(self._order.input.encode())
            if not self._order.terminal:
                self._input.close_after_pending()

    def _prepare_socket_link(self) -> None:
        """Prepare the connection to the program's socket, and the terminal client that uses the same socket."""
        self._link = WebSocketLink(
            self._order.socket_path, self._selector, on_line=self._apply_line, on_loss=self._kill_after_loss
        )
        if self._order.terminal_client:
            self._client = TerminalClient(
                self._order, self._selector, show=self._output.show_bytes, on_ended_by_person=self._begin_finish
            )

    def _write_identity(self, pid: int) -> None:
        """Write the identity file, for a server that finds the program without its runner."""
        # Read the start time now: the program may end at any moment.
        self._program_started = process_tree.process_start(pid)
        write_identity(self._order.epoch, pid, self._program_started)

    def _handle_events_until_end(self) -> int:
        """Handle all events until the program's own process has ended. Return the exit status of the process."""
        heartbeat_at = time.monotonic() + self._order.heartbeat_seconds
        while (status := self._exit_status()) is None:
            for key, events in self._selector.select(max(self._next_wakeup(heartbeat_at) - time.monotonic(), 0)):
                key.data(self._handle_frame, events)
            self._connect_and_start_client()
            if time.monotonic() >= heartbeat_at:
                self._reports.queue_heartbeat()
                heartbeat_at = time.monotonic() + self._order.heartbeat_seconds
            if self._finish_at is not None and time.monotonic() >= self._finish_at:
                self._finish_at = None
                self._stop_program("the end of its input")
            if self._kill_at is not None and time.monotonic() >= self._kill_at:
                process_tree.signal_all(process_tree.find_descendants(os.getpid()), signal.SIGKILL)
                self._kill_at = time.monotonic() + 1.0
        return status

    def _next_wakeup(self, heartbeat_at: float) -> float:
        """Return the time at which the loop must wake up without an event."""
        link_due = self._link.due if self._link is not None else None
        client_due = self._client.due if self._client is not None and not self._is_ending else None
        times = (heartbeat_at, self._kill_at, self._finish_at, link_due, client_due)
        return min(at for at in times if at is not None)

    def _connect_and_start_client(self) -> None:
        if self._link is not None:
            self._link.connect_if_due()
        if self._client is not None and not self._is_ending:
            self._client.handle_end_or_start(self._children.statuses)
            self._output.is_drawn_by_client = self._client.is_running

    @property
    def _has_terminal(self) -> bool:
        return self._order.terminal or bool(self._order.terminal_client)

    @property
    def _is_ending(self) -> bool:
        return self._stopped_by is not None or self._finish_at is not None

    def _handle_signal(self, number: int, frame: object) -> None:
        if number == signal.SIGCHLD:
            self._children.reap_children()
        elif self._stopped_by is None:
            self._stop_program(runner_reports.BY_SIGNAL)

    def _exit_status(self) -> int | None:
        """Return the exit status of the program's own process; None while the process runs."""
        return self._children.statuses.get(self._program.pid) if self._program else None

    def _read_output(self, handle: Any, events: int) -> None:
        assert self._program is not None
        if data := self._read_available(self._program.output):
            self._handle_output(data)

    def _read_errors(self, handle: Any, events: int) -> None:
        assert self._program is not None
        if data := self._read_available(self._program.errors):
            self._show_error_text(data)

    def _show_error_text(self, data: bytes) -> None:
        self._output.show_unless_drawn(data.replace(b"\n", b"\r\n"))

    def _apply_line(self, line: bytes) -> None:
        assert self._conversation is not None
        self._conversation.process_output(line)

    def _kill_after_loss(self, why: str) -> None:
        """Kill a program whose connection is lost: the session cannot go on, and must not end as a success."""
        if not self._is_ending and self._program is not None:
            self._show_error_text(f"! {why}\n".encode())
            self._program.signal_group(signal.SIGKILL)

    def _plan_client_start(self, conversation_id: str) -> None:
        if self._client is not None:
            self._client.plan_start(conversation_id)

    def _read_available(self, descriptor: int) -> bytes:
        """Return the available bytes; at the end of the stream, remove the descriptor from the selector."""
        data = read_available(descriptor)
        if data == b"":
            self._selector.unregister(descriptor)
        return data or b""

    def _handle_output(self, data: bytes) -> None:
        """Handle output of the program: a part of the conversation, or text for the screen."""
        if self._link is not None:
            self._show_error_text(data)
        elif self._conversation is not None:
            self._conversation.process_output(data)
        else:
            self._output.show_bytes(data)

    def _handle_frame(self, peer: ControlPeer, kind: bytes, payload: bytes) -> None:
        if kind in (frames.DATA, frames.SIZE) and peer.is_read_only:
            return
        if kind == frames.DATA:
            self._write_input(payload)
        elif kind == frames.SIZE:
            peer.size = parse_size(payload) or peer.size
            self._fit_terminal()
        elif kind == frames.QUERY:
            self._handle_request(peer, payload)
        else:
            peer.close()

    def _handle_request(self, peer: ControlPeer, payload: bytes) -> None:
        try:
            request = json.loads(payload)
            action = str(request["do"])
            data = base64.b64decode(request["data"], validate=True) if action == runner_requests.WRITE else b""
        except (ValueError, KeyError, TypeError, AttributeError):
            problem = "the request must be a JSON object with `do`; `write` also needs `data` in base 64"
            peer.send_refusal(problem)
            return
        answer = self._push_target.handle_request(action, request) if self._push_target is not None else None
        if answer is not None:
            peer.send_answer(answer)
        elif action == runner_requests.STATE:
            peer.send_answer(self._describe_state())
        elif action == runner_requests.ATTACH:
            peer.is_attached, peer.is_read_only = True, bool(request.get("read_only"))
            peer.send_answer(self._describe_state())
            peer.send_frame(frames.OUT, self._output.draw_picture())
        elif action == runner_requests.WATCH:
            peer.watches = True
            peer.send_answer(self._describe_state())
        elif action == runner_requests.WRITE:
            if self._would_cut_line(data):
                limit = f"The terminal takes lines of at most {program.LINE_BYTES_MAX} bytes."
                peer.send_refusal(f"{limit} Send shorter lines.")
                return
            self._write_input(data)
            peer.send_answer({runner_requests.LEFT: self._pending_input()})
        elif action == runner_requests.INTERRUPT:
            self._interrupt_program()
            peer.send_answer()
        elif action == runner_requests.FINISH:
            self._finish_program()
            peer.send_answer()
        elif action == runner_requests.STOP:
            self._stop_program(str(request.get("by", "")))
            peer.send_answer()
        else:
            peer.send_refusal(f"this runner cannot carry out the request {action!r}")

    def _interrupt_program(self) -> None:
        """Interrupt the program, with its own keys or with SIGINT."""
        if self._order.interrupt:
            self._write_input(self._order.interrupt.encode())
            return
        self._output.transcript.add_marker("signal int")
        assert self._program is not None
        self._program.signal_group(signal.SIGINT)

    def _describe_state(self) -> dict[str, Any]:
        assert self._program is not None
        return {
            runner_requests.RUNNER: os.getpid(),
            runner_requests.PROGRAM: self._program.pid,
            runner_requests.TERMINAL: self._has_terminal,
            runner_requests.STOPPING: self._stopped_by,
            runner_requests.LEFT: self._pending_input(),
            runner_requests.COLUMNS: self._size[0],
            runner_requests.ROWS: self._size[1],
            runner_requests.ATTACHED: sum(peer.is_attached for peer in self._control.peers),
            **(self._push_target.describe_state() if self._push_target is not None else {}),
        }

    @property
    def _push_target(self) -> RunnerConversation | ProgramInbox | None:
        """Return the conversation or the inbox, which takes pushes without the keyboard; None if there is neither."""
        return self._conversation or self._inbox

    def _finish_program(self) -> None:
        """Let the program end, because no more input comes. Stop the program later, if it does not end."""
        self._may_end = True
        if self._has_terminal and any(peer.is_attached for peer in self._control.peers):
            return  # a person is attached: the program ends after the person has left
        self._begin_finish()

    def _begin_finish(self) -> None:
        if self._finish_at is not None:
            return
        if self._order.terminal:
            self._finish_at = time.monotonic()  # stop at once: the keyboard has no end of input
            return
        self._finish_at = time.monotonic() + self._order.stop_seconds
        if self._input is not None:
            self._input.close_after_pending()
        if self._link is not None and self._program is not None:
            self._link.close()
            self._program.signal_group(signal.SIGTERM)  # a listening program would wait for other clients

    def _stop_program(self, by: str) -> None:
        """Ask the program and its descendants to end, with SIGTERM; after a grace period, kill them."""
        if self._stopped_by is not None:
            return  # a second stop does not extend the grace period
        self._stopped_by = by or "an unnamed caller"
        if not self._has_ended:
            # Record the stop before the signal, so that the end counts as a stop.
            self._reports.record_end(code=None, asked=self._stopped_by)
        self._kill_at = time.monotonic() + self._order.stop_seconds
        self._output.transcript.add_marker(f"stop by {self._stopped_by}")
        if self._program is not None:
            self._program.signal_group(signal.SIGTERM)
        # A command that waits at the inbox must end last: its end reaches the model like a push.
        if self._inbox is None or not self._inbox.has_waiter:
            process_tree.signal_all(process_tree.find_descendants(os.getpid()), signal.SIGTERM)

    def _handle_peer_gone(self) -> None:
        """Fit the terminal to the remaining peers, and let a finished program end."""
        self._fit_terminal()
        if self._may_end and (self._conversation is None or self._conversation.is_idle):
            self._finish_program()

    def _fit_terminal(self) -> None:
        """Resize the terminal to fit into all attached terminals; without attached terminals, keep the size."""
        sizes = [peer.size for peer in self._control.peers if peer.size]
        if not sizes:
            return
        assert self._program is not None
        fitting = (min(columns for columns, _ in sizes), min(rows for _, rows in sizes))
        if fitting != self._size:
            self._size = fitting
            (self._client or self._program).resize_terminal(*fitting)
            self._output.transcript.add_resize(*fitting)

    def _write_input(self, data: bytes) -> None:
        """Pass on bytes that a person typed or that the server sent."""
        if self._conversation is None and any(key in data for key in _ENTER):
            self._may_end = False  # the program may work again; the server sends `finish` again after that work
        self._output.transcript.add_input(data)
        receiver = self._client or self._input
        if receiver is not None:
            receiver.write_input(data)

    def _would_cut_line(self, data: bytes) -> bool:
        receiver = self._client or self._program
        return receiver is not None and receiver.would_cut_line(data)

    def _pending_input(self) -> int:
        """Return the number of input bytes that are not written to the program yet."""
        receiver = self._client or self._input
        return receiver.pending_bytes if receiver is not None else 0

    def _report_end(self, end: dict[str, Any]) -> None:
        """Record the end of the program, end its remaining processes, close all files, and send the last reports."""
        self._has_ended = True
        self._reports.record_end(**end, asked=self._stopped_by)
        if self._link is not None and self._program is not None:
            self._link.close()
            self._program.signal_group(signal.SIGKILL)  # processes that are left could go on for other clients
        # End the processes before the last output is read: a process that floods the output must not run on.
        process_tree.end_descendants(self._children)
        self._drain_output()
        if self._order.conversation is not None or self._order.inbox:
            import shutil  # loaded late, to save memory while the program runs

            shutil.rmtree(runner_folder.TEMPORARY, ignore_errors=True)
        if self._inbox is not None:
            self._inbox.close()
        if self._link is not None:
            self._link.remove_socket()
        self._control.on_peer_gone = lambda: None  # the terminal needs no new size any more
        self._output.close(f"ended with {end.get('code')}")
        self._reports.queue_end(**end, asked=self._stopped_by, tail=self._output.tail)
        self._control.close(int(end.get("code") or 0))  # attached terminals do not wait for the server
        self._reports.close(seconds=_LAST_REPORTS_SECONDS_MAX)

    def _drain_output(self) -> None:
        """Close the terminal client, handle the last output of the program, and close the conversation."""
        if self._program is None:
            return
        if self._client is not None:
            self._client.close()
        streams = ((self._program.output, self._handle_output), (self._program.errors, self._show_error_text))
        for descriptor, handle in streams:
            while descriptor >= 0 and (data := read_available(descriptor)):
                handle(data)
        if self._conversation is not None:
            self._conversation.close()
