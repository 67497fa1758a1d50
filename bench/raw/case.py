"""A case of the comparison: a measurement, its group of bars, and the version of its definition."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

Measure = Callable[[], list[float]]


@dataclass(frozen=True)
class Case:
    """A measurement for the comparison of two trees.

    `opened` sets up the case once for a complete run, and yields the function that measures a round: seconds.
    `version` changes when the case measures something else. Trees with different versions are not compared.
    """

    name: str
    group: str  # sends, command, hooks or backup
    version: int
    opened: Callable[[], AbstractContextManager[Measure]]
