"""Copies of files that are not in git, from a checkout into its worktree, and never from or to another folder."""

from __future__ import annotations

import os

import pytest

from maestro.core import limits
from maestro.core.errors import TooLarge
from maestro.git import worktrees
from maestro.git.worktrees import WorktreeSettings, copy_files


async def prepared(tree, repo, *copy: str, **more) -> worktrees.PreparedWorktree:
    return await worktrees.prepare_worktree(str(tree), settings=WorktreeSettings(copy=copy, **more), source=str(repo))


async def test_matching_files_are_copied_with_their_modes(repo, make):
    repo.write(
        {".env": "KEY=1", "config/a.local": "a", "config/b.local": "b", "config/c.txt": "c", "deep/x/y/.env": "d"}
    )
    (repo.path / ".env").chmod(0o600)
    tree = await make("x")
    done = await prepared(tree, repo, ".env", "config/*.local", "deep/**/.env", "nothing")
    assert done.copied == (".env", "config/a.local", "config/b.local", "deep/x/y/.env")
    assert [(file.path, file.reason) for file in done.skipped] == [("nothing", "there is no such file")]
    assert (tree.path / ".env").read_text() == "KEY=1"
    assert (tree.path / ".env").stat().st_mode & 0o777 == 0o600
    assert not (tree.path / "config" / "c.txt").exists()


async def test_two_stars_at_the_end_match_all_files_below(repo, make):
    repo.write({"certs/a": "1", "certs/deep/b": "2"})
    tree = await make("x")
    assert (await prepared(tree, repo, "certs/**")).copied == ("certs/a", "certs/deep/b")


@pytest.mark.parametrize("name", ["two words", "line\nbreak", os.fsdecode(b"caf\xe9"), "[x]?", "-n"])
async def test_files_with_unusual_names_are_copied(repo, make, name):
    repo.write({f"local/{name}": "x"})
    tree = await make("x")
    done = await prepared(tree, repo, "local/*")
    assert (tree.path / "local" / name).read_text() == "x"
    done.copied[0].encode()  # the name can be sent as text
    assert (await worktrees.read_state(str(tree), base_commit="main")).is_clean
    await worktrees.remove_worktree(str(repo), path=str(tree), branch="x", merged_into="main")
    assert not tree.path.exists()


async def test_links_in_the_checkout_are_not_followed(repo, make, tmp_path):
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key").write_text("secret")
    (repo.path / "linked").symlink_to(tmp_path / "secrets")
    (repo.path / ".env").symlink_to(tmp_path / "secrets" / "key")
    tree = await make("x")
    done = await prepared(tree, repo, ".env", "linked/*", "linked/key", "linked", "**/key")
    assert done.copied == ()
    assert {file.path: file.reason for file in done.skipped} == {
        **dict.fromkeys((".env", "linked"), "it is a symbolic link"),
        **dict.fromkeys(("linked/*", "linked/key", "**/key"), "there is no such file"),
    }
    assert {entry.name for entry in tree.path.iterdir()} == {".git", "readme.txt"}


async def test_links_in_the_worktree_are_not_followed(repo, make, tmp_path):
    (tmp_path / "outside").mkdir()
    (repo.path / "config").symlink_to(tmp_path / "outside")
    repo.commit({}, "a link for a folder")
    tree = await make("x")
    (repo.path / "config").unlink()
    repo.write({"config/a.local": "a"})
    done = await prepared(tree, repo, "config/*.local")
    assert [file.path for file in done.skipped] == ["config/a.local"]
    assert list((tmp_path / "outside").iterdir()) == []


async def test_existing_files_are_never_replaced(repo, make):
    tree = await make("x")
    repo.write({"readme.txt": "changed in the checkout", ".env": "1", "folder/f": "1"})
    os.mkfifo(repo.path / "pipe")
    done = await prepared(tree, repo, "readme.txt", ".env", "pipe", "folder")
    assert done.copied == (".env",)
    assert {file.path for file in done.skipped} == {"readme.txt", "pipe", "folder"}
    assert (tree.path / "readme.txt").read_text() == "one\ntwo\nthree\n"
    # A second preparation keeps an unchanged copy, and skips a copy that was changed.
    assert (await prepared(tree, repo, ".env")).copied == (".env",)
    tree.write({".env": "mine"})
    assert (await prepared(tree, repo, ".env")).copied == ()
    assert (tree.path / ".env").read_text() == "mine"


async def test_too_many_files_or_bytes_are_refused_before_the_first_copy(repo, make, monkeypatch):
    tree = await make("x")
    repo.write({f"many/{number}": "12345" for number in range(6)})
    for name in ("copy_files_max", "copy_bytes_max", "worktree_walk_entries_max"):
        with monkeypatch.context() as smaller:
            smaller.setattr(limits, name, 5)
            with pytest.raises(TooLarge):
                await prepared(tree, repo, "many/*")
    assert not (tree.path / "many").exists()


async def test_an_unreadable_source_is_skipped_with_the_reason_of_the_system(repo, make):
    tree = await make("x")
    (repo.path / "folder").mkdir()
    os.mkfifo(repo.path / "pipe")
    done = copy_files.copy_files(("folder", "pipe"), source=str(repo), target=str(tree), known={})
    assert {file.path: file.reason for file in done.skipped} == {
        "folder": "it is a folder: write folder/** to copy all files in it",
        "pipe": "it is not a plain file",
    }


def test_a_pattern_matches_names_only_at_its_own_depth(repo):
    repo.write({"a.txt": "", "sub/a.txt": "", "sub/deep/a.txt": "", ".git/a.txt": ""})
    search = copy_files.PatternSearch(str(repo))

    def names(pattern: str) -> list[str]:
        return sorted(name for name, _ in search.find_matches(pattern))

    assert names("*.txt") == ["a.txt", "readme.txt"]
    assert names("*/a.txt") == ["sub/a.txt"]
    assert names("**/a.txt") == ["a.txt", "sub/a.txt", "sub/deep/a.txt"]
    assert names("sub") == ["sub"]
    assert names("A.TXT") == []
