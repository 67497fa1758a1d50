"""The preparation of a worktree: copied files, then the set-up command within its time limit."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from maestro.core import limits
from maestro.core.errors import NotFound
from maestro.git import worktrees
from maestro.git.worktrees import WorktreeSettings


async def prepared(tree, repo, *copy: str, **more) -> worktrees.PreparedWorktree:
    return await worktrees.prepare_worktree(str(tree), settings=WorktreeSettings(copy=copy, **more), source=str(repo))


async def test_only_the_top_of_a_worktree_is_prepared(repo, make):
    repo.write({"below/.env": "x"})
    with pytest.raises(NotFound):
        await worktrees.prepare_worktree(
            str(repo.path / "below"), settings=WorktreeSettings(copy=(".env",)), source=str(repo)
        )
    tree = await make("x")
    (tree.path / ".git").unlink()
    with pytest.raises(NotFound):
        await prepared(tree, repo, "below/*")


async def test_the_set_up_command_runs_in_the_worktree_after_the_copies(repo, make, monkeypatch):
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    repo.write({".env": "KEY=1"})
    tree = await make("x")
    done = await prepared(tree, repo, ".env", setup="pwd; cat .env; echo; echo oops >&2; git branch --show-current")
    assert done.setup.output == f"{tree}\nKEY=1\noops\nx\n"
    assert done.is_ok and done.setup.output_bytes == len(done.setup.output)


async def test_a_failed_set_up_command_is_returned_with_its_output(repo, make):
    done = await prepared(await make("x"), repo, setup="echo no such thing; exit 7")
    assert not done.is_ok
    assert (done.setup.exit_code, done.setup.is_timed_out, done.setup.output) == (7, False, "no such thing\n")


async def test_the_end_of_a_long_output_is_kept(repo, make):
    done = await prepared(await make("x"), repo, setup="head -c 9000000 /dev/zero | tr '\\0' x; printf '\\377last'")
    assert done.is_ok and done.setup.output_bytes == 9_000_005
    assert done.setup.output.endswith("x\N{REPLACEMENT CHARACTER}last")
    assert done.setup.output.startswith("… the first 8934469 bytes of the output")
    assert len(done.setup.output) < limits.setup_output_bytes_max + 100


async def test_the_set_up_command_has_no_input(repo, make):
    assert (await prepared(await make("x"), repo, setup="read line || echo none")).setup.output == "none\n"


def held(tmp_path) -> tuple[str, object]:
    """Return a pipe that the processes of the command hold open, and a wait for the end of the last process."""
    path = tmp_path / "held"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)

    async def all_gone() -> bytes:
        try:
            async with asyncio.timeout(20):
                return await asyncio.to_thread(os.read, reader, 100)
        finally:
            os.close(reader)

    return str(path), all_gone


@pytest.mark.parametrize("manners", ["", "trap '' TERM;"])
async def test_a_timeout_ends_all_processes_of_the_command(repo, make, tmp_path, manners):
    fifo, all_gone = held(tmp_path)
    command = f"{manners} exec 9>'{fifo}'; (sleep 1000 & sleep 1000 & wait) & echo begun; sleep 1000"
    done = await prepared(await make("x"), repo, setup=command, setup_seconds=1)
    assert done.setup.is_timed_out and not done.is_ok
    assert done.setup.output == "begun\n" and done.setup.exit_code < 0
    assert await all_gone() == b""


async def test_background_processes_end_with_the_command(repo, make, tmp_path):
    fifo, all_gone = held(tmp_path)
    done = await prepared(await make("x"), repo, setup=f"exec 9>'{fifo}'; sleep 1000 & echo done")
    assert done.is_ok and done.setup.output == "done\n"
    assert await all_gone() == b""


async def test_a_cancelled_preparation_ends_the_command(repo, make, tmp_path):
    fifo, all_gone = held(tmp_path)
    work = asyncio.create_task(prepared(await make("x"), repo, setup=f"exec 9>'{fifo}'; echo up >&9; sleep 1000"))
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    up = asyncio.Event()
    asyncio.get_running_loop().add_reader(reader, up.set)
    async with asyncio.timeout(20):
        await up.wait()
    asyncio.get_running_loop().remove_reader(reader)
    assert os.read(reader, 100) == b"up\n"
    os.close(reader)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert await all_gone() == b""


async def test_a_process_that_left_the_group_does_not_delay_the_result(repo, make, tmp_path):
    """The process keeps the pipe of the output open."""
    stay, up = tmp_path / "stay", tmp_path / "up"
    os.mkfifo(stay)
    os.mkfifo(up)
    keeper = os.open(stay, os.O_RDWR)
    (tmp_path / "stay.py").write_text(f"import os; os.setsid(); open('{up}', 'w').write('up'); os.read(0, 1)")
    command = f"{sys.executable} {tmp_path}/stay.py < '{stay}' & cat '{up}'"
    try:
        async with asyncio.timeout(30):
            done = await prepared(await make("x"), repo, setup=command)
        assert done.is_ok and done.setup.output == "up"
    finally:
        os.write(keeper, b"x")  # ends the process
        os.close(keeper)


async def test_a_preparation_works_on_uvloop(repo, tmp_path):
    """uvloop starts processes in its own way."""
    repo.write({".env": "1"})
    script = (
        "import sys, uvloop\n"
        "from maestro.git import worktrees\n"
        "async def main(repo, path):\n"
        "    made = await worktrees.create_worktree(repo, path=path, branch='x')\n"
        "    wanted = worktrees.WorktreeSettings(copy=('.env',), setup='sleep 1000 & cat .env; wait', setup_seconds=1)\n"
        "    done = await worktrees.prepare_worktree(made.path, settings=wanted, source=repo)\n"
        "    print(done.copied, done.setup.output, done.setup.is_timed_out)\n"
        "uvloop.run(main(*sys.argv[1:]))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, str(repo), str(tmp_path / "w")], capture_output=True, text=True, timeout=60
    )
    assert (ran.stdout, ran.stderr) == ("('.env',) 1 True\n", "")
