"""Counts tokens in o200k_base: a vocabulary that models in use have, and whose wheel needs no network.

Those of other makers are not public. They are said to need somewhat more, so bars are held with room to spare.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

TO_SPARE = 0.85  # how much of a bar may be used up


@cache
def _vocabulary() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it reads its data in an old way
        import bpe_openai  # type: ignore[import-untyped]
    return bpe_openai.get_encoding("o200k_base")


def tokens(text: str) -> int:
    return len(_vocabulary().encode(text))
