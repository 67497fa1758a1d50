"""Measures the cases of one tree on request: `TREE/.venv/bin/python bench/raw`, run in TREE.

Prints one line of JSON with the names and versions of its cases. Then reads the name of a case on each line of its
input and answers with one line of JSON: the seconds of one round. A case is set up at its first round and stays up.
A tree without this folder is measured by the folder of another tree, with its own interpreter and its own packages.
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
                stack.close()  # one server at a time: an idle one beside it would be measured too
                opened = {name: stack.enter_context(CASES[name].opened())}
            print(json.dumps(opened[name]()), flush=True)


if __name__ == "__main__":
    main()
