"""The fingerprint of a repository: it changes with the facts about a checkout, and not with ordinary work."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.git.fingerprint import Fingerprint, take_fingerprint
from maestro.testing.git_repositories import make_repository, run_git

URL = "git@github.com:steveyegge/vc.git"


def fingerprint_of(path: Path) -> Fingerprint:
    found = take_fingerprint(str(path))
    assert found is not None
    return found


async def test_commits_and_branches_do_not_change_the_fingerprint(folder: Path) -> None:
    root = make_repository(folder / "vc", remote=URL)
    before = fingerprint_of(root)
    (root / "file").write_text("text")
    run_git("add", "file", cwd=root)
    run_git("commit", "-q", "-m", "more", cwd=root)
    run_git("checkout", "-q", "-b", "topic", cwd=root)
    run_git("pack-refs", "--all", cwd=root)
    run_git("gc", "-q", cwd=root)
    assert fingerprint_of(root) == before
    assert hash(fingerprint_of(root)) == hash(before)


@pytest.mark.parametrize(
    "change",
    [
        ("remote", "set-url", "origin", "git@github.com:steveyegge/vb.git"),
        ("remote", "add", "upstream", URL),
        ("remote", "remove", "origin"),
        ("config", "--global", "url.https://mirror.example/.insteadOf", "git@github.com:"),
        ("config", "extensions.worktreeConfig", "true"),
    ],
)
async def test_a_change_of_the_configuration_changes_the_fingerprint(folder: Path, change: tuple[str, ...]) -> None:
    root = make_repository(folder / "vc", remote=URL)
    before = fingerprint_of(root)
    run_git(*change, cwd=root)
    assert fingerprint_of(root) != before


async def test_the_configuration_of_one_worktree_changes_only_its_fingerprint(folder: Path) -> None:
    root = make_repository(folder / "vc", remote=URL)
    run_git("config", "extensions.worktreeConfig", "true", cwd=root)
    run_git("worktree", "add", "-q", str(folder / "linked"), cwd=root)
    before, beside = fingerprint_of(folder / "linked"), fingerprint_of(root)
    run_git("config", "--worktree", "remote.origin.url", "host:other", cwd=folder / "linked")
    assert fingerprint_of(folder / "linked") != before
    assert fingerprint_of(root) == beside


async def test_unshallowing_a_clone_changes_the_fingerprint(folder: Path) -> None:
    hub = make_repository(folder / "hub", commits=3)
    run_git("clone", "-q", "--depth", "1", f"file://{hub}", str(folder / "vc"), cwd=folder)
    before = fingerprint_of(folder / "vc")
    run_git("fetch", "-q", "--unshallow", cwd=folder / "vc")
    assert fingerprint_of(folder / "vc") != before


async def test_configuration_files_of_the_person_change_the_fingerprint(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository(folder / "vc", remote=URL)
    prints = [fingerprint_of(root)]
    (Path.home() / ".ssh" / "config").write_text("Host work\n")
    prints.append(fingerprint_of(root))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    prints.append(fingerprint_of(root))
    xdg = Path.home() / ".config" / "git" / "config"
    xdg.parent.mkdir(parents=True)
    xdg.write_text("")
    prints.append(fingerprint_of(root))
    assert len(set(prints)) == 4


async def test_a_lock_file_of_a_branch_does_not_change_the_fingerprint(folder: Path) -> None:
    root = make_repository(folder / "vc", commits=0)
    before = fingerprint_of(root)
    (root / ".git" / "refs" / "heads" / "main.lock").write_text("")
    assert fingerprint_of(root) == before
