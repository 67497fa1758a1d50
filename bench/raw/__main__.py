"""Measure the cases of a tree on request: `TREE/.venv/bin/python bench/raw`, run in TREE.

The program prints a line of JSON with the names and versions of its cases. Afterwards it reads a name of a case from
each line of its input, and answers with a line of JSON: the seconds of a round. The first round of a case sets up
the case, which stays open. The folder of another tree measures a tree without this folder, with that tree's
interpreter and packages.
"""

from __future__ import annotations

import contextlib
import json
import sys

import backup_cases
import command_cases
import hook_cases
import send_cases
from case import Measure

CASES = {case.name: case for module in (send_cases, command_cases, hook_cases, backup_cases) for case in module.CASES}


def main() -> None:
    print(
        json.dumps({name: {"group": case.group, "version": case.version} for name, case in CASES.items()}), flush=True
    )
    opened: dict[str, Measure] = {}
    with contextlib.ExitStack() as stack:
        for line in sys.stdin:
            name = line.strip()
            if name not in opened:
                stack.close()  # only one server runs, because an idle server would change the measurement
                opened = {name: stack.enter_context(CASES[name].opened())}
            print(json.dumps(opened[name]()), flush=True)


if __name__ == "__main__":
    main()
