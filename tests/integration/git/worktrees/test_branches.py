"""Branches and git's list of worktrees: look up, create, move and delete, only at the known commit."""

from __future__ import annotations

import pytest

from maestro.core.errors import Conflict, Invalid, NameTaken, NotFound
from maestro.git.worktrees import branches


class TestLookUp:
    async def test_a_branch_comes_before_a_tag_of_the_same_name(self, repo):
        first = repo.tip("main")
        repo.git("tag", "twice", first)
        second = repo.commit({"a": "1"})
        repo.git("branch", "twice", second)
        assert await branches.require_commit(str(repo), "twice") == second
        assert await branches.require_commit(str(repo), "refs/tags/twice") == first

    async def test_the_head_of_a_repository_without_commits_is_refused_with_a_hint(self, tmp_path, repo):
        repo.git("init", "-q", str(tmp_path / "empty"))
        with pytest.raises(Conflict, match="has no commit yet"):
            await branches.require_commit(str(tmp_path / "empty"), None)
        assert await branches.require_commit(str(repo), None) == repo.tip("HEAD")

    @pytest.mark.parametrize("name", ["missing", "-f", "nu\0ll"])
    async def test_an_unknown_name_is_refused(self, repo, name):
        assert await branches.branch_tip(str(repo), name) is None
        with pytest.raises(NotFound):
            await branches.require_commit(str(repo), name)

    async def test_several_branches_are_looked_up_at_once(self, repo):
        repo.git("branch", "x")
        tips = await branches.branch_tips(str(repo), "main", "x", "missing")
        assert tips == {"main": repo.tip("main"), "x": repo.tip("x")}
        assert await branches.branch_tips(str(repo)) == {}

    async def test_the_tips_of_a_merge_tell_whether_the_target_is_checked_out(self, repo, make):
        tree = await make("x")
        tree.commit({"a": "1"})
        into_main = await branches.merge_tips(str(repo), "x", "main")
        assert (into_main.branch, into_main.into, into_main.is_checked_out) == (tree.tip("x"), repo.tip("main"), True)
        repo.git("branch", "free")
        assert not (await branches.merge_tips(str(repo), "x", "free")).is_checked_out
        with pytest.raises(NotFound, match="'missing'"):
            await branches.merge_tips(str(repo), "x", "missing")

    async def test_a_commit_contains_its_ancestors_only(self, repo):
        old, new = repo.tip("main"), repo.commit({"a": "1"})
        assert await branches.contains_commit(str(repo), commit=old, within=new)
        assert not await branches.contains_commit(str(repo), commit=new, within=old)


class TestChanges:
    async def test_a_missing_branch_is_created_and_an_existing_branch_stays(self, repo):
        first = repo.tip("main")
        assert await branches.ensure_branch(str(repo), "run/1", "main") == first
        repo.commit({"a": "1"})
        assert await branches.ensure_branch(str(repo), "run/1", "main") == first

    @pytest.mark.parametrize("name", ["main", "taken/below", "taken"])
    async def test_a_name_that_git_cannot_use_beside_another_branch_is_taken(self, repo, name):
        repo.git("branch", "taken/below/more") if name == "taken/below" else repo.git("branch", "taken/below")
        with pytest.raises(NameTaken):
            await branches.create_branch(str(repo), name, at=repo.tip("main"))

    @pytest.mark.parametrize("name", ["HEAD", "-x", "two..dots", "space here", "nu\0ll"])
    async def test_an_invalid_name_is_refused(self, repo, name):
        with pytest.raises(Invalid, match="is not a valid name"):
            await branches.create_branch(str(repo), name, at=repo.tip("main"))

    async def test_a_branch_is_moved_and_deleted_only_at_the_known_commit(self, repo):
        old, new = repo.tip("main"), repo.commit({"a": "1"})
        repo.git("branch", "x", old)
        assert not await branches.move_branch(str(repo), "x", to=new, old=new, reason="test")
        assert not await branches.delete_branch(str(repo), "x", at=new)
        assert repo.tip("x") == old
        assert await branches.move_branch(str(repo), "x", to=new, old=old, reason="test")
        assert repo.tip("x") == new
        assert await branches.delete_branch(str(repo), "x", at=new)
        assert await branches.branch_tip(str(repo), "x") is None

    async def test_the_settings_of_a_deleted_branch_are_removed(self, repo):
        repo.git("branch", "x")
        repo.git("config", "branch.x.remote", "origin")
        await branches.delete_branch(str(repo), "x", at=repo.tip("main"))
        assert "branch" not in (repo.path / ".git" / "config").read_text()


class TestCheckouts:
    async def test_the_list_names_branch_lock_and_missing_folder_of_each_worktree(self, repo, make):
        locked, gone = await make("x"), await make("y")
        repo.git("worktree", "lock", "--reason", "on a stick", str(locked))
        gone.git("switch", "-q", "--detach")
        main, first, second = await branches.list_worktrees(str(repo))
        assert main.is_main and main.branch == "main" and not first.is_main
        assert (first.branch, first.is_locked, first.lock_reason) == ("x", True, "on a stick")
        assert (second.branch, second.head, second.is_prunable) == ("", repo.tip("main"), False)
        gone.path.rename(gone.path.with_name("away"))
        found = await branches.find_worktree(str(repo), str(gone))
        assert found is not None and found.is_prunable
        assert await branches.find_worktree(str(repo), str(repo.path / "below")) is None

    async def test_the_checkout_of_a_branch_is_found(self, repo, make):
        tree = await make("x")
        assert await branches.checkout_of_branch(str(repo), "x") == str(tree)
        repo.git("branch", "free")
        assert await branches.checkout_of_branch(str(repo), "free") == ""

    async def test_a_branch_that_is_checked_out_twice_is_refused(self, repo, make, tmp_path):
        await make("x")
        repo.git("worktree", "add", "-q", "--force", str(tmp_path / "again"), "x")
        with pytest.raises(Conflict, match="checked out more than once"):
            await branches.checkout_of_branch(str(repo), "x")

    async def test_a_fast_forward_moves_branch_index_and_files(self, repo, make):
        tree = await make("x")
        old, new = repo.tip("main"), tree.commit({"a": "1"})
        repo.write({"own": "stays"})
        assert await branches.fast_forward(str(repo), branch="main", old=old, new=new)
        assert repo.tip("main") == new and (repo.path / "a").read_text() == "1"
        assert repo.git("status", "--porcelain") == "?? own"

    async def test_a_branch_that_moved_is_not_fast_forwarded(self, repo, make):
        tree = await make("x")
        old, new = repo.tip("main"), tree.commit({"a": "1"})
        moved = repo.commit({"b": "1"})
        assert not await branches.fast_forward(str(repo), branch="main", old=old, new=new)
        assert not await branches.fast_forward(str(repo), branch="x", old=old, new=new)
        assert repo.tip("main") == moved

    async def test_uncommitted_files_that_would_be_overwritten_are_named(self, repo, make):
        tree = await make("x")
        old, new = repo.tip("main"), tree.commit({"a": "1", "readme.txt": "2"})
        repo.write({"a": "mine"})
        with pytest.raises(Conflict, match="would overwrite uncommitted files: a\\.") as refused:
            await branches.fast_forward(str(repo), branch="main", old=old, new=new)
        assert refused.value.data == {"checkout": str(repo), "files": ["a"]}
        assert repo.tip("main") == old and (repo.path / "a").read_text() == "mine"
