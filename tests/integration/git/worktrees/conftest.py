"""Provide real repositories for worktrees."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from maestro.git import repositories, worktrees


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@dataclass
class Repo:
    """A repository or one of its worktrees, with the git commands of a person."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def git(self, *args: str | bytes, check: bool = True) -> str:
        done = subprocess.run(["git", *args], cwd=self.path, check=check, capture_output=True)
        return os.fsdecode(done.stdout).rstrip("\n")

    def write(self, files: dict[str, str | bytes]) -> None:
        for name, content in files.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())

    def commit(self, files: dict[str, str | bytes], message: str = "change") -> str:
        self.write(files)
        self.git("add", "--all")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.tip("HEAD")

    def tip(self, name: str) -> str:
        return self.git("rev-parse", name)

    def refs(self) -> list[str]:
        return self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()

    def everything(self) -> dict[str, object]:
        """Return the state that a failed call must leave unchanged."""
        git_dir = Path(self.git("rev-parse", "--absolute-git-dir"))
        registered = git_dir / "worktrees"
        return {
            "refs": self.refs(),
            "worktrees": self.git("worktree", "list", "--porcelain"),
            "registered": names_in(registered) if registered.exists() else [],
            "status": self.git("status", "--porcelain", "--branch", check=False),
            "beside": names_in(self.path.parent),
            "ours": [name for name in names_in(git_dir) if name.startswith("maestro")],
        }


@pytest.fixture(autouse=True)
def accepted_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept all programs that these repositories name. tests/security covers programs that nobody accepted."""
    monkeypatch.setattr(repositories.CheckoutRecords, "accepts", lambda *_: True)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Return a repository with one commit on main."""
    made = Repo(tmp_path / "vc")
    made.path.mkdir()
    made.git("init", "-q")
    made.commit({"readme.txt": "one\ntwo\nthree\n"}, "first")
    return made


@pytest.fixture
def bare(repo: Repo, tmp_path: Path) -> Repo:
    """Return a bare clone of the repository."""
    repo.git("clone", "-q", "--bare", str(repo), str(tmp_path / "vc.git"))
    return Repo(tmp_path / "vc.git")


@pytest.fixture
def make(repo: Repo, tmp_path: Path) -> Callable[..., object]:
    """Return a function that creates a worktree on a branch with the same name."""

    async def made(name: str, *, base: str | None = None) -> Repo:
        created = await worktrees.create_worktree(
            str(repo), path=str(tmp_path / "trees" / name), branch=name, base=base
        )
        return Repo(Path(created.path))

    return made
