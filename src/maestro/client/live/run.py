"""A run, looked at until it is over: a picture that is drawn anew in place, or a line for each change."""

from __future__ import annotations

import os
import select
import signal
import time
from datetime import UTC, datetime
from typing import Any

from maestro.client import thin
from maestro.client.live import terminal
from maestro.client.live.follow import Following, Refused
from maestro.domain.runs import RunStatus
from maestro.operations.runs import RunView
from maestro.surfaces.cli.render.run_picture import changes, clock, landed, picture
from maestro.surfaces.cli.render.style import finish, line

_TICK_SECONDS = 1.0
_AWAY_SECONDS_MAX = 60.0  # nobody sits there: then someone wants to know
_LEAVES = frozenset(b"\x03\x04\x1dq")
_OTHER_SCREEN = b"\x1b[?1049h\x1b[?25l"
_BEGIN_FRAME, _END_FRAME = b"\x1b[?2026h\x1b[H", b"\x1b[J\x1b[?2026l"


def run(*, id: str, draw: bool, color: bool) -> int:
    """Look at a run. 0: it has completed, or was left; 1: it has not."""
    following = Following(id)
    try:
        if draw:
            return terminal.lend(_Drawn(following, id, color=color).run, title=f"maestro run {id}")
        return _Lines(following, id).run()
    except Refused as refused:
        raise thin.Ended(refused.code, refused.said.removeprefix("maestro: ")) from None
    finally:
        following.close()


def _code(view: RunView) -> int:
    return 0 if view.status is RunStatus.COMPLETED else thin.FAILED


def _back_with(run_id: str) -> str:
    return f"[the run goes on; back with: maestro run show {run_id} --follow; end it with: maestro run stop {run_id}]"


class _Lines:
    """For whoever reads it later: one line for each change."""

    def __init__(self, following: Following, run_id: str) -> None:
        self._following = following
        self._id = run_id
        self._shown: RunView | None = None

    def run(self) -> int:
        following = self._following
        try:
            while self._shown is None or self._shown.status is RunStatus.RUNNING:
                following.connect()
                if following.fileno() < 0:
                    self._wait()
                    continue
                select.select([following], [], [])
                for view in following.take():
                    self._tell(view)
        except KeyboardInterrupt:
            thin.put(2, f"{_back_with(self._id)}\n".encode())
            return thin.INTERRUPTED
        return _code(self._shown)

    def _wait(self) -> None:
        away = self._following.away_since
        if away is not None and time.monotonic() - away > _AWAY_SECONDS_MAX:
            raise thin.Ended(thin.NO_SERVER, f"the server went away; the run goes on with it\n{_back_with(self._id)}")
        time.sleep(self._following.pause_seconds)

    def _tell(self, view: RunView) -> None:
        if self._shown is None:
            many = "1 task" if len(view.tasks) == 1 else f"{len(view.tasks)} tasks"
            self._put(f"{view.id}  {view.strategy}  {line(view.task)}  {line(view.title)}  {many}")
        for said in changes(self._shown, view).values():
            self._put(said)
        if view.status is not RunStatus.RUNNING:
            spent = clock(((view.ended_at or datetime.now(UTC)) - view.created_at).total_seconds())
            self._put(f"{view.id}  {view.status}  {spent}  {line(view.note)}")
            if where := landed(view):
                self._put(where)
        self._shown = view

    def _put(self, text: str) -> None:
        thin.put(1, (finish(text).rstrip() + "\n").encode())


class _Drawn:
    """For whoever sits there."""

    def __init__(self, following: Following, run_id: str, *, color: bool) -> None:
        self._following = following
        self._id = run_id
        self._color = color
        self._told_to_end = False

    def run(self, watched: int) -> terminal.Ending:
        woken = self._signals()
        thin.put(1, _OTHER_SCREEN)
        try:
            left = self._look(woken, watched)
        except Refused as refused:
            self._settle(None)
            return refused.code, refused.said
        view = self._following.view
        self._settle(view)
        if left or view is None:
            return 0, _back_with(self._id)
        return _code(view), ""

    def _look(self, woken: int, watched: int) -> bool:
        """Whether the person left before it was over."""
        following = self._following
        while True:
            following.connect()
            self._draw()
            view = following.view
            if view is not None and view.status is not RunStatus.RUNNING:
                return False
            sources: list[Any] = [0, woken, watched, *([following] if following.fileno() >= 0 else [])]
            wait = _TICK_SECONDS - time.time() % _TICK_SECONDS
            ready = select.select(sources, [], [], min(wait, following.pause_seconds or wait))[0]
            if woken in ready:
                os.read(woken, 4096)
            if watched in ready or self._told_to_end or (0 in ready and self._leaves()):
                return True
            if following in ready:
                following.take()

    def _leaves(self) -> bool:
        typed = os.read(0, 4096)
        return not typed or bool(_LEAVES.intersection(typed))

    def _signals(self) -> int:
        woken, waking = os.pipe()
        for end in (woken, waking):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        signal.signal(signal.SIGWINCH, lambda number, frame: None)  # it is drawn anew whatever woke us
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, lambda number, frame: setattr(self, "_told_to_end", True))
        return woken

    def _draw(self) -> None:
        columns, rows = terminal.size()
        lines = self._picture(columns, rows)[:rows]
        shown = b"\x1b[K\r\n".join(self._finished(each) for each in lines) + b"\x1b[K"
        thin.put(1, _BEGIN_FRAME + shown + _END_FRAME)

    def _picture(self, columns: int, rows: int) -> list[str]:
        following = self._following
        foot = "Ctrl-C leaves it running"
        if following.away_since is not None:
            foot = f"the server is away for {clock(time.monotonic() - following.away_since)}; `maestro up` starts it"
        if following.view is None:
            return [f"{self._id} …", "", foot]
        return picture(following.view, at=datetime.now(UTC), columns=columns, rows=rows, foot=["", foot])

    def _settle(self, view: RunView | None) -> None:
        """Leave the picture where it stays: on the first screen, below what was there."""
        thin.put(1, terminal.LEAVE_OTHER_SCREEN)
        if view is not None:
            columns, rows = terminal.size()
            lines = picture(view, at=datetime.now(UTC), columns=columns, rows=max(rows - 3, 5))
            thin.put(1, b"".join(self._finished(each) + b"\r\n" for each in lines))

    def _finished(self, text: str) -> bytes:
        return finish(text, color=self._color).encode()
