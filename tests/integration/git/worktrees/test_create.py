"""A new worktree gets its branch and its folder together, or neither of them, in every kind of repository."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from maestro.core.errors import Conflict, Invalid, MaestroError, NameTaken, NotFound
from maestro.git import worktrees
from maestro.git.worktrees import branches


async def test_a_new_worktree_begins_at_the_head(repo, tmp_path):
    created = await worktrees.create_worktree(str(repo), path=str(tmp_path / "w"), branch="task-1")
    assert created == worktrees.CreatedWorktree(str(tmp_path / "w"), "task-1", repo.tip("main"))
    assert (tmp_path / "w" / "readme.txt").read_text() == "one\ntwo\nthree\n"
    assert repo.tip("task-1") == repo.tip("main")
    listed = await branches.list_worktrees(str(repo))
    assert [(one.path, one.branch, one.is_main) for one in listed] == [
        (str(repo), "main", True),
        (str(tmp_path / "w"), "task-1", False),
    ]


async def test_a_base_is_a_commit_or_a_branch_rather_than_a_tag(repo, make):
    first, second = repo.tip("HEAD"), repo.commit({"a": "2"})
    repo.git("branch", "same", first)
    repo.git("tag", "same", second)
    assert (await make("by-commit", base=first)).tip("HEAD") == first
    assert (await make("by-branch", base="same")).tip("HEAD") == first
    assert (await make("by-head")).tip("HEAD") == second


async def test_a_worktree_does_not_track_the_remote_branch_of_its_base(repo, tmp_path):
    repo.git("clone", "-q", str(repo), str(tmp_path / "clone"))
    clone = type(repo)(tmp_path / "clone")
    await worktrees.create_worktree(str(clone), path=str(tmp_path / "w"), branch="x", base="origin/main")
    assert clone.git("config", "--get-regexp", r"^branch\.x\.", check=False) == ""


async def test_a_worktree_is_created_in_a_bare_repository(bare, tmp_path):
    created = await worktrees.create_worktree(str(bare), path=str(tmp_path / "w"), branch="x")
    assert (tmp_path / "w" / "readme.txt").exists()
    assert (await worktrees.read_state(created.path, base_commit=created.base_commit)).is_clean
    assert (await branches.list_worktrees(str(bare)))[0].is_bare


async def test_uncommitted_changes_of_the_main_checkout_stay_unchanged(repo, make):
    repo.write({"readme.txt": "mine", "staged": "s", "new": "n"})
    repo.git("add", "staged")
    index = (repo.path / ".git" / "index").read_bytes()
    status = repo.git("status", "--porcelain")
    tree = await make("x")
    assert (tree.path / "readme.txt").read_text() == "one\ntwo\nthree\n"
    assert repo.git("status", "--porcelain") == status
    assert (repo.path / "readme.txt").read_text() == "mine"
    assert (repo.path / ".git" / "index").read_bytes() == index


async def test_submodules_are_left_empty_and_named(repo, tmp_path):
    repo.git("clone", "-q", str(repo), str(tmp_path / "lib"))
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "lib"), "libs/one lib")
    repo.commit({}, "with a submodule")
    created = await worktrees.create_worktree(str(repo), path=str(tmp_path / "w"), branch="x")
    assert created.submodules == ("libs/one lib",)
    assert list((tmp_path / "w" / "libs" / "one lib").iterdir()) == []
    assert (await worktrees.read_state(created.path, base_commit=created.base_commit)).is_clean
    removed = await worktrees.remove_worktree(str(repo), path=created.path, branch="x", merged_into="main")
    assert removed.is_branch_deleted and not (tmp_path / "w").exists()


async def test_a_repository_without_a_commit_is_refused(tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path / "new")], check=True)
    with pytest.raises(Conflict, match="no commit yet"):
        await worktrees.create_worktree(str(tmp_path / "new"), path=str(tmp_path / "w"), branch="x")
    assert not (tmp_path / "w").exists()


async def test_a_path_with_spaces_and_a_branch_with_a_slash_are_accepted(repo, tmp_path):
    path = tmp_path / "two words" / "käse w"
    created = await worktrees.create_worktree(str(repo), path=str(path), branch="run/task 1".replace(" ", "-"))
    assert created.path == str(path)
    assert (await branches.list_worktrees(str(repo)))[1].path == str(path)
    assert (await branches.list_worktrees(str(repo)))[1].branch == "run/task-1"


@pytest.mark.parametrize("taken", ["x", "x/y", "x/y/z"])
async def test_a_branch_name_that_exists_or_collides_with_a_branch_is_refused(repo, tmp_path, taken):
    repo.git("branch", taken)
    before = repo.everything()
    with pytest.raises(NameTaken, match=f"branch {taken} "):
        await worktrees.create_worktree(str(repo), path=str(tmp_path / "deep" / "w"), branch="x/y")
    assert repo.everything() == before


@pytest.mark.parametrize("kind", ["file", "folder", "link", "parent"])
async def test_a_path_that_exists_or_lies_below_a_file_is_refused(repo, tmp_path, kind):
    path = tmp_path / "w"
    if kind == "file":
        path.write_text("mine")
    elif kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(tmp_path / "nowhere")
    else:
        path.write_text("mine")
        path = path / "below"
    before = repo.everything()
    with pytest.raises(MaestroError) as refused:
        await worktrees.create_worktree(str(repo), path=str(path), branch="x")
    assert kind == "parent" or isinstance(refused.value, NameTaken)
    assert repo.everything() == before


async def test_the_path_of_a_worktree_with_a_missing_folder_is_refused(repo, make, tmp_path):
    tree = await make("x")
    tree.path.rename(tmp_path / "elsewhere")
    before = repo.everything()
    with pytest.raises(Conflict, match="folder is gone"):
        await worktrees.create_worktree(str(repo), path=str(tree), branch="y")
    assert repo.everything() == before


@pytest.mark.parametrize("branch", ["", "-x", "HEAD", "a..b", "a b", "x.lock", "@{-1}", "a\0b"])
async def test_a_branch_name_that_git_would_misread_is_refused(repo, tmp_path, branch):
    before = repo.everything()
    with pytest.raises(Invalid):
        await worktrees.create_worktree(str(repo), path=str(tmp_path / "w"), branch=branch)
    assert repo.everything() == before


@pytest.mark.parametrize("base", ["nothing", "--all", "f" * 40, ""])
async def test_a_missing_base_is_refused(repo, tmp_path, base):
    before = repo.everything()
    with pytest.raises(NotFound):
        await worktrees.create_worktree(str(repo), path=str(tmp_path / "w"), branch="x", base=base)
    assert repo.everything() == before


@pytest.mark.parametrize("path", ["relative", "/tmp/line\nbreak"])
async def test_a_relative_path_and_a_path_with_a_line_break_are_refused(repo, path):
    with pytest.raises(Invalid):
        await worktrees.create_worktree(str(repo), path=path, branch="x")


async def test_a_folder_outside_of_a_repository_is_refused(tmp_path):
    (tmp_path / "plain").mkdir()
    with pytest.raises(MaestroError, match="not a git repository"):
        await worktrees.create_worktree(str(tmp_path / "plain"), path=str(tmp_path / "w"), branch="x")


async def test_a_failed_checkout_leaves_the_repository_unchanged(repo, tmp_path):
    repo.commit({".gitattributes": "*.big filter=broken\n", "a.big": "x"})
    repo.git("config", "filter.broken.smudge", "exit 1")
    repo.git("config", "filter.broken.required", "true")
    before = repo.everything()
    with pytest.raises(MaestroError, match="git reset: external filter"):
        await worktrees.create_worktree(str(repo), path=str(tmp_path / "deep" / "er" / "w"), branch="x")
    assert repo.everything() == before


async def test_a_cancelled_creation_leaves_the_repository_unchanged(repo, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    # The checkout waits in a filter until the test cancels the creation.
    repo.commit({".gitattributes": "*.big filter=slow\n", "a.big": "x"})
    repo.git("config", "filter.slow.smudge", f"echo here > {fifo}; cat {fifo}")
    before = repo.everything()
    creation = asyncio.create_task(worktrees.create_worktree(str(repo), path=str(tmp_path / "w"), branch="x"))
    await asyncio.to_thread(fifo.read_text)
    creation.cancel()
    with pytest.raises(asyncio.CancelledError):
        await creation
    assert repo.everything() == before


async def test_a_creation_runs_no_hooks_of_the_repository(repo, make, tmp_path):
    hook = repo.path / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\nexit 1\n")
    hook.chmod(0o755)
    await make("x")
    assert not (tmp_path / "ran").exists()


async def test_many_simultaneous_creations_succeed(repo, make):
    names = [f"task-{number}" for number in range(12)]
    trees = await asyncio.gather(*(make(name) for name in names))
    assert {one.branch for one in await branches.list_worktrees(str(repo))} == {"main", *names}
    assert all(tree.git("status", "--porcelain") == "" for tree in trees)


async def test_of_two_simultaneous_creations_with_the_same_branch_or_path_only_one_succeeds(repo, tmp_path):
    one, other = (
        worktrees.create_worktree(str(repo), path=str(tmp_path / name), branch=branch)
        for name, branch in (("a", "same"), ("b", "same"))
    )
    done = await asyncio.gather(one, other, return_exceptions=True)
    assert sorted(type(each).__name__ for each in done) == ["CreatedWorktree", "NameTaken"]
    one, other = (
        worktrees.create_worktree(str(repo), path=str(tmp_path / "c"), branch=branch) for branch in ("this", "that")
    )
    done = await asyncio.gather(one, other, return_exceptions=True)
    assert sorted(type(each).__name__ for each in done) == ["CreatedWorktree", "NameTaken"]
    assert len(repo.refs()) == 3


async def test_worktrees_that_a_person_creates_and_removes_at_the_same_time_do_no_harm(repo, make, tmp_path):
    """Run git repeatedly in a separate process, as a person could."""
    loop = (
        "import subprocess, sys\n"
        "for n in range(15):\n"
        "    w = f'{sys.argv[1]}/p{n}'\n"
        # Between two steps of git, Maestro may remove the last worktree and with it the common folder.
        "    while subprocess.run(['git', 'worktree', 'add', '-q', '-B', f'p{n}', w], stderr=-3).returncode: pass\n"
        "    subprocess.run(['git', 'worktree', 'remove', w], check=True)\n"
        "    while subprocess.run(['git', 'branch', '-q', '-D', f'p{n}'], stderr=-3).returncode: pass\n"
    )
    person = await asyncio.create_subprocess_exec(sys.executable, "-c", loop, str(tmp_path), cwd=repo.path)
    for number in range(6):
        await make(f"x{number}")
        await worktrees.remove_worktree(
            str(repo), path=str(tmp_path / "trees" / f"x{number}"), branch=f"x{number}", merged_into="main"
        )
    assert await person.wait() == 0
    assert repo.refs() == [f"refs/heads/main {repo.tip('main')}"]


async def test_the_list_names_locked_and_missing_worktrees(repo, make, tmp_path):
    locked, gone = await make("locked"), await make("gone")
    repo.git("worktree", "lock", "--reason", "on a disk\nthat is away", str(locked))
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "line\nbreak"))
    gone.path.rename(tmp_path / "elsewhere")
    found = {one.path: one for one in await branches.list_worktrees(str(repo))}
    assert found[str(locked)].is_locked and "that is away" in found[str(locked)].lock_reason
    assert found[str(gone)].is_prunable
    detached = found[str(tmp_path / "line\nbreak")]
    assert (detached.branch, detached.head) == ("", repo.tip("main"))
