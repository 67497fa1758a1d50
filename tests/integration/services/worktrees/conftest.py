"""Read the worktrees and branches of sessions from the disk."""

from __future__ import annotations

from pathlib import Path

from maestro.testing.workshop import Workshop


def session_branches(shop: Workshop) -> list[str]:
    """Return the branches of sessions, without the branches of runs."""
    names = shop.run_git("for-each-ref", "--format=%(refname:short)", "refs/heads/maestro").split()
    return [name for name in names if not name.startswith("maestro/run-")]


def worktree_folders(shop: Workshop) -> list[Path]:
    return list((shop.live.home / "worktrees").glob("*/*"))


def write_worktree_settings(shop: Workshop, text: str) -> None:
    (shop.repo / ".maestro").mkdir(exist_ok=True)
    (shop.repo / ".maestro" / "config.toml").write_text(f"[worktree]\n{text}\n")
