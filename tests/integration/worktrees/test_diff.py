"""A worktree's changes for a reader: all kinds of files, and never more than fits."""

from __future__ import annotations

import os

import pytest

from maestro.core import limits
from maestro.core.errors import NotFound
from maestro.git import worktrees
from maestro.git.worktrees import FileStat, WorktreeSettings

LONG = "a line that git knows again\n" * 20


async def text(tree, **more) -> str:
    return await worktrees.read_diff(str(tree), base_commit="main", **more)


async def test_committed_and_uncommitted_work_are_told_apart(repo, make):
    tree = await make("x")
    tree.commit({"done.txt": "committed\n"})
    tree.write({"readme.txt": "one\nTWO\nthree\n", "new file": "fresh\n"})
    tree.git("add", "readme.txt")
    whole, committed = await text(tree), await text(tree, uncommitted=False)
    assert "+committed\n" in whole and "-two\n+TWO\n" in whole and "+fresh\n" in whole
    assert "+committed\n" in committed and "TWO" not in committed and "fresh" not in committed
    stat = await worktrees.read_diff_stat(str(tree), base_commit="main")
    assert stat == worktrees.DiffStat(
        files=(FileStat(path="done.txt", added=1), FileStat(path="readme.txt", added=1, removed=1)),
        files_total=2,
        added=2,
        removed=1,
        untracked=("new file",),
        untracked_total=1,
    )
    stat = await worktrees.read_diff_stat(str(tree), base_commit="main", uncommitted=False)
    assert (stat.files_total, stat.untracked_total) == (1, 0)


async def test_nothing_changed_is_an_empty_text(repo, make):
    assert await text(await make("x")) == ""


async def test_looking_changes_nothing(repo, make):
    tree = await make("x")
    tree.write({"new": "1", "readme.txt": "2"})
    index = tree.path.parent.parent / "vc" / ".git" / "worktrees" / "x" / "index"
    before = index.read_bytes()
    await text(tree)
    await worktrees.read_diff_stat(str(tree), base_commit="main")
    assert index.read_bytes() == before


async def test_renames_and_binary_files(repo, make):
    repo.commit({"old name": LONG, "picture": b"\0\1\2", "gone": "other\n" * 20})
    tree = await make("x")
    tree.git("mv", "old name", "new\tname")
    tree.write({"picture": b"\0\3", "fresh picture": b"\0\4"})
    (tree.path / "gone").unlink()
    shown = await text(tree)
    assert "similarity index 100%\nrename from old name\n" in shown
    assert "Binary files a/picture and b/picture differ\n" in shown
    assert "fresh picture" in shown and "deleted file mode" in shown
    stat = await worktrees.read_diff_stat(str(tree), base_commit="main")
    assert stat.files == (
        FileStat(path="gone", removed=20),
        FileStat(path="new\tname", renamed_from="old name"),
        FileStat(path="picture", is_binary=True),
    )


@pytest.mark.parametrize("name", ["two words", "line\nbreak", os.fsdecode(b"caf\xe9"), "käse", "-n", 'quo"te'])
@pytest.mark.parametrize("is_committed", [True, False])
async def test_names_of_every_kind(repo, make, name, is_committed):
    tree = await make("x")
    files = {f"{name}.txt": b"caf\xe9 in latin\n"}
    tree.commit(files) if is_committed else tree.write(files)
    shown = await text(tree)
    assert "+caf\N{REPLACEMENT CHARACTER} in latin\n" in shown
    stat = await worktrees.read_diff_stat(str(tree), base_commit="main")
    (told,) = [file.path for file in stat.files] or stat.untracked
    assert told.encode() and told == name.replace("\udce9", "\\xe9") + ".txt"


async def test_a_huge_diff_is_cut_at_a_line_with_a_note(repo, make):
    tree = await make("x")
    tree.commit({f"{number}.txt": f"{number} long line {'x' * 90}\n" * 20_000 for number in range(4)})
    tree.write({"new": "unseen"})
    shown = await text(tree)
    assert len(shown) < limits.diff_bytes_max + 500
    kept, _, note = shown.partition("\n… cut here: ")
    assert kept.endswith("x\n") and note.startswith(f"{len(kept)} of 8")
    assert f"git diff {repo.tip('main')}" in note and "1 more new files are not shown" in note
    assert (await worktrees.read_diff_stat(str(tree), base_commit="main")).added == 80_000


async def test_a_huge_file_is_told_as_binary(repo, make):
    tree = await make("x")
    tree.write({"new": "x\n" * (limits.diff_file_bytes_max // 2 + 1)})
    assert len(await text(tree)) < 1_000
    tree.git("add", "new")
    assert len(await text(tree)) < 1_000


async def test_of_many_new_files_the_first_are_shown(repo, make, monkeypatch):
    monkeypatch.setattr(limits, "diff_untracked_files_max", 3)
    tree = await make("x")
    tree.write({f"new-{number}": "1\n" for number in range(5)})
    shown = await text(tree)
    assert shown.count("new file mode") == 3 and "2 more new files" in shown


async def test_copied_files_are_not_shown(repo, make):
    repo.write({".env": "KEY=secret\n"})
    tree = await make("x")
    await worktrees.prepare_worktree(str(tree), settings=WorktreeSettings(copy=(".env",)), source=str(repo))
    assert await text(tree) == ""
    tree.write({".env": "KEY=other secret\n"})
    assert "secret" not in await text(tree)


async def test_a_persons_settings_do_not_change_the_text(repo, make, tmp_path):
    tree = await make("x")
    tree.commit({".gitattributes": "*.txt diff=odd\n", "readme.txt": "one\n2\nthree\n"})
    plain = await text(tree)
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
    assert await text(tree) == plain
    assert not (tmp_path / "ran").exists()


async def test_a_base_that_is_not_there(repo, make):
    with pytest.raises(NotFound):
        await worktrees.read_diff(str(await make("x")), base_commit="f" * 40)
