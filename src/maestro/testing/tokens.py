"""Count tokens in o200k_base: a vocabulary of models in use, whose wheel needs no network.

The vocabularies of other vendors are not public and may need more tokens, so tests use only a part of each limit.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

LIMIT_SHARE_MAX = 0.85  # the share of a limit that a test may use


@cache
def _load_vocabulary() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the package uses a deprecated way to read its data
        import bpe_openai  # type: ignore[import-untyped]
    return bpe_openai.get_encoding("o200k_base")


def count_tokens(text: str) -> int:
    return len(_load_vocabulary().encode(text))
