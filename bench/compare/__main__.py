"""`make bench BASE=COMMIT [CASE=sends] [ROUNDS=20]`: each tree measures its own cases, alternating; exit 1 below a bar.

Every round is printed as one line of JSON with the raw seconds of both trees; at the end one line per case with the ratio.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from bench.compare.statistics_of_ratios import Ratio, compare_rounds
from bench.compare.trees import Measured, checked_out

ROUNDS = 15


def main() -> int:
    asked = _arguments()
    ours = Path.cwd()
    print("ratio = base time / new time: above 1 the new tree is quicker", flush=True)
    with (
        checked_out(asked.base) as tree,
        Measured(tree, ours=ours) as base,
        Measured(ours, ours=ours) as new,
    ):
        names = _paired(base, new, asked.case)
        ratios = {name: _compare(name, base, new, rounds=asked.rounds) for name in names}
    for name, ratio in ratios.items():
        print(_line(name, ratio, asked.rounds))
    return 0 if ratios and all(ratio.is_met for ratio in ratios.values()) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.compare", description=__doc__)
    parser.add_argument("base", help="the commit to compare with")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--case", default="", help="a group (sends, command, hooks, backup) or part of a case's name")
    return parser.parse_args()


def _paired(base: Measured, new: Measured, wanted: str) -> list[str]:
    """Return the cases that both trees define in the same version. Print the cases that are left out."""
    paired = []
    for name, case in new.cases.items():
        if wanted not in (case["group"], "") and wanted not in name:
            continue
        if base.cases.get(name) == case:
            paired.append(name)
        else:
            print(f"left out: {name}: the trees define it differently", flush=True)
    return paired


def _compare(name: str, base: Measured, new: Measured, *, rounds: int) -> Ratio:
    times: dict[str, list[list[float]]] = {"base": [], "new": []}
    for tree in (base, new):
        tree.measure(name)  # sets up the case; this round is not counted
    sides = [("base", base), ("new", new)]
    for number in range(rounds):
        for side, tree in sides:
            times[side].append(tree.measure(name))
        sides.reverse()  # the second tree of a round may wait while the system writes data of the first tree
        raw = {side: [round(second, 7) for second in found[-1]] for side, found in times.items()}
        print(json.dumps({"case": name, "round": number, **raw}), flush=True)
    return compare_rounds(times["base"], times["new"])


def _line(name: str, ratio: Ratio, rounds: int) -> str:
    mark = "ok  " if ratio.is_met else "MISS"
    interval = f"95 % interval {ratio.low:.3f} to {ratio.high:.3f}"
    bar = "bar: median at least 0.97, or 1 within the interval"
    return f"{mark}  {name}: base/new {ratio.median:.3f} ({interval}, {rounds} rounds; {bar})"


if __name__ == "__main__":
    sys.exit(main())
