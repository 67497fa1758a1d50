"""Tests that Maestro writes into checkouts without following links that agents made."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from maestro.git import worktrees
from maestro.git.worktrees import records
from maestro.testing.live import LiveServer

MakeRepo = Callable[..., Path]
HOSTILE = 'x = "$(touch pwned)"\n'


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


class Coordinator:
    """The session of a coordinator in a checkout, over HTTP."""

    def __init__(self, live: LiveServer, checkout: Path) -> None:
        self.live, self.checkout = live, checkout
        done = live.run_command("session", "register", "--name", "c", "--mode", "coordinate", "--json", cwd=checkout)
        assert done.returncode == 0, done.stderr.decode()
        self.token = json.loads(done.stdout)["token"]

    def link(self, **more: Any) -> httpx.Response:
        body = {"name": "zz", "remote": "https://github.com/a/b", "directory": str(self.checkout), **more}
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.post(f"{self.live.url}/api/links", json=body, headers=headers, timeout=30)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Return a file of the person outside every checkout."""
    file = tmp_path / "bashrc"
    file.write_text("# the person's own\n")
    return file


@pytest.fixture
def coordinator(live: LiveServer, make_repo: MakeRepo) -> Coordinator:
    checkout = make_repo("vc")
    (checkout / ".maestro").mkdir()
    (checkout / ".maestro" / "config.toml").write_text(HOSTILE)
    return Coordinator(live, checkout)


def test_a_link_with_the_name_of_a_part_file_is_not_followed(coordinator: Coordinator, target: Path) -> None:
    (coordinator.checkout / ".maestro" / ".config.toml.part").symlink_to(target)
    assert coordinator.link().status_code == 200
    assert target.read_text() == "# the person's own\n"
    assert "[projects.zz]" in (coordinator.checkout / ".maestro" / "config.toml").read_text()


@pytest.mark.parametrize("name", [".maestro/config.toml", ".maestro/local.toml", ".maestro/.gitignore"])
def test_a_settings_file_that_is_a_link_is_refused(coordinator: Coordinator, target: Path, name: str) -> None:
    file = coordinator.checkout / name
    file.unlink(missing_ok=True)
    file.symlink_to(target)
    answer = coordinator.link(local=name != ".maestro/config.toml")
    assert answer.status_code == 400 and "symbolic link" in answer.json()["message"]
    assert target.read_text() == "# the person's own\n"
    assert file.is_symlink()


def test_a_maestro_folder_that_is_a_link_is_refused(coordinator: Coordinator, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (coordinator.checkout / ".maestro").rename(elsewhere)
    (coordinator.checkout / ".maestro").symlink_to(elsewhere)
    answer = coordinator.link()
    assert answer.status_code == 400 and "symbolic link" in answer.json()["message"]
    assert names_in(elsewhere) == ["config.toml"] and (elsewhere / "config.toml").read_text() == HOSTILE


def test_a_pipe_with_the_name_of_a_settings_file_is_refused_at_once(coordinator: Coordinator) -> None:
    file = coordinator.checkout / ".maestro" / "config.toml"
    file.unlink()
    os.mkfifo(file)
    assert coordinator.link().status_code == 400


async def test_a_link_with_the_name_of_a_part_file_of_a_worktree_record_is_not_followed(
    make_repo: MakeRepo, target: Path
) -> None:
    repo = make_repo("vc")
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "first"], cwd=repo, check=True)
    made = await worktrees.create_worktree(str(repo), path=str(repo.parent / "tree"), branch="b")
    git_dir = Path((Path(made.path) / ".git").read_text().removeprefix("gitdir: ").strip())
    (git_dir / "maestro.json.part").symlink_to(target)
    records.write_record(str(git_dir), records.WorktreeRecord(base=made.base_commit, copied={"$(touch pwned)": "x"}))
    assert target.read_text() == "# the person's own\n"
    assert records.read_record(str(git_dir)).copied == {"$(touch pwned)": "x"}


async def test_a_pipe_with_the_name_of_a_worktree_record_does_not_block_the_reader(make_repo: MakeRepo) -> None:
    repo = make_repo("vc")
    os.mkfifo(repo / "maestro.json")
    assert records.read_record(str(repo)) == records.WorktreeRecord()
