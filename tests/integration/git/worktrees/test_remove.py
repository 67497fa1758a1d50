"""A worktree is removed only if no work would be lost. Otherwise the error names the work."""

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


async def test_a_merged_and_clean_worktree_is_removed_with_its_branch(repo, make):
    repo.git("branch", "run")
    tree = await make("x")
    last = tree.commit({"a": "1"})
    await worktrees.merge_branch(str(repo), branch="x", into="run", message="m", author=CommitAuthor("a", "b"))
    tree.git("config", "branch.x.description", "about it")
    done = await remove(repo, tree, into="run")
    assert done == worktrees.RemovedWorktree(path=str(tree), branch="x", commit=last, is_branch_deleted=True)
    assert not tree.path.exists() and len(await branches.list_worktrees(str(repo))) == 1
    assert repo.git("branch", "--list", "x") == "" == repo.git("config", "branch.x.description", check=False)


async def test_the_branch_of_a_removed_worktree_can_be_kept(repo, make):
    tree = await make("x")
    assert not (await remove(repo, tree, keep_branch=True)).is_branch_deleted
    assert not tree.path.exists() and repo.tip("x") == repo.tip("main")


async def test_a_worktree_without_commits_beyond_its_base_is_removed(repo, make):
    repo.git("branch", "other")
    repo.git("checkout", "-q", "--detach")
    base = repo.commit({"a": "1"})
    repo.git("branch", "side")
    tree = await make("x", base=base)
    assert (await remove(repo, tree, into="other")).is_branch_deleted


async def test_a_worktree_with_unmerged_commits_is_not_removed(repo, make):
    tree = await make("x")
    tree.commit({"a": "1"}, "precious work")
    error = await refused(repo, tree)
    assert "commits of x that are not in main: 1 (" in error.message and "precious work" in error.message
    assert len(error.data["commits"]) == 1
    assert "precious work" in (await refused(repo, tree, keep_branch=True)).message


@pytest.mark.parametrize("name", ["new", "two words", "line\nbreak", os.fsdecode(b"caf\xe9"), "folder/deep"])
async def test_a_worktree_with_new_files_is_not_removed(repo, make, name):
    tree = await make("x")
    tree.write({name: "precious"})
    error = await refused(repo, tree)
    assert error.data == {"untracked": [name.replace("\udce9", "\\xe9")]}
    error.message.encode()


async def test_a_worktree_with_changed_staged_or_deleted_files_is_not_removed(repo, make):
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


async def test_a_worktree_with_new_files_that_a_setting_hides_is_not_removed(repo, make):
    repo.git("config", "status.showUntrackedFiles", "no")
    tree = await make("x")
    tree.write({"new": "precious"})
    await refused(repo, tree)


async def test_a_worktree_with_a_repository_inside_is_not_removed(repo, make):
    tree = await make("x")
    repo.git("clone", "-q", str(repo), str(tree.path / "inner"))
    assert (await refused(repo, tree)).data == {"untracked": ["inner/"]}


async def test_a_worktree_with_a_filled_submodule_is_not_removed(repo, make, tmp_path):
    """The commits of the submodule are in the git directory of the worktree, and would be deleted with it."""
    repo.git("clone", "-q", str(repo), str(tmp_path / "lib"))
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "lib"), "lib")
    repo.commit({}, "with a submodule")
    tree = await make("x")
    tree.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    assert (await refused(repo, tree)).data == {"submodules": ["lib"]}


async def test_copied_files_do_not_prevent_the_removal_of_a_worktree(repo, make):
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


async def test_a_worktree_with_a_changed_copy_is_not_removed(repo, make):
    repo.write({".env": "1"})
    tree = await make("x")
    await worktrees.prepare_worktree(str(tree), settings=WorktreeSettings(copy=(".env",)), source=str(repo))
    tree.write({".env": "precious"})
    assert (await refused(repo, tree)).data == {"untracked": [".env"]}
    (tree.path / ".env").unlink()
    (tree.path / ".env").symlink_to("readme.txt")
    assert (await refused(repo, tree)).data == {"untracked": [".env"]}


async def test_ignored_files_are_removed_with_the_worktree(repo, make):
    repo.commit({".gitignore": "build/\n"})
    tree = await make("x")
    tree.write({"build/output": "1"})
    await remove(repo, tree)
    assert not tree.path.exists()


async def test_a_worktree_with_an_unfinished_operation_is_not_removed(repo, make):
    tree = await make("x")
    repo.git("branch", "side")
    repo.commit({"a": "1"})
    tree.git("merge", "-q", "main")
    tree.git("merge", "-q", "--no-ff", "--no-commit", "-s", "ours", "main", check=False)
    repo.commit({"b": "1"})
    tree.git("merge", "-q", "--no-ff", "--no-commit", "-s", "ours", "main")
    assert tree.git("status", "--porcelain") == ""
    assert (await refused(repo, tree)).data == {"under way": ["merge"]}


async def test_a_worktree_on_another_branch_or_on_no_branch_is_not_removed(repo, make):
    tree = await make("x")
    tree.git("checkout", "-q", "-b", "own")
    assert "but on own" in (await refused(repo, tree)).message
    tree.git("checkout", "-q", "--detach")
    tree.commit({"a": "precious"})
    assert "but on commit" in (await refused(repo, tree)).message


async def test_a_worktree_whose_branch_is_checked_out_elsewhere_is_not_removed(repo, make, tmp_path):
    tree = await make("x")
    repo.git("worktree", "add", "-q", "--force", str(tmp_path / "second"), "x")
    assert "checked out at" in (await refused(repo, tree)).message


async def test_a_locked_worktree_is_not_removed(repo, make):
    tree = await make("x")
    repo.git("worktree", "lock", "--reason", "mine", str(tree))
    assert "locked (mine)" in (await refused(repo, tree)).message


async def test_the_main_checkout_is_never_removed(repo):
    with pytest.raises(Conflict, match="main checkout"):
        await remove(repo, repo, branch="main")


async def test_a_folder_that_is_no_worktree_is_not_removed(repo, make, tmp_path):
    repo.git("branch", "x")
    (tmp_path / "mine").mkdir()
    with pytest.raises(NotFound):
        await remove(repo, tmp_path / "mine")
    assert (tmp_path / "mine").exists() and repo.tip("x")


async def test_a_worktree_with_a_missing_folder_is_removed_from_the_list(repo, make, tmp_path):
    tree, other = await make("x"), await make("y")
    tree.path.rename(tmp_path / "elsewhere")
    other.path.rename(tmp_path / "away")
    assert (await remove(repo, tree)).is_branch_deleted
    # The folder of the other worktree may be on a disk that returns, so that worktree stays in the list.
    assert [one.branch for one in await branches.list_worktrees(str(repo))] == ["main", "y"]


async def test_an_interrupted_removal_is_completed_by_the_next_call(repo, make):
    tree = await make("x")
    repo.git("worktree", "remove", str(tree))
    assert (await remove(repo, tree)).is_branch_deleted
    with pytest.raises(NotFound):
        await remove(repo, tree)


async def test_a_missing_target_branch_prevents_the_removal_of_a_worktree(repo, make):
    tree = await make("x")
    with pytest.raises(NotFound):
        await remove(repo, tree, into="nothing")
    assert tree.path.exists()
