"""No session waits for mail that is already there, in any order of sends, waits, claims, kills and restarts.

`maestro.testing.mail_machine` checks the state after each step. The tests choose the sequences of steps.
"""

from __future__ import annotations

import contextlib
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.store.layout import DATABASE
from maestro.testing import rounds
from maestro.testing.mail_machine import LONG_SECONDS, PRIORITIES, RECIPIENTS, SEATS, MailMachine

Step = tuple[str, tuple[Any, ...]]


class Disk:
    """Read stored mail from the database without the server."""

    def messages(self, home: Path) -> list[Any]:
        return self._rows(home, "SELECT seq, id, thread_id, sender, priority, subject FROM messages")

    def deliveries(self, home: Path) -> list[Any]:
        return self._rows(
            home, "SELECT d.mailbox, m.id, d.status FROM deliveries d JOIN messages m ON m.seq = d.message_seq"
        )

    def _rows(self, home: Path, query: str) -> list[Any]:
        with contextlib.closing(sqlite3.connect(f"file:{home / DATABASE}?mode=ro", uri=True)) as database:
            return database.execute(query).fetchall()


def steps(dice: random.Random, count: int) -> list[Step]:
    """Return a plausible random sequence of steps."""

    def seat() -> str:
        return dice.choice(SEATS)

    def addresses() -> list[str]:
        return dice.sample(RECIPIENTS, dice.choice([1, 1, 2]))

    def urgency() -> str:
        return dice.choices(PRIORITIES, [1, 2, 6, 2])[0]

    def often() -> bool:
        return dice.random() < 0.7

    def patience() -> tuple[Any, ...]:
        least = dice.choice(["low", "low", "low", "high", "critical"])
        return dice.choice([1, 1, 2, 3]), dice.choice([0, 0.5, 5]), least, dice.choice([1, 60, LONG_SECONDS]), often()

    kinds: dict[str, tuple[int, Callable[[], tuple[Any, ...]]]] = {
        "send": (20, lambda: (dice.choice([*SEATS, "dana"]), addresses(), urgency(), often())),
        "broadcast": (3, lambda: (dice.choice(["all", "my-workers"]), urgency())),
        "wait": (14, lambda: (seat(), *patience())),
        "stop_waiting": (3, lambda: (dice.randrange(9),)),
        "inbox": (4, lambda: (seat(), often())),
        "confirm": (6, lambda: (seat(), dice.randrange(9))),
        "acknowledge": (2, lambda: (seat(), dice.randrange(9))),
        "claim": (6, lambda: (seat(), dice.randrange(99))),
        "release": (5, lambda: (dice.randrange(9), often())),
        "end_session": (1, lambda: (dice.choice(SEATS[1:]),)),
        "pass_time": (8, lambda: (dice.choice([0.1, 0.4, 0.5, 3, 5, 70]),)),
        "kill_server": (3, lambda: (dice.choice([0, 1, 3]), dice.randrange(12))),
    }
    names = dice.choices(list(kinds), [weight for weight, _ in kinds.values()], k=count)
    return [(name, kinds[name][1]()) for name in names]


def play(course: list[Step]) -> AssertionError | errors.MaestroError | None:
    """Run a sequence of steps; return the first error, or None."""
    machine = MailMachine(Disk())
    try:
        for name, values in course:
            getattr(machine, name)(*values)
            machine.check_state()
    except (AssertionError, errors.MaestroError) as error:
        return error
    finally:
        machine.close()
    return None


def shortest(course: list[Step]) -> list[Step]:
    """Remove all steps that are not needed for the failure."""
    size = len(course) // 2
    while size >= 1:
        place = 0
        while place < len(course):
            shorter = course[:place] + course[place + size :]
            if play(shorter) is not None:
                course = shorter
            else:
                place += size
        size //= 2
    return course


def try_seed(seed: int, count: int) -> None:
    course = steps(random.Random(seed), count)
    if play(course) is not None:
        course = shortest(course)
        told = "\n".join(f"machine.{name}{values}" for name, values in course)
        raise AssertionError(f"seed {seed}:\n{told}") from play(course)


# Sequences that once failed.
KNOWN: dict[str, list[Step]] = {
    "a message that came to two mailboxes of one reader is read once": [
        ("send", ("dana", ["lead", "vc"], "normal", False)),
        ("inbox", ("lead", False)),
        ("confirm", ("lead", 0)),
    ],
    "a conversation that went on elsewhere is on offer there again when it is let go": [
        ("send", ("w2", ["w1", "w3"], "normal", True)),
        ("claim", ("w3", 0)),
        ("send", ("dana", ["#1"], "critical", False)),
        ("wait", ("lead", 1, 0.5, "low", LONG_SECONDS, False)),
        ("release", (0, True)),
    ],
    "what an ended session had not read wakes whoever gets it": [
        ("send", ("dana", ["w3"], "critical", False)),
        ("wait", ("lead", 1, 5, "critical", LONG_SECONDS, False)),
        ("end_session", ("w3",)),
    ],
    "what nobody asked for does not put an answer off": [
        ("wait", ("lead", 1, 5, "high", LONG_SECONDS, False)),
        ("send", ("w1", ["lead"], "high", False)),
        ("pass_time", (3,)),
        ("send", ("w1", ["lead"], "low", False)),
        ("pass_time", (3,)),
    ],
    "what another took meanwhile is waited for anew": [
        ("wait", ("lead", 1, 5, "low", LONG_SECONDS, False)),
        ("send", ("dana", ["vc"], "normal", False)),
        ("claim", ("w1", 0)),
        ("pass_time", (6,)),
        ("send", ("dana", ["lead"], "normal", False)),
        ("pass_time", (6,)),
    ],
    "what was read elsewhere meanwhile is no answer": [
        ("wait", ("lead", 1, 5, "low", 60, False)),
        ("send", ("dana", ["lead"], "normal", False)),
        ("inbox", ("lead", False)),
        ("confirm", ("lead", 0)),
        ("pass_time", (6,)),
        ("pass_time", (70,)),
    ],
}


@pytest.mark.parametrize("course", KNOWN.values(), ids=KNOWN)
def test_a_sequence_that_once_failed_succeeds(course: list[Step]) -> None:
    problem = play(course)
    if problem is not None:
        raise problem


def test_a_wait_with_a_full_answer_is_not_delayed() -> None:
    """Mail that arrives without a pause fills the answer, and the wait ends."""
    machine = MailMachine(Disk())
    try:
        machine.wait("lead", 1, 5, "low", LONG_SECONDS, False)
        for _ in range(limits.wait_messages_max):
            assert not machine.waiters[0].call.done()
            machine.send("dana", ["lead"], "normal", False)
            machine.pass_time(1)
        assert len(machine.waiters[0].call.result().messages) == limits.wait_messages_max
    finally:
        machine.close()


@pytest.mark.parametrize("seed", range(30))
def test_no_session_waits_for_mail_that_is_already_there(seed: int) -> None:
    try_seed(seed, 80)


@pytest.mark.slow
@pytest.mark.rounds
@pytest.mark.timeout(600)
def test_no_session_waits_for_mail_that_is_already_there_in_many_long_sequences() -> None:
    first, count = rounds.round_seed(), rounds.round_count(60, full=300)
    for seed in range(first, first + count):
        try_seed(seed, 150)
    rounds.report_rounds("wake-ups", count, seed=first, missed=0)
