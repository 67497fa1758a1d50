"""What codex asks to do, in the words that policies match.

It tells beside a command what it makes of it (`commandActions`), for people to read: of `ls | xargs rm` that is `ls`.
So only the command itself counts.
"""

from __future__ import annotations

import re
import shlex

# A model may name a shell of its own: elsewhere it can be any program.
_SHELL = re.compile(r"(?:(?:/usr(?:/local)?|/opt/homebrew|/run/current-system/sw)?/bin/)?(?:ba|da|z)?sh")
_RUNS = ("-c", "-lc")


def command(given: str) -> str:
    """What a shell is told to run, if that is all there is to it; anything else as it stands."""
    try:
        words = shlex.split(given)
    except ValueError:
        return given
    if len(words) == 3 and _SHELL.fullmatch(words[0]) and words[1] in _RUNS:
        return words[2]
    return given
