"""Provide a workshop, and terminals for the commands of a person."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from maestro.testing.console import Console
from maestro.testing.live import PYTHON_CLIENT, LiveServer
from maestro.testing.workshop import Workshop

Sit = Callable[..., Console]


@pytest.fixture
def shop(tmp_path: Path, make_repo: Callable[..., Path]) -> Iterator[Workshop]:
    repo = make_repo("vc")
    with LiveServer(tmp_path / "live") as live:
        made = Workshop(live, repo)
        (repo / "README").write_text("hello\n")
        made.run_git("add", "-A")
        made.run_git("commit", "-qm", "first")
        yield made
        made.close()


@pytest.fixture
def sit(shop: Workshop) -> Iterator[Sit]:
    """Start commands on terminals, and close the terminals after the test."""
    made: list[Console] = []

    def start(*words: str, columns: int = 80, rows: int = 24, **extra: str) -> Console:
        environment = shop.live.environment(**extra)
        console = Console([*PYTHON_CLIENT, *words], cwd=shop.repo, env=environment, columns=columns, rows=rows)
        made.append(console)
        return console

    yield start
    for console in made:
        console.close()
