"""The signal pipe is readable after a signal, not readable after `clear`, and detached from signals after `close`."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator

import pytest

from maestro.system.signal_pipe import SignalPipe


@pytest.fixture
def signals() -> Iterator[SignalPipe]:
    handler = signal.signal(signal.SIGUSR1, lambda number, frame: None)
    pipe = SignalPipe()
    yield pipe
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGUSR1, handler)


def is_readable(pipe: SignalPipe) -> bool:
    return select.select([pipe], [], [], 0)[0] == [pipe]


def test_a_signal_makes_the_pipe_readable_until_the_pipe_is_cleared(signals: SignalPipe) -> None:
    assert not is_readable(signals)
    os.kill(os.getpid(), signal.SIGUSR1)
    assert is_readable(signals)
    signals.clear()
    assert not is_readable(signals)
    signals.clear()  # clearing an empty pipe must not block
    signals.close()


def test_a_pipe_with_more_signals_than_it_can_hold_can_be_cleared(signals: SignalPipe) -> None:
    for _ in range(70_000):
        signal.raise_signal(signal.SIGUSR1)
    signals.clear()
    assert not is_readable(signals)
    signals.close()


def test_a_closed_pipe_gets_no_more_signals(signals: SignalPipe) -> None:
    descriptor = signals.fileno()
    signals.close()
    with pytest.raises(OSError):
        os.fstat(descriptor)
    os.kill(os.getpid(), signal.SIGUSR1)
    assert signal.set_wakeup_fd(-1) == -1
