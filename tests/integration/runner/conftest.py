"""Provide runners for one test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from maestro.testing.supervised import SupervisedRunner

Supervise = Callable[..., SupervisedRunner]


@pytest.fixture
def supervise(tmp_path: Path) -> Iterator[Supervise]:
    """Start runners, and end the runners that still run after the test."""
    made: list[SupervisedRunner] = []

    def start(*words: str, **order: Any) -> SupervisedRunner:
        made.append(SupervisedRunner(tmp_path / f"agent-{len(made)}", words, **order))
        return made[-1]

    yield start
    for runner in made:
        runner.end_processes()


@pytest.fixture(params=[True, False], ids=["terminal", "pipes"])
def terminal(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)
