"""Merges run one at a time and outside all checkouts, onto the present commit of the target branch."""

from __future__ import annotations

import asyncio
import os

import pytest

from maestro.core import limits
from maestro.core.errors import Conflict, Invalid, MaestroError, NotFound
from maestro.git import worktrees
from maestro.git.worktrees import CommitAuthor, MergeConflict, Merged

BOT = CommitAuthor("Maestro Bot", "bot@example.org")


@pytest.fixture(autouse=True)
def run_branch(repo) -> str:
    """Create the integration branch, which no checkout has checked out."""
    repo.git("branch", "run")
    return "run"


async def merge(repo, branch: str, *, into: str = "run", message: str = "Task 1", by=worktrees.merge_branch, **more):
    return await by(str(repo), branch=branch, into=into, message=message, author=more.get("author", BOT))


# The result of a merge


async def test_a_merge_that_could_be_a_fast_forward_makes_a_commit_with_the_message(repo, make):
    old = repo.tip("run")
    tree = await make("x")
    new = tree.commit({"a": "1"})
    done = await merge(repo, "x", message="Task 7: do it\n\n# not a comment\nbody")
    assert isinstance(done, Merged) and done.is_new
    assert done == Merged(commit=repo.tip("run"), into="run", previous=old)
    assert repo.git("log", "-1", "--format=%P|%an|%ae|%cn|%ce", "run") == (
        f"{old} {new}|Maestro Bot|bot@example.org|Maestro Bot|bot@example.org"
    )
    assert repo.git("log", "-1", "--format=%B", "run").rstrip() == "Task 7: do it\n\n# not a comment\nbody"
    assert repo.git("show", "run:a") == "1"
    assert "maestro: merge x" in repo.git("reflog", "run")


async def test_a_merge_without_new_commits_makes_no_commit(repo, make):
    tree = await make("x")
    assert await merge(repo, "x") == Merged(commit=repo.tip("run"), into="run", previous=repo.tip("run"))
    tree.commit({"a": "1"})
    first = await merge(repo, "x")
    again = await merge(repo, "x")
    assert again.commit == first.commit and not again.is_new


async def test_merge_attributes_are_read_from_the_branch_and_not_from_a_checkout(repo, make):
    repo.commit({".gitattributes": "list merge=union\n", "list": "0\n"})
    repo.git("branch", "-f", "run")
    for name in ("x", "y"):
        (await make(name)).commit({"list": f"0\n{name}\n"})
    repo.git("switch", "-q", "--orphan", "empty")  # no checkout contains the attributes file
    assert (await merge(repo, "x")).is_new and (await merge(repo, "y", message=" Two \n\n\nlines \n")).is_new
    assert repo.git("show", "run:list").split() == ["0", "x", "y"]
    (await make("z", base="run")).commit({"other": "1"})
    await merge(repo, "z", message=" Two \n\n\nlines \n")
    written = [repo.git("log", "-1", "--format=%B", name) for name in ("run", "run^")]
    assert written == [" Two\n\nlines"] * 2  # the message is the same, whether the merge needs a checkout or not


async def test_a_merge_changes_only_the_target_branch(repo, make):
    (await make("x")).commit({"a": "1"})
    repo.write({"readme.txt": "dirty", "new": "1"})
    before = repo.everything()
    done = await merge(repo, "x")
    after = repo.everything()
    assert f"refs/heads/run {done.commit}" in after["refs"]
    assert {name for name in before if before[name] != after[name]} == {"refs"}


async def test_branches_of_a_bare_repository_are_merged(bare, tmp_path):
    created = await worktrees.create_worktree(str(bare), path=str(tmp_path / "w"), branch="x")
    type(bare)(tmp_path / "w").commit({"a": "1"})
    done = await merge(bare, "x")
    assert done.commit == bare.tip("run") and created.base_commit == done.previous
    assert not [entry for entry in bare.path.iterdir() if entry.name.startswith("maestro")]


async def test_settings_and_hooks_of_the_person_do_not_affect_a_merge(repo, make, tmp_path):
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in (
        "pre-merge-commit",
        "commit-msg",
        "post-merge",
        "post-checkout",
        "reference-transaction",
        "pre-commit",
    ):
        (hooks / name).write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran-{name}'\nexit 1\n")
        (hooks / name).chmod(0o755)
    tree = await make("x")
    tree.commit({"a": "1"})
    for name, value in {
        "core.hooksPath": str(hooks),
        "commit.gpgSign": "true",
        "gpg.program": "false",
        "merge.verifySignatures": "true",
        "merge.ff": "only",
        "commit.cleanup": "strip",
        "core.editor": "false",
        "author.name": "Someone Else",
        "committer.email": "else@example.org",
        "user.useConfigOnly": "true",
        "i18n.commitEncoding": "latin1",
    }.items():
        repo.git("config", name, value)
    done = await merge(repo, "x", message="Käse\n\n# kept")
    assert repo.git("log", "-1", "--encoding=UTF-8", "--format=%an %ce|%B", done.commit).rstrip() == (
        "Maestro Bot bot@example.org|Käse\n\n# kept"
    )
    assert not list(tmp_path.glob("ran-*"))


async def test_a_merge_needs_no_identity_in_the_git_configuration(repo, make, monkeypatch, tmp_path):
    (await make("x")).commit({"a": "1"})
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    repo.git("config", "user.useConfigOnly", "true")
    assert (await merge(repo, "x")).is_new


async def test_a_merge_fetches_no_large_files(repo, make, tmp_path):
    repo.commit({".gitattributes": "*.big filter=lfs\n", "a.big": "pointer"})
    repo.git("branch", "-f", "run")
    tree = await make("x")
    tree.commit({"b": "1"})
    repo.git("config", "filter.lfs.smudge", f"touch '{tmp_path}/fetched'; exit 1")
    repo.git("config", "filter.lfs.required", "true")
    assert (await merge(repo, "x")).is_new
    assert repo.git("show", "run:a.big") == "pointer"
    assert not (tmp_path / "fetched").exists()


async def test_renames_and_binary_files_are_merged(repo, make):
    repo.commit({"old": "a line\n" * 20, "picture": b"\0\1"})
    repo.git("branch", "-f", "run")
    tree, other = await make("x"), await make("y")
    tree.git("mv", "old", "new name")
    tree.commit({"picture": b"\0\2"})
    other.commit({"old": "a line\n" * 20 + "more\n", os.fsdecode(b"caf\xe9"): "1", "line\nbreak": "1"})
    assert (await merge(repo, "x")).is_new
    assert (await merge(repo, "y")).is_new
    assert repo.git("show", "run:new name").endswith("more")
    assert repo.git("ls-tree", "-z", "--name-only", "run").split("\0")[:-1] == [
        os.fsdecode(b"caf\xe9"),
        "line\nbreak",
        "new name",
        "picture",
        "readme.txt",
    ]


# Checkouts of the target branch


async def test_a_merge_updates_the_checkout_of_the_target_branch(repo, make, tmp_path):
    (await make("x")).commit({"a": "1", "readme.txt": "new\n"})
    repo.git("worktree", "add", "-q", str(tmp_path / "theirs"), "run")
    theirs = type(repo)(tmp_path / "theirs")
    theirs.write({"unrelated": "mine"})
    done = await merge(repo, "x")
    assert done.checked_out_at == str(theirs) and theirs.tip("HEAD") == done.commit
    assert theirs.git("status", "--porcelain") == "?? unrelated"
    theirs.commit({}, "the next commit")
    assert theirs.git("show", "run:a") == "1"  # the next commit does not revert the merge


@pytest.mark.parametrize("name", ["readme.txt", "a", "ignored"])
async def test_a_merge_that_would_overwrite_files_of_a_checkout_is_refused_and_changes_nothing(repo, make, name):
    repo.commit({".gitignore": "ignored\n"})
    tree = await make("x")
    tree.write({"readme.txt": "theirs", "a": "1", "ignored": "1"})
    tree.git("add", "-f", "ignored")
    tree.commit({})
    repo.write({name: "mine"})
    before = repo.everything()
    with pytest.raises(Conflict, match=name) as refused:
        await merge(repo, "x", into="main")
    assert str(repo) in refused.value.message and f"git -C {repo} stash" in refused.value.hint
    assert repo.everything() == before and (repo.path / name).read_text() == "mine"
    repo.git("stash", "-q", "--include-untracked", "--all")
    assert (await merge(repo, "x", into="main")).is_new and (repo.path / "a").read_text() == "1"


async def test_a_merge_into_a_checkout_with_a_locked_index_is_refused(repo, make):
    (await make("x")).commit({"a": "1"})
    (repo.path / ".git" / "index.lock").write_text("")
    with pytest.raises(Conflict, match="the checkout cannot be updated"):
        await merge(repo, "x", into="main")
    (repo.path / ".git" / "index.lock").unlink()
    assert (await merge(repo, "x", into="main")).is_new


# Conflicts


async def test_a_conflict_names_its_files_and_lines_and_leaves_the_repository_unchanged(repo, make):
    ours, theirs = await make("x"), await make("y")
    ours.commit({"readme.txt": "one\nOURS\nthree\n", "both": "1\n"})
    theirs.commit({"readme.txt": "one\nTHEIRS\nthree\n", "both": "2\n", "fine": "1"})
    await merge(repo, "x")
    before = repo.everything()
    done = await merge(repo, "y")
    assert isinstance(done, MergeConflict)
    assert done.files == ("both", "readme.txt") and done.files_total == 2
    assert (done.into_commit, done.branch_commit) == (repo.tip("run"), repo.tip("y"))
    both, readme = done.details
    assert (both.kind, readme.kind) == ("added on both sides", "changed on both sides")
    lines = readme.text.splitlines()
    assert lines[0] == "line 2:" and lines[1].startswith("<<<<<<< ") and lines[-1].startswith(">>>>>>> ")
    assert "OURS\n||||||| " in readme.text and "two\n=======\nTHEIRS\n" in readme.text
    assert repo.everything() == before
    # The author resolves the conflict, and the second merge succeeds.
    theirs.git("merge", "-q", "run", check=False)
    theirs.commit({"readme.txt": "one\nBOTH\nthree\n", "both": "3\n"})
    assert (await merge(repo, "y")).is_new


async def test_conflicts_of_every_kind_are_described(repo, make, tmp_path):
    (tmp_path / "secret").write_text("secret")
    long = "a line\n" * 20
    repo.commit({"picture": b"\0\1", "gone": long, "moved": long + "m\n", "kept": "1\n"})
    (repo.path / "link").symlink_to("readme.txt")
    repo.commit({}, "a link")
    repo.git("branch", "-f", "run")
    ours, theirs = await make("x"), await make("y")
    (ours.path / "link").unlink()
    (ours.path / "link").symlink_to(tmp_path / "secret")
    ours.git("mv", "moved", "here")
    ours.git("rm", "-q", "gone")
    ours.commit({"picture": b"\0\2", "kept": "2\n", os.fsdecode(b"caf\xe9"): "1\n", "line\nbreak": "1\n"})
    (theirs.path / "link").unlink()
    (theirs.path / "link").symlink_to("other")
    theirs.git("mv", "moved", "there")
    theirs.git("rm", "-q", "kept")
    theirs.commit({"picture": b"\0\3", "gone": long + "x\n", os.fsdecode(b"caf\xe9"): "2\n", "line\nbreak": "2\n"})
    await merge(repo, "x")
    done = await merge(repo, "y")
    assert {one.path: one.kind for one in done.details} == {
        "picture": "binary file, changed on both sides",
        "link": "symbolic link, changed on both sides",
        "gone": "changed in the branch, deleted in the integration branch",
        "kept": "deleted in the branch, changed in the integration branch",
        "caf\\xe9": "added on both sides",
        "line\nbreak": "added on both sides",
        "moved": "renamed or deleted on both sides",
        "here": "the branch has another file or folder at this path",
        "there": "the integration branch has another file or folder at this path",
    }
    assert "secret" not in repr([one.text for one in done.details])


async def test_the_description_of_a_huge_conflict_is_bounded(repo, make, monkeypatch):
    monkeypatch.setattr(limits, "conflict_files_max", 3)
    ours, theirs = await make("x"), await make("y")
    for tree, word in ((ours, "ours"), (theirs, "theirs")):
        tree.commit({f"{number}.txt": f"{word} {number}\n" * 50_000 for number in range(5)})
    await merge(repo, "x")
    done = await merge(repo, "y")
    assert len(done.files) == 5 and len(done.details) == 3
    assert all("cut here" in one.text and len(one.text) < 9_000 for one in done.details)


async def test_histories_without_a_common_commit_are_not_merged(repo):
    repo.git("checkout", "-q", "--orphan", "alien")
    repo.commit({"other": "1"})
    before = repo.everything()
    with pytest.raises(Conflict, match="no commit in common"):
        await merge(repo, "alien")
    assert repo.everything() == before


# Invalid branches, authors and messages, and failed merges


async def test_the_integration_branch_is_created_once(repo, make):
    first = repo.tip("main")
    repo.commit({"later": "1"})
    made = await asyncio.gather(*(worktrees.ensure_branch(str(repo), "runs/7", first) for _ in range(4)))
    assert set(made) == {first} == {repo.tip("runs/7")}
    assert await worktrees.ensure_branch(str(repo), "runs/7", "main") == first
    with pytest.raises(Conflict):
        await worktrees.ensure_branch(str(repo), "runs", "main")
    with pytest.raises(NotFound):
        await worktrees.ensure_branch(str(repo), "new", "nothing")


async def test_a_merge_of_a_missing_branch_or_into_a_missing_branch_is_refused(repo):
    with pytest.raises(NotFound, match="'nothing'"):
        await merge(repo, "nothing")
    with pytest.raises(NotFound, match="'nothing'"):
        await merge(repo, "run", into="nothing")
    repo.git("tag", "v1")
    with pytest.raises(NotFound):
        await merge(repo, "v1")


@pytest.mark.parametrize(
    "author", [CommitAuthor("", "a@b"), CommitAuthor("a", ""), CommitAuthor("<>", "a@b"), CommitAuthor("a\0", "b")]
)
async def test_an_author_that_git_would_refuse_is_invalid(repo, author):
    with pytest.raises(Invalid):
        await merge(repo, "run", author=author)


@pytest.mark.parametrize("message", ["", " \n", "x" * 30_000, "a\0b"])
async def test_a_message_that_git_would_refuse_is_invalid(repo, message):
    with pytest.raises(Invalid):
        await merge(repo, "run", message=message)


async def test_a_failed_merge_is_an_error_and_not_a_conflict(repo, make):
    (await make("x")).commit({".gitattributes": "*.big filter=broken\n", "a.big": "1"})
    (await make("y")).commit({"b": "1"})
    await merge(repo, "y")  # without changes on both sides git would write no file
    repo.git("config", "filter.broken.smudge", "exit 1")
    repo.git("config", "filter.broken.required", "true")
    before = repo.everything()
    with pytest.raises(MaestroError) as failed:
        await merge(repo, "x")
    assert not isinstance(failed.value, Conflict)
    assert repo.everything() == before
