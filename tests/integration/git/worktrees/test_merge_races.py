"""Merges leave a correct branch when other processes move the branch, and when a merge is interrupted."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import pytest

from maestro.core import limits
from maestro.core.errors import Conflict, NotFound, TimedOut
from maestro.git import worktrees
from maestro.git.worktrees import CommitAuthor, MergeLocks

BOT = CommitAuthor("Maestro Bot", "bot@example.org")


@pytest.fixture(autouse=True)
def run_branch(repo) -> str:
    """Create the integration branch, which no checkout has checked out."""
    repo.git("branch", "run")
    return "run"


async def merge(repo, branch: str, *, into: str = "run", message: str = "Task 1", by=worktrees.merge_branch, **more):
    return await by(str(repo), branch=branch, into=into, message=message, author=more.get("author", BOT))


async def test_simultaneous_merges_all_succeed(repo, make):
    for name in ("x", "y", "z"):
        (await make(name)).commit({name: "1"})
    done = await asyncio.gather(*(merge(repo, name) for name in ("x", "y", "z")))
    assert all(one.is_new for one in done)
    assert repo.git("ls-tree", "--name-only", "run").split() == ["readme.txt", "x", "y", "z"]
    assert repo.git("rev-list", "--merges", "--count", "run") == "3"
    assert repo.everything()["ours"] == []


async def test_merges_with_a_lock_run_one_after_the_other(repo, make):
    for name in "abcdefgh":
        (await make(name)).commit({name: "1"})
    merges = MergeLocks()
    # All worktrees of one repository share the lock.
    done = await asyncio.gather(
        *(merge(repo.path.parent / "trees" / name, name, by=merges.merge_in_turn) for name in "abcdefgh")
    )
    assert (
        len({one.previous for one in done}) == 8
    )  # each merge began at a different commit, so no merge was repeated
    assert repo.git("rev-list", "--merges", "--count", "run") == "8"


async def test_each_repository_has_one_merge_lock():
    merges = MergeLocks()
    one = merges.lock_of("/a")
    assert merges.lock_of("/a") is one and merges.lock_of("/b") is not one


def meddle(repo, command: str) -> None:
    """Let git run a command in the middle of each merge that changes readme.txt."""
    repo.git("config", "merge.meddle.driver", f"{command} && git merge-file %A %O %B")
    repo.commit({".gitattributes": "readme.txt merge=meddle\n"})
    repo.git("branch", "-f", "run")


async def crossing(repo, make):
    """Create two branches with compatible changes in one file, and merge the first branch."""
    first, second = await make("x"), await make("y")
    first.commit({"readme.txt": "ONE\ntwo\nthree\n"})
    second.commit({"readme.txt": "one\ntwo\nTHREE\n"})
    await merge(repo, "x")


async def test_a_merge_is_repeated_when_the_target_branch_moves(repo, make, tmp_path):
    script = tmp_path / "once.sh"
    script.write_text(
        f"[ -e '{tmp_path}/done' ] || {{ touch '{tmp_path}/done'; cd '{repo}' && git update-ref refs/heads/run other; }}"
    )
    meddle(repo, f"(sh '{script}')")
    await crossing(repo, make)
    other = await make("other", base="run")
    moved = other.commit({"someone": "1"})
    done = await merge(repo, "y")
    assert (tmp_path / "done").exists() and done.previous == moved
    assert repo.git("show", "run:readme.txt") == "ONE\ntwo\nTHREE" and repo.git("show", "run:someone") == "1"
    assert repo.everything()["ours"] == []


async def test_a_merge_gives_up_when_the_target_branch_moves_every_time(repo, make, tmp_path):
    meddle(repo, f"(cd '{repo}' && git update-ref refs/heads/run $(git commit-tree -p run -m more run^{{tree}}))")
    await crossing(repo, make)
    before = repo.everything()
    with pytest.raises(Conflict, match="moved 5 times"):
        await merge(repo, "y")
    after = repo.everything()
    assert {name for name in before if before[name] != after[name]} == {"refs"}
    assert repo.git("rev-list", "--count", f"{after['refs'][1].split()[1]}") == "9"


async def test_a_target_branch_that_is_deleted_during_a_merge_is_named(repo, make):
    meddle(repo, f"(cd '{repo}' && git update-ref -d refs/heads/run)")
    await crossing(repo, make)
    with pytest.raises(NotFound, match="'run'"):
        await merge(repo, "y")
    assert repo.everything()["ours"] == []


async def test_a_cancelled_merge_leaves_the_repository_unchanged(repo, make, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    meddle(repo, f"(echo here > '{fifo}'; cat '{fifo}')")
    await crossing(repo, make)
    before = repo.everything()
    work = asyncio.create_task(merge(repo, "y"))
    assert await asyncio.to_thread(fifo.read_text) == "here\n"
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert repo.everything() == before


async def test_a_merge_over_its_time_limit_leaves_the_repository_unchanged(repo, make, tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "fifo")
    meddle(repo, f"(cat '{tmp_path}/fifo')")
    await crossing(repo, make)
    before = repo.everything()
    monkeypatch.setattr(limits, "merge_seconds_max", 0.5)
    with pytest.raises(TimedOut, match=r"git merge took longer than 0\.5 seconds"):
        await merge(repo, "y")
    assert repo.everything() == before


async def test_leftovers_of_a_killed_merge_are_removed_and_folders_in_use_are_not(repo, make, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    meddle(repo, f"(echo here > '{fifo}'; read line < '{fifo}')")
    await crossing(repo, make)
    before = repo.everything()
    script = (
        "import asyncio, sys\n"
        "from maestro.git import repositories, worktrees\n"
        "repositories.CheckoutRecords.accepts = lambda *_: True\n"
        "asyncio.run(worktrees.merge_branch(sys.argv[1], branch='y', into='run', message='m',"
        " author=worktrees.CommitAuthor('a', 'b@c')))\n"
    )
    server = await asyncio.create_subprocess_exec(sys.executable, "-c", script, str(repo))
    assert await asyncio.to_thread(fifo.read_text) == "here\n"
    assert await worktrees.remove_leftovers(str(repo)) == 0  # the folder is in use
    assert len(repo.everything()["ours"]) == 1
    server.send_signal(signal.SIGKILL)
    await server.wait()
    assert await worktrees.remove_leftovers(str(repo)) == 1
    await asyncio.to_thread(fifo.write_text, "go on\n")  # the git process that remained finds no folder, and ends
    assert repo.everything() == before
