"""Provide a workshop for one test: a live server, and a checkout with a first commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from maestro.testing.live import LiveServer
from maestro.testing.workshop import Workshop


@pytest.fixture
def shop(tmp_path: Path, make_repo: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Workshop]:
    for name in ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CODEX_SANDBOX", "GEMINI_CLI"):
        monkeypatch.setenv(name, "inherited")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "meant")
    repo = make_repo("vc")
    with LiveServer(tmp_path / "live") as live:
        made = Workshop(live, repo)
        (repo / "README").write_text("hello\n")
        made.run_git("add", "-A")
        made.run_git("commit", "-qm", "first")
        yield made
        made.close()
