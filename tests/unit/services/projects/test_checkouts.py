"""`read_checkout` reads the facts of an unknown checkout from its files, and of a known checkout from git."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.services.projects.checkouts import read_checkout

World = Any
Checkouts = Any
MakeRepo = Callable[..., Path]


@pytest.fixture
def git_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Put a git that records its calls before the real git, and return a function that lists calls below `src`."""
    real, log = shutil.which("git"), tmp_path / "git-calls"
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$PWD $*" >> {log}\nexec {real} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    def calls_in_checkouts() -> list[str]:
        lines = log.read_text().splitlines() if log.exists() else []
        return [line for line in lines if line.startswith(str(tmp_path / "src"))]

    return calls_in_checkouts


async def test_a_directory_outside_of_any_repository_has_no_checkout(world: World, tmp_path: Path) -> None:
    assert await read_checkout(world.store, str(tmp_path)) is None


async def test_git_does_not_run_in_an_unknown_checkout(
    world: World, make_repo: MakeRepo, git_calls: Callable[[], list[str]]
) -> None:
    repo = make_repo("engine")
    (repo / "deep").mkdir()
    made = len(git_calls())
    checkout = await read_checkout(world.store, str(repo / "deep"))
    assert checkout is not None and len(git_calls()) == made
    assert (checkout.toplevel, checkout.git_dir) == (str(repo), f"{repo}/.git")
    assert list(checkout.remotes) == ["origin"] and not checkout.is_shallow


async def test_git_runs_in_a_known_checkout(
    world: World, checkouts: Checkouts, make_repo: MakeRepo, git_calls: Callable[[], list[str]]
) -> None:
    repo = make_repo("engine")
    from_files = await read_checkout(world.store, str(repo))
    await checkouts.locate(repo)
    made = len(git_calls())
    assert await read_checkout(world.store, str(repo)) == from_files
    assert len(git_calls()) > made


async def test_rules_of_the_person_and_of_the_repository_rewrite_addresses(world: World, make_repo: MakeRepo) -> None:
    subprocess.run(["git", "config", "--global", "url.git@github.com:.insteadOf", "gh:"], check=True)
    repo = make_repo("engine", remote="gh:acme/engine")
    subprocess.run(["git", "-C", repo, "config", "url.https://example.org/.insteadOf", "ex:"], check=True)
    subprocess.run(["git", "-C", repo, "remote", "add", "mirror", "ex:acme/engine"], check=True)
    checkout = await read_checkout(world.store, str(repo))
    assert checkout is not None
    assert checkout.remotes == {"origin": "git@github.com:acme/engine", "mirror": "https://example.org/acme/engine"}


@pytest.mark.parametrize("is_enabled", [True, False])
async def test_the_configuration_of_a_worktree_counts_only_if_the_repository_enables_it(
    world: World, make_repo: MakeRepo, is_enabled: bool
) -> None:
    repo = make_repo("engine", remote=None)
    subprocess.run(["git", "-C", repo, "config", "extensions.worktreeConfig", str(is_enabled).lower()], check=True)
    (repo / ".git" / "config.worktree").write_text('[remote "origin"]\n\turl = git@github.com:acme/engine.git\n')
    checkout = await read_checkout(world.store, str(repo))
    assert checkout is not None and list(checkout.remotes) == (["origin"] if is_enabled else [])


async def test_a_shallow_clone_is_recognised_by_its_file(world: World, make_repo: MakeRepo) -> None:
    repo = make_repo("engine")
    (repo / ".git" / "shallow").write_text("")
    checkout = await read_checkout(world.store, str(repo))
    assert checkout is not None and not checkout.is_shallow
    (repo / ".git" / "shallow").write_text("0" * 40 + "\n")
    checkout = await read_checkout(world.store, str(repo))
    assert checkout is not None and checkout.is_shallow


async def test_the_first_commit_is_read_only_if_it_identifies_a_project(
    world: World, checkouts: Checkouts, make_repo: MakeRepo
) -> None:
    repo = make_repo("engine", remote=None)
    subprocess.run(["git", "-C", repo, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    await checkouts.locate(repo)
    known = await read_checkout(world.store, str(repo))
    assert known is not None and known.root_commit is None
    await checkouts.init(repo)
    identified = await read_checkout(world.store, str(repo))
    assert identified is not None and identified.root_commit
