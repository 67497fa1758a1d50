"""Runners for one test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from maestro.testing.supervised import SupervisedRunner

Supervise = Callable[..., SupervisedRunner]


@pytest.fixture
def supervise(tmp_path: Path) -> Iterator[Supervise]:
    """Starts runners, and ends those that are still there."""
    made: list[SupervisedRunner] = []

    def start(*words: str, **order: Any) -> SupervisedRunner:
        made.append(SupervisedRunner(tmp_path / f"agent-{len(made)}", words, **order))
        return made[-1]

    yield start
    for one in made:
        one.end_processes()


@pytest.fixture(params=[True, False], ids=["terminal", "pipes"])
def terminal(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)
