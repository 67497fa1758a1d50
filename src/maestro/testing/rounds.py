"""Long round tests: the number of rounds, the seed, and the printed result line.

`make test-slow` plays a few rounds of each; `make test-rounds` plays the full number, or ROUNDS of each.
"""

from __future__ import annotations

import os
import random

COUNT = "MAESTRO_ROUNDS"  # a number, or "full"
SEED = "MAESTRO_SEED"


def round_count(default: int, full: int | None = None) -> int:
    """Return the number of rounds: the number in the environment, or `default`. `full` is the required number."""
    wanted = os.environ.get(COUNT, "")
    if wanted == "full":
        return full or default
    return int(wanted) if wanted else default


def round_seed() -> int:
    """Return the seed from the environment, or a new seed."""
    wanted = os.environ.get(SEED, "")
    return int(wanted) if wanted else random.SystemRandom().randrange(1 << 32)


def is_long_run() -> bool:
    """Return whether `make test-rounds` asked for a number of rounds."""
    return bool(os.environ.get(COUNT))


def report_rounds(name: str, rounds: int, *, seed: int | None = None, **counts: int | str) -> str:
    """Print and return one line such as `rounds: kills: 50 rounds, 0 lost, 0 twice, seed 123`."""
    parts = [f"{rounds} rounds", *(f"{value} {name.replace('_', ' ')}" for name, value in counts.items())]
    if seed is not None:
        parts.append(f"seed {seed}")
    line = f"rounds: {name}: {', '.join(parts)}"
    print(f"\n{line}", flush=True)  # noqa: T201 (the line is what a round test is run for)
    return line
