"""Long round tests: how many rounds a test plays, with which seed, and the one line that it prints.

`make test-slow` plays a few rounds of each; `make test-rounds` plays the full number, or ROUNDS of each.
"""

from __future__ import annotations

import os
import random

COUNT = "MAESTRO_ROUNDS"  # a number, or "full"
SEED = "MAESTRO_SEED"


def count(default: int, full: int | None = None) -> int:
    """Return the number of rounds: what the environment asks for, or `default`. `full` is the number of the bar."""
    asked = os.environ.get(COUNT, "")
    if asked == "full":
        return full or default
    return int(asked) if asked else default


def seed() -> int:
    """Return the seed that the environment names, or a new one."""
    asked = os.environ.get(SEED, "")
    return int(asked) if asked else random.SystemRandom().randrange(1 << 32)


def is_long_run() -> bool:
    """Return whether `make test-rounds` asked for a number of rounds."""
    return bool(os.environ.get(COUNT))


def report(name: str, rounds: int, *, seed: int | None = None, **counts: int | str) -> str:
    """Print and return one line such as `rounds: kills: 50 rounds, 0 lost, 0 twice, seed 123`."""
    parts = [f"{rounds} rounds", *(f"{value} {what.replace('_', ' ')}" for what, value in counts.items())]
    if seed is not None:
        parts.append(f"seed {seed}")
    line = f"rounds: {name}: {', '.join(parts)}"
    print(f"\n{line}", flush=True)  # noqa: T201 (the line is what a round test is run for)
    return line
