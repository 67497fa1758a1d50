"""Real git repositories for tests."""

from __future__ import annotations

import subprocess
from pathlib import Path


def run_git(*args: str, cwd: Path) -> str:
    """Run git as the person would, and return its output."""
    done = subprocess.run(["git", *args], cwd=cwd, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def make_repository(path: Path, *, remote: str = "", commits: int = 1) -> Path:
    """Create a repository with empty commits, and with the remote `origin` if `remote` is given."""
    path.mkdir(parents=True)
    run_git("init", "-q", cwd=path)
    for number in range(commits):
        run_git("commit", "-q", "--allow-empty", "-m", f"{path.name} {number}", cwd=path)
    if remote:
        run_git("remote", "add", "origin", remote, cwd=path)
    return path
