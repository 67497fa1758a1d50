"""Removing a worktree: only what is safe elsewhere goes, and what would be lost is said."""

from __future__ import annotations

import os

import pytest

from maestro.core.errors import Conflict, NotFound
from maestro.git import worktrees
from maestro.git.worktrees import CommitAuthor, WorktreeSettings, branches


async def remove(repo, tree, branch: str = "x", into: str = "main", **more) -> worktrees.RemovedWorktree:
    return await worktrees.remove_worktree(str(repo), path=str(tree), branch=branch, merged_into=into, **more)


async def refused(repo, tree, **more) -> Conflict:
    before = repo.everything(), sorted(tree.path.rglob("*"))
    with pytest.raises(Conflict) as error:
        await remove(repo, tree, **more)
    assert (repo.everything(), sorted(tree.path.rglob("*"))) == before
    return error.value


async def test_merged_and_clean_it_goes_with_its_branch(repo, make):
    repo.git("branch", "run")
    tree = await make("x")
    last = tree.commit({"a": "1"})
    await worktrees.merge_branch(str(repo), branch="x", into="run", message="m", author=CommitAuthor("a", "b"))
    tree.git("config", "branch.x.description", "about it")
    done = await remove(repo, tree, into="run")
    assert done == worktrees.RemovedWorktree(path=str(tree), branch="x", commit=last, is_branch_deleted=True)
    assert not tree.path.exists() and len(await branches.list_worktrees(str(repo))) == 1
    assert repo.git("branch", "--list", "x") == "" == repo.git("config", "branch.x.description", check=False)


async def test_the_branch_can_be_kept(repo, make):
    tree = await make("x")
    assert not (await remove(repo, tree, keep_branch=True)).is_branch_deleted
    assert not tree.path.exists() and repo.tip("x") == repo.tip("main")


async def test_one_that_never_went_beyond_its_base_goes(repo, make):
    repo.git("branch", "other")
    repo.git("checkout", "-q", "--detach")
    base = repo.commit({"a": "1"})
    repo.git("branch", "side")
    tree = await make("x", base=base)
    assert (await remove(repo, tree, into="other")).is_branch_deleted


async def test_commits_that_are_nowhere_else_stay(repo, make):
    tree = await make("x")
    tree.commit({"a": "1"}, "precious work")
    error = await refused(repo, tree)
    assert "commits of x that are not in main: 1 (" in error.message and "precious work" in error.message
    assert len(error.data["commits"]) == 1
    assert "precious work" in (await refused(repo, tree, keep_branch=True)).message


@pytest.mark.parametrize("name", ["new", "two words", "line\nbreak", os.fsdecode(b"caf\xe9"), "folder/deep"])
async def test_new_files_stay(repo, make, name):
    tree = await make("x")
    tree.write({name: "precious"})
    error = await refused(repo, tree)
    assert error.data == {"untracked": [name.replace("\udce9", "\\xe9")]}
    error.message.encode()


async def test_changed_staged_and_deleted_files_stay(repo, make):
    tree = await make("x")
    tree.write({"readme.txt": "changed"})
    assert (await refused(repo, tree)).data == {"changed": ["readme.txt"]}
    tree.git("checkout", "-q", "readme.txt")
    tree.write({"staged": "1"})
    tree.git("add", "staged")
    assert (await refused(repo, tree)).data == {"changed": ["staged"]}
    tree.git("rm", "-q", "-f", "staged")
    (tree.path / "readme.txt").unlink()
    assert (await refused(repo, tree)).data == {"changed": ["readme.txt"]}


async def test_settings_that_hide_files_do_not_lose_them(repo, make):
    repo.git("config", "status.showUntrackedFiles", "no")
    tree = await make("x")
    tree.write({"new": "precious"})
    await refused(repo, tree)


async def test_a_repository_inside_stays(repo, make):
    tree = await make("x")
    repo.git("clone", "-q", str(repo), str(tree.path / "inner"))
    assert (await refused(repo, tree)).data == {"untracked": ["inner/"]}


async def test_a_submodule_that_was_filled_stays(repo, make, tmp_path):
    """Its commits live in the worktree's own part of the repository, and would go with it."""
    repo.git("clone", "-q", str(repo), str(tmp_path / "lib"))
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "lib"), "lib")
    repo.commit({}, "with a submodule")
    tree = await make("x")
    tree.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    assert (await refused(repo, tree)).data == {"submodules": ["lib"]}


async def test_files_that_were_copied_in_do_not_count(repo, make):
    repo.write({".env": "1", "config/a.local": "2"})
    tree = await make("x")
    await worktrees.prepare_worktree(
        str(tree), settings=WorktreeSettings(copy=(".env", "config/*")), source=str(repo)
    )
    tree.write({"config/b.local": "precious"})
    assert (await refused(repo, tree)).data == {"untracked": ["config/b.local"]}
    (tree.path / "config" / "b.local").unlink()
    await remove(repo, tree)
    assert not tree.path.exists()


async def test_a_copy_that_was_changed_since_stays(repo, make):
    repo.write({".env": "1"})
    tree = await make("x")
    await worktrees.prepare_worktree(str(tree), settings=WorktreeSettings(copy=(".env",)), source=str(repo))
    tree.write({".env": "precious"})
    assert (await refused(repo, tree)).data == {"untracked": [".env"]}
    (tree.path / ".env").unlink()
    (tree.path / ".env").symlink_to("readme.txt")
    assert (await refused(repo, tree)).data == {"untracked": [".env"]}


async def test_ignored_files_go_with_the_folder(repo, make):
    repo.commit({".gitignore": "build/\n"})
    tree = await make("x")
    tree.write({"build/output": "1"})
    await remove(repo, tree)
    assert not tree.path.exists()


async def test_an_operation_under_way_stays(repo, make):
    tree = await make("x")
    repo.git("branch", "side")
    repo.commit({"a": "1"})
    tree.git("merge", "-q", "main")
    tree.git("merge", "-q", "--no-ff", "--no-commit", "-s", "ours", "main", check=False)
    repo.commit({"b": "1"})
    tree.git("merge", "-q", "--no-ff", "--no-commit", "-s", "ours", "main")
    assert tree.git("status", "--porcelain") == ""
    assert (await refused(repo, tree)).data == {"under way": ["merge"]}


async def test_another_branch_or_none_in_it_stays(repo, make):
    tree = await make("x")
    tree.git("checkout", "-q", "-b", "own")
    assert "but on own" in (await refused(repo, tree)).message
    tree.git("checkout", "-q", "--detach")
    tree.commit({"a": "precious"})
    assert "but on commit" in (await refused(repo, tree)).message


async def test_a_branch_in_use_elsewhere_stays(repo, make, tmp_path):
    tree = await make("x")
    repo.git("worktree", "add", "-q", "--force", str(tmp_path / "second"), "x")
    assert "checked out at" in (await refused(repo, tree)).message


async def test_a_locked_one_stays(repo, make):
    tree = await make("x")
    repo.git("worktree", "lock", "--reason", "mine", str(tree))
    assert "locked (mine)" in (await refused(repo, tree)).message


async def test_the_main_checkout_is_never_removed(repo):
    with pytest.raises(Conflict, match="main checkout"):
        await remove(repo, repo, branch="main")


async def test_a_folder_that_is_no_worktree_is_left_alone(repo, make, tmp_path):
    repo.git("branch", "x")
    (tmp_path / "mine").mkdir()
    with pytest.raises(NotFound):
        await remove(repo, tmp_path / "mine")
    assert (tmp_path / "mine").exists() and repo.tip("x")


async def test_one_whose_folder_is_gone_is_forgotten(repo, make, tmp_path):
    tree, other = await make("x"), await make("y")
    tree.path.rename(tmp_path / "elsewhere")
    other.path.rename(tmp_path / "away")
    assert (await remove(repo, tree)).is_branch_deleted
    # The other one may be on a disk that comes back: it is not pruned with the first.
    assert [one.branch for one in await branches.list_worktrees(str(repo))] == ["main", "y"]


async def test_what_a_call_cut_short_left_is_finished(repo, make):
    tree = await make("x")
    repo.git("worktree", "remove", str(tree))
    assert (await remove(repo, tree)).is_branch_deleted
    with pytest.raises(NotFound):
        await remove(repo, tree)


async def test_where_it_should_be_merged_must_be_there(repo, make):
    tree = await make("x")
    with pytest.raises(NotFound):
        await remove(repo, tree, into="nothing")
    assert tree.path.exists()
