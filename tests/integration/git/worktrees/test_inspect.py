"""The state of a worktree: changed files, commits, unfinished operations, size, unmerged work and the diff."""

from __future__ import annotations

import os

import pytest

from maestro.core import limits
from maestro.core.errors import NotFound
from maestro.git import worktrees
from maestro.git.worktrees import GitOperation, WorktreeSettings

LONG = "a line that git recognises after a rename\n" * 20


async def read_state(tree, base: str = "main") -> worktrees.GitWorktreeState:
    return await worktrees.read_state(str(tree), base_commit=base)


async def read_diff(tree) -> str:
    return await worktrees.read_diff(str(tree), base_commit="main")


async def find_unmerged_work(repo, tree) -> str:
    return await worktrees.find_unmerged_work(str(repo), path=str(tree), branch="x")


class TestState:
    async def test_a_new_worktree_is_clean(self, repo, make):
        state = await read_state(await make("x"))
        assert (state.is_clean, state.changed, state.untracked, state.ahead) == (True, 0, 0, 0)
        assert (state.head, state.branch, state.operation) == (repo.tip("main"), "x", GitOperation.NONE)

    async def test_changed_files_new_files_and_commits_are_counted(self, repo, make):
        repo.commit({"moved": LONG, "gone": "1", "kept": "1"})
        tree = await make("x")
        tree.commit({"a": "1"})
        tree.commit({"b": "1"})
        tree.git("mv", "moved", "new name")
        (tree.path / "gone").unlink()
        tree.write({"kept": "2", "folder/one": "1", "folder/two\nlines": "1", os.fsdecode(b"caf\xe9"): "1"})
        state = await read_state(tree)
        assert (state.is_clean, state.ahead, state.untracked) == (False, 2, 3)
        assert state.changed == 4  # a rename counts as a deleted file and a new file

    async def test_ignored_and_copied_files_count_only_for_the_size(self, repo, make):
        repo.commit({".gitignore": "build/\n"})
        repo.write({".env": "1"})
        tree = await make("x")
        await worktrees.prepare_worktree(str(tree), settings=WorktreeSettings(copy=(".env",)), source=str(repo))
        before = await read_state(tree)
        tree.write({"build/big": b"x" * 1_000_000})
        after = await read_state(tree)
        assert before.is_clean and after.is_clean
        assert after.size_bytes - before.size_bytes >= 1_000_000
        tree.write({".env": "changed after the copy"})
        assert (await read_state(tree)).untracked == 1

    async def test_measuring_the_size_stops_at_the_limit_of_files(self, repo, make, monkeypatch):
        tree = await make("x")
        tree.write({f"{number}/x": "x" for number in range(20)})
        (tree.path / "loop").symlink_to(tree.path)
        assert (await read_state(tree)).is_size_whole
        monkeypatch.setattr(limits, "worktree_walk_entries_max", 10)
        assert not (await read_state(tree)).is_size_whole

    async def test_unfinished_operations_are_recognised(self, repo, make):
        tree = await make("x")
        tree.commit({"readme.txt": "mine\n"})
        repo.commit({"readme.txt": "theirs\n"})
        tree.git("merge", "main", check=False)
        assert (await read_state(tree)).operation == GitOperation.MERGE
        tree.git("merge", "--abort")
        tree.git("rebase", "main", check=False)
        state = await read_state(tree)
        assert (state.operation, state.branch) == (GitOperation.REBASE, "")
        tree.git("rebase", "--abort")
        tree.git("cherry-pick", "main", check=False)
        assert (await read_state(tree)).operation == GitOperation.CHERRY_PICK
        tree.git("cherry-pick", "--abort")
        assert (await read_state(tree)).operation == GitOperation.NONE

    async def test_a_setting_that_hides_untracked_files_has_no_effect(self, repo, make):
        tree = await make("x")
        tree.git("config", "status.showUntrackedFiles", "no")
        tree.write({"new": "1"})
        assert (await read_state(tree)).untracked == 1

    async def test_a_branch_without_a_commit_has_no_head(self, repo, make):
        tree = await make("x")
        tree.git("checkout", "-q", "--orphan", "fresh")
        state = await read_state(tree)
        assert (state.head, state.ahead, state.branch, state.is_clean) == ("", 0, "fresh", False)

    async def test_commits_of_the_integration_branch_are_not_ahead(self, repo, make):
        tree = await make("x")
        base = repo.tip("main")
        repo.git("branch", "run/1")
        commit = tree.commit({"a": "1"})
        tree.commit({"b": "1"})
        repo.git("update-ref", "refs/heads/run/1", commit)
        state = await worktrees.read_state(str(tree), base_commit=base, within="run/1")
        assert state.ahead == 1

    async def test_commits_that_are_not_on_the_branch_of_the_worktree_are_reported_as_elsewhere(self, repo, make):
        tree = await make("x")
        tree.git("switch", "-q", "-c", "other")
        tree.commit({"a": "1"})
        state = await worktrees.read_state(str(tree), base_commit="main", branch="x")
        assert (state.is_elsewhere, state.ahead, state.branch) == (True, 1, "other")
        repo.git("update-ref", "refs/heads/x", state.head)
        state = await worktrees.read_state(str(tree), base_commit="main", branch="x")
        assert not state.is_elsewhere

    async def test_an_unknown_base_and_a_folder_without_a_worktree_are_refused(self, repo, make, tmp_path):
        with pytest.raises(NotFound):
            await read_state(await make("x"), base="f" * 40)
        with pytest.raises(NotFound):
            await read_state(tmp_path / "missing")
        (tmp_path / "plain").mkdir()
        with pytest.raises(NotFound, match="is not a git repository"):
            await read_state(tmp_path / "plain")

    async def test_a_folder_inside_a_worktree_is_not_a_worktree(self, repo, make):
        tree = await make("x")
        (tree.path / "below").mkdir()
        with pytest.raises(NotFound, match="is not the top of a worktree"):
            await read_state(tree.path / "below")


class TestUnmergedWork:
    async def test_committed_work_on_the_branch_is_not_unmerged_work(self, repo, make):
        tree = await make("x")
        tree.commit({"a": "1"})
        assert await find_unmerged_work(repo, tree) == ""

    async def test_uncommitted_files_are_named_up_to_a_limit(self, repo, make, monkeypatch):
        monkeypatch.setattr(limits, "names_in_message_max", 2)
        tree = await make("x")
        tree.write({"a": "1", "b": "1", "c": "1", "readme.txt": "changed"})
        assert (await find_unmerged_work(repo, tree)).startswith("uncommitted: readme.txt, a and 2 more.")

    async def test_an_unfinished_operation_is_named_with_its_way_out(self, repo, make):
        tree = await make("x")
        tree.commit({"readme.txt": "mine\n"})
        tree.git("bisect", "start")
        reason = await find_unmerged_work(repo, tree)
        assert reason.endswith("run: git bisect reset")
        tree.git("bisect", "reset")
        tree.git("revert", "--no-commit", "HEAD")
        tree.git("checkout", "-q", "HEAD", "--", ".")
        reason = await find_unmerged_work(repo, tree)
        assert reason.endswith("run: git revert --abort")
        tree.git("revert", "--abort")

    async def test_commits_on_another_branch_and_without_a_branch_are_reported(self, repo, make):
        tree = await make("x")
        tree.git("switch", "-q", "-c", "other")
        assert await find_unmerged_work(repo, tree) == ""  # the other branch has no commit yet that the branch lacks
        tree.commit({"a": "1"})
        assert "committed elsewhere: on other." in await find_unmerged_work(repo, tree)
        tree.git("switch", "-q", "--detach")
        assert f"at {tree.tip('HEAD')[:12]}, without a branch" in await find_unmerged_work(repo, tree)

    async def test_a_deleted_worktree_is_reported_as_gone(self, repo, make):
        tree = await make("x")
        repo.git("worktree", "remove", str(tree))
        assert "the worktree is gone" in await find_unmerged_work(repo, tree)
        tree.path.mkdir()  # a plain folder in the place of the worktree
        assert "the worktree is gone" in await find_unmerged_work(repo, tree)


class TestDiff:
    async def test_the_diff_holds_committed_staged_and_new_files(self, repo, make):
        tree = await make("x")
        tree.commit({"done.txt": "committed\n"})
        tree.write({"readme.txt": "one\nTWO\nthree\n", "new file": "fresh\n"})
        tree.git("add", "readme.txt")
        text = await read_diff(tree)
        assert "+committed\n" in text and "-two\n+TWO\n" in text and "+fresh\n" in text

    async def test_a_worktree_without_changes_has_an_empty_diff(self, repo, make):
        assert await read_diff(await make("x")) == ""

    async def test_reading_the_diff_does_not_write_the_index(self, repo, make):
        tree = await make("x")
        tree.write({"new": "1", "readme.txt": "2"})
        index = tree.path.parent.parent / "vc" / ".git" / "worktrees" / "x" / "index"
        before = index.read_bytes()
        await read_diff(tree)
        assert index.read_bytes() == before

    async def test_renames_binary_files_and_deleted_files_are_shown(self, repo, make):
        repo.commit({"old name": LONG, "picture": b"\0\1\2", "gone": "other\n" * 20})
        tree = await make("x")
        tree.git("mv", "old name", "new\tname")
        tree.write({"picture": b"\0\3", "fresh picture": b"\0\4"})
        (tree.path / "gone").unlink()
        text = await read_diff(tree)
        assert "similarity index 100%\nrename from old name\n" in text
        assert "Binary files a/picture and b/picture differ\n" in text
        assert "fresh picture" in text and "deleted file mode" in text

    @pytest.mark.parametrize("name", ["two words", "line\nbreak", os.fsdecode(b"caf\xe9"), "käse", "-n", 'quo"te'])
    @pytest.mark.parametrize("is_committed", [True, False])
    async def test_files_with_unusual_names_are_shown(self, repo, make, name, is_committed):
        tree = await make("x")
        files = {f"{name}.txt": b"caf\xe9 in latin\n"}
        tree.commit(files) if is_committed else tree.write(files)
        assert "+caf\N{REPLACEMENT CHARACTER} in latin\n" in await read_diff(tree)

    async def test_a_huge_diff_is_cut_at_a_line_with_a_note(self, repo, make):
        tree = await make("x")
        tree.commit({f"{number}.txt": f"{number} long line {'x' * 90}\n" * 20_000 for number in range(4)})
        tree.write({"new": "unseen"})
        text = await read_diff(tree)
        assert len(text) < limits.diff_bytes_max + 500
        kept, _, note = text.partition("\n… cut here: ")
        assert kept.endswith("x\n") and note.startswith(f"{len(kept)} of 8")
        assert f"git diff {repo.tip('main')}" in note and "1 more new files are not shown" in note

    async def test_a_huge_file_is_shown_as_binary(self, repo, make):
        tree = await make("x")
        tree.write({"new": "x\n" * (limits.diff_file_bytes_max // 2 + 1)})
        assert len(await read_diff(tree)) < 1_000
        tree.git("add", "new")
        assert len(await read_diff(tree)) < 1_000

    async def test_only_the_first_of_many_new_files_are_shown(self, repo, make, monkeypatch):
        monkeypatch.setattr(limits, "diff_untracked_files_max", 3)
        tree = await make("x")
        tree.write({f"new-{number}": "1\n" for number in range(5)})
        text = await read_diff(tree)
        assert text.count("new file mode") == 3 and "2 more new files" in text

    async def test_copied_files_are_never_shown(self, repo, make):
        repo.write({".env": "KEY=secret\n"})
        tree = await make("x")
        await worktrees.prepare_worktree(str(tree), settings=WorktreeSettings(copy=(".env",)), source=str(repo))
        assert await read_diff(tree) == ""
        tree.write({".env": "KEY=other secret\n"})
        assert "secret" not in await read_diff(tree)

    async def test_settings_of_the_person_do_not_change_the_diff(self, repo, make, tmp_path):
        tree = await make("x")
        tree.commit({".gitattributes": "*.txt diff=odd\n", "readme.txt": "one\n2\nthree\n"})
        plain = await read_diff(tree)
        for name, value in {
            "diff.external": f"touch {tmp_path}/ran",
            "diff.odd.textconv": f"touch {tmp_path}/ran; cat",
            "diff.odd.command": f"touch {tmp_path}/ran",
            "diff.noprefix": "true",
            "color.ui": "always",
            "core.pager": f"touch {tmp_path}/ran",
            "core.fsmonitor": f"touch {tmp_path}/ran",
        }.items():
            tree.git("config", name, value)
        assert await read_diff(tree) == plain
        assert not (tmp_path / "ran").exists()

    async def test_an_unknown_base_is_refused(self, repo, make):
        with pytest.raises(NotFound):
            await worktrees.read_diff(str(await make("x")), base_commit="f" * 40)
