"""Show a run until it ends: as a picture that is redrawn in place, or as one line for each change."""

from __future__ import annotations

import os
import select
import signal
import time
from datetime import UTC, datetime
from typing import Any

from maestro.client import main
from maestro.client.live import terminal
from maestro.client.live.follow import RunFollower, RunRefused
from maestro.domain.runs import RunStatus
from maestro.operations.runs import RunView
from maestro.surfaces.cli.render.run_picture import changed_task_lines, draw_run, format_clock, landing_text
from maestro.surfaces.cli.render.style import finish_text, safe_line
from maestro.system.signal_pipe import SignalPipe
from maestro.wire import exit_codes

_TICK_SECONDS = 1.0
_AWAY_SECONDS_MAX = 60.0  # the line view fails after this time without a server: no person may be watching
_LEAVE_KEYS = frozenset(b"\x03\x04\x1dq")
_ALTERNATE_SCREEN = b"\x1b[?1049h\x1b[?25l"
_BEGIN_PICTURE, _END_PICTURE = b"\x1b[?2026h\x1b[H", b"\x1b[J\x1b[?2026l"


def run(*, id: str, draw: bool, color: bool) -> int:
    """Show a run. Return 0 if the run has completed or the person left the picture, else 1 or `INTERRUPTED`."""
    follower = RunFollower(id)
    try:
        if draw:
            return terminal.lend_terminal(_DrawnView(follower, id, color=color).show_run, title=f"maestro run {id}")
        return _LineView(follower, id).show_run()
    except RunRefused as refused:
        raise main.CommandEnded(refused.code, refused.message.removeprefix("maestro: ")) from None
    finally:
        follower.close()


def _exit_code(view: RunView) -> int:
    return 0 if view.status is RunStatus.COMPLETED else exit_codes.FAILED


def _return_hint(run_id: str) -> str:
    show, stop = f"maestro run show {run_id} --follow", f"maestro run stop {run_id}"
    return f"[the run goes on; show it again with: {show}; end it with: {stop}]"


class _LineView:
    """A view that prints one line for each change of the run."""

    def __init__(self, follower: RunFollower, run_id: str) -> None:
        self._follower = follower
        self._id = run_id
        self._shown: RunView | None = None

    def show_run(self) -> int:
        follower = self._follower
        try:
            while self._shown is None or self._shown.status is RunStatus.RUNNING:
                follower.connect_if_due()
                if follower.fileno() < 0:
                    self._wait_for_server()
                    continue
                select.select([follower], [], [])
                for view in follower.receive_views():
                    self._print_changes(view)
        except KeyboardInterrupt:
            main.write_all(2, f"{_return_hint(self._id)}\n".encode())
            return exit_codes.INTERRUPTED
        return _exit_code(self._shown)

    def _wait_for_server(self) -> None:
        away = self._follower.away_since
        if away is not None and time.monotonic() - away > _AWAY_SECONDS_MAX:
            raise main.CommandEnded(
                exit_codes.NO_SERVER,
                "the server went away; the run continues when a server runs\n"
                f"start a server with: maestro up\nshow the run again with: maestro run show {self._id} --follow",
            )
        time.sleep(self._follower.pause_seconds)

    def _print_changes(self, view: RunView) -> None:
        if self._shown is None:
            count = "1 task" if len(view.tasks) == 1 else f"{len(view.tasks)} tasks"
            self._print_line(f"{view.id}  {view.strategy}  {safe_line(view.task)}  {safe_line(view.title)}  {count}")
        for change in changed_task_lines(self._shown, view).values():
            self._print_line(change)
        if view.status is not RunStatus.RUNNING:
            spent = format_clock(((view.ended_at or datetime.now(UTC)) - view.created_at).total_seconds())
            self._print_line(f"{view.id}  {view.status}  {spent}  {safe_line(view.note)}")
            if where := landing_text(view):
                self._print_line(where)
        self._shown = view

    def _print_line(self, text: str) -> None:
        main.write_all(1, (finish_text(text).rstrip() + "\n").encode())


class _DrawnView:
    """A view that draws the run on the whole terminal."""

    def __init__(self, follower: RunFollower, run_id: str, *, color: bool) -> None:
        self._follower = follower
        self._id = run_id
        self._color = color
        self._is_asked_to_end = False

    def show_run(self, watched: int) -> terminal.Ending:
        signals = self._install_signal_handlers()
        main.write_all(1, _ALTERNATE_SCREEN)
        try:
            left = self._draw_until_end(signals, watched)
        except RunRefused as refused:
            self._draw_last_picture(None)
            return refused.code, refused.message
        view = self._follower.view
        self._draw_last_picture(view)
        if left or view is None:
            return 0, _return_hint(self._id)
        return _exit_code(view), ""

    def _draw_until_end(self, signals: SignalPipe, watched: int) -> bool:
        """Draw the run until it ends; return True if the person leaves before the end."""
        follower = self._follower
        while True:
            follower.connect_if_due()
            self._draw()
            view = follower.view
            if view is not None and view.status is not RunStatus.RUNNING:
                return False
            sources: list[Any] = [0, signals, watched, *([follower] if follower.fileno() >= 0 else [])]
            wait = _TICK_SECONDS - time.time() % _TICK_SECONDS
            ready = select.select(sources, [], [], min(wait, follower.pause_seconds or wait))[0]
            if signals in ready:
                signals.clear()
            if watched in ready or self._is_asked_to_end or (0 in ready and self._wants_to_leave()):
                return True
            if follower in ready:
                follower.receive_views()

    def _wants_to_leave(self) -> bool:
        typed = os.read(0, 4096)
        return not typed or bool(_LEAVE_KEYS.intersection(typed))

    def _install_signal_handlers(self) -> SignalPipe:
        signals = SignalPipe()
        signal.signal(signal.SIGWINCH, lambda number, frame: None)  # every wake-up redraws the picture
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, lambda number, frame: setattr(self, "_is_asked_to_end", True))
        return signals

    def _draw(self) -> None:
        columns, rows = terminal.terminal_size()
        lines = self._picture_lines(columns, rows)[:rows]
        shown = b"\x1b[K\r\n".join(self._encode_line(each) for each in lines) + b"\x1b[K"
        main.write_all(1, _BEGIN_PICTURE + shown + _END_PICTURE)

    def _picture_lines(self, columns: int, rows: int) -> list[str]:
        follower = self._follower
        foot = "Ctrl-C leaves the view; the run goes on"
        if follower.away_since is not None:
            away = format_clock(time.monotonic() - follower.away_since)
            foot = f"no server has answered for {away}; start a server with: maestro up"
        if follower.view is None:
            return [f"{self._id} …", "", foot]
        return draw_run(follower.view, at=datetime.now(UTC), columns=columns, rows=rows, foot=["", foot])

    def _draw_last_picture(self, view: RunView | None) -> None:
        """Draw the last picture on the normal screen, below the text that is there."""
        main.write_all(1, terminal.LEAVE_ALTERNATE_SCREEN)
        if view is not None:
            columns, rows = terminal.terminal_size()
            lines = draw_run(view, at=datetime.now(UTC), columns=columns, rows=max(rows - 3, 5))
            main.write_all(1, b"".join(self._encode_line(each) + b"\r\n" for each in lines))

    def _encode_line(self, text: str) -> bytes:
        return finish_text(text, color=self._color).encode()
