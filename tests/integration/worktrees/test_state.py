"""How a worktree stands: counts, distance from the base, size, and what git is in the middle of."""

from __future__ import annotations

import os

import pytest

from maestro.core import limits
from maestro.core.errors import NotFound
from maestro.git import worktrees
from maestro.git.worktrees import GitOperation, WorktreeSettings


async def look(tree, base: str = "main") -> worktrees.GitWorktreeState:
    return await worktrees.read_state(str(tree), base_commit=base)


async def test_a_new_one_is_clean(repo, make):
    found = await look(await make("x"))
    assert (found.is_clean, found.changed, found.untracked, found.ahead) == (True, 0, 0, 0)
    assert (found.head, found.branch, found.operation) == (repo.tip("main"), "x", GitOperation.NONE)


async def test_changes_new_files_and_commits_are_counted(repo, make):
    repo.commit({"moved": "long enough to be known again\n" * 9, "gone": "1", "kept": "1"})
    tree = await make("x")
    tree.commit({"a": "1"})
    tree.commit({"b": "1"})
    tree.git("mv", "moved", "new place")
    (tree.path / "gone").unlink()
    tree.write({"kept": "2", "folder/one": "1", "folder/two\nlines": "1", os.fsdecode(b"caf\xe9"): "1"})
    found = await look(tree)
    assert (found.is_clean, found.ahead, found.untracked) == (False, 2, 3)
    assert found.changed == 4  # a rename is one file gone and one come


async def test_ignored_and_copied_files_are_not_work_but_take_room(repo, make):
    repo.commit({".gitignore": "build/\n"})
    repo.write({".env": "1"})
    tree = await make("x")
    await worktrees.prepare_worktree(str(tree), settings=WorktreeSettings(copy=(".env",)), source=str(repo))
    before = await look(tree)
    tree.write({"build/big": b"x" * 1_000_000})
    after = await look(tree)
    assert before.is_clean and after.is_clean
    assert after.size_bytes - before.size_bytes >= 1_000_000
    tree.write({".env": "changed since"})
    assert (await look(tree)).untracked == 1


async def test_the_walk_for_the_size_has_an_end(repo, make, monkeypatch):
    tree = await make("x")
    tree.write({f"{number}/x": "x" for number in range(20)})
    (tree.path / "loop").symlink_to(tree.path)
    assert (await look(tree)).is_size_whole
    monkeypatch.setattr(limits, "worktree_walk_entries_max", 10)
    assert not (await look(tree)).is_size_whole


async def test_a_merge_and_a_rebase_under_way_are_seen(repo, make):
    tree = await make("x")
    tree.commit({"readme.txt": "mine\n"})
    repo.commit({"readme.txt": "theirs\n"})
    tree.git("merge", "main", check=False)
    assert (await look(tree)).operation == GitOperation.MERGE
    tree.git("merge", "--abort")
    tree.git("rebase", "main", check=False)
    found = await look(tree)
    assert (found.operation, found.branch) == (GitOperation.REBASE, "")
    tree.git("rebase", "--abort")
    tree.git("cherry-pick", "main", check=False)
    assert (await look(tree)).operation == GitOperation.CHERRY_PICK
    tree.git("cherry-pick", "--abort")
    assert (await look(tree)).operation == GitOperation.NONE


async def test_settings_that_hide_files_do_not_hide_them_here(repo, make):
    tree = await make("x")
    tree.git("config", "status.showUntrackedFiles", "no")
    tree.write({"new": "1"})
    assert (await look(tree)).untracked == 1


async def test_a_branch_with_no_commit_yet(repo, make):
    tree = await make("x")
    tree.git("checkout", "-q", "--orphan", "fresh")
    found = await look(tree)
    assert (found.head, found.ahead, found.branch, found.is_clean) == ("", 0, "fresh", False)


async def test_a_base_or_a_folder_that_is_not_there(repo, make, tmp_path):
    with pytest.raises(NotFound):
        await look(await make("x"), base="f" * 40)
    with pytest.raises(NotFound):
        await look(tmp_path / "nowhere")
    (tmp_path / "plain").mkdir()
    with pytest.raises(NotFound, match="is not a git repository"):
        await look(tmp_path / "plain")
