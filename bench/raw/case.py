"""One case: what is measured, for which group of bars, and in which version of its definition."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

Measure = Callable[[], list[float]]


@dataclass(frozen=True)
class Case:
    """A measurement that two trees can be compared by.

    `opened` sets the case up once for a whole run and gives the function that measures one round: a list of seconds.
    `version` changes whenever the case measures something else; trees with different versions are not compared.
    """

    name: str
    group: str  # sends, command, hooks or backup
    version: int
    opened: Callable[[], AbstractContextManager[Measure]]
