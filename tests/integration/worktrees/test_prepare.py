"""A worktree made ready: files copied from the checkout and never beyond it, a command within its time."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from maestro.core import limits
from maestro.core.errors import Invalid, NotFound, TooLarge
from maestro.git import worktrees
from maestro.git.worktrees import WorktreeSettings


def configure(repo, text: str | bytes) -> None:
    repo.write({".maestro/config.toml": text})


# What the file says


def test_no_file_means_nothing_to_do(repo):
    assert worktrees.read_settings(str(repo)) == WorktreeSettings()
    assert WorktreeSettings().setup_seconds == 600


def test_the_table_is_read_beside_others(repo):
    configure(
        repo,
        'remote = "upstream"\n[worktree]\nsetup = "make deps"\ncopy = [".env", "config/*.local"]\nsetup_seconds = 5\n',
    )
    expected = WorktreeSettings(setup="make deps", copy=(".env", "config/*.local"), setup_seconds=5)
    assert worktrees.read_settings(str(repo)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "[worktree",
        b"\xff",
        "worktree = 3",
        "[worktree]\nsetup = 3",
        '[worktree]\ncopy = ".env"',
        "[worktree]\ncopy = [1]",
        "[worktree]\nsetup_seconds = 0",
        '[worktree]\nsetup_seconds = "long"',
        '[worktree]\nsteup = "a slip"',
        '[worktree]\ncopy = ["../secret"]',
        '[worktree]\ncopy = ["/etc/passwd"]',
        '[worktree]\ncopy = ["~/.ssh/id"]',
        '[worktree]\ncopy = ["a/../../b"]',
        '[worktree]\ncopy = [".git/config"]',
        '[worktree]\ncopy = [""]',
        '[worktree]\ncopy = ["."]',
        "#" * 70_000,
    ],
)
def test_what_is_wrong_is_said_with_the_files_name(repo, text):
    configure(repo, text)
    with pytest.raises(Invalid, match=r"\.maestro/config\.toml cannot be used"):
        worktrees.read_settings(str(repo))


def test_a_file_that_cannot_be_read_is_not_taken_for_none(repo):
    (repo.path / ".maestro" / "config.toml").mkdir(parents=True)
    with pytest.raises(Invalid):
        worktrees.read_settings(str(repo))


# Copies


async def prepared(tree, repo, *copy: str, **more) -> worktrees.PreparedWorktree:
    return await worktrees.prepare_worktree(str(tree), settings=WorktreeSettings(copy=copy, **more), source=str(repo))


async def test_named_files_are_copied_with_their_rights(repo, make):
    repo.write(
        {".env": "KEY=1", "config/a.local": "a", "config/b.local": "b", "config/c.txt": "c", "deep/x/y/.env": "d"}
    )
    (repo.path / ".env").chmod(0o600)
    tree = await make("x")
    done = await prepared(tree, repo, ".env", "config/*.local", "deep/**/.env", "nothing")
    assert done.copied == (".env", "config/a.local", "config/b.local", "deep/x/y/.env")
    assert [(one.path, one.reason) for one in done.skipped] == [("nothing", "there is no such file")]
    assert (tree.path / ".env").read_text() == "KEY=1"
    assert (tree.path / ".env").stat().st_mode & 0o777 == 0o600
    assert not (tree.path / "config" / "c.txt").exists()


async def test_two_stars_at_the_end_are_all_below(repo, make):
    repo.write({"certs/a": "1", "certs/deep/b": "2"})
    tree = await make("x")
    assert (await prepared(tree, repo, "certs/**")).copied == ("certs/a", "certs/deep/b")


@pytest.mark.parametrize("name", ["two words", "line\nbreak", os.fsdecode(b"caf\xe9"), "[x]?", "-n"])
async def test_names_of_every_kind(repo, make, name):
    repo.write({f"local/{name}": "x"})
    tree = await make("x")
    done = await prepared(tree, repo, "local/*")
    assert (tree.path / "local" / name).read_text() == "x"
    done.copied[0].encode()  # fit to be sent
    assert (await worktrees.read_state(str(tree), base_commit="main")).is_clean
    await worktrees.remove_worktree(str(repo), path=str(tree), branch="x", merged_into="main")
    assert not tree.path.exists()


async def test_no_link_leads_out_of_the_checkout(repo, make, tmp_path):
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key").write_text("secret")
    (repo.path / "linked").symlink_to(tmp_path / "secrets")
    (repo.path / ".env").symlink_to(tmp_path / "secrets" / "key")
    tree = await make("x")
    done = await prepared(tree, repo, ".env", "linked/*", "linked/key", "linked", "**/key")
    assert done.copied == ()
    assert {one.path: one.reason for one in done.skipped} == {
        **dict.fromkeys((".env", "linked"), "it is a symbolic link"),
        **dict.fromkeys(("linked/*", "linked/key", "**/key"), "there is no such file"),
    }
    assert {entry.name for entry in tree.path.iterdir()} == {".git", "readme.txt"}


async def test_no_link_in_the_branch_leads_out_of_the_worktree(repo, make, tmp_path):
    (tmp_path / "outside").mkdir()
    (repo.path / "config").symlink_to(tmp_path / "outside")
    repo.commit({}, "a link for a folder")
    tree = await make("x")
    (repo.path / "config").unlink()
    repo.write({"config/a.local": "a"})
    done = await prepared(tree, repo, "config/*.local")
    assert [one.path for one in done.skipped] == ["config/a.local"]
    assert list((tmp_path / "outside").iterdir()) == []


async def test_what_is_there_is_never_replaced(repo, make):
    tree = await make("x")
    repo.write({"readme.txt": "changed in the checkout", ".env": "1", "folder/f": "1"})
    os.mkfifo(repo.path / "pipe")
    done = await prepared(tree, repo, "readme.txt", ".env", "pipe", "folder")
    assert done.copied == (".env",)
    assert {one.path for one in done.skipped} == {"readme.txt", "pipe", "folder"}
    assert (tree.path / "readme.txt").read_text() == "one\ntwo\nthree\n"
    # Once more: what came over before is known, what was changed since is kept.
    assert (await prepared(tree, repo, ".env")).copied == (".env",)
    tree.write({".env": "mine"})
    assert (await prepared(tree, repo, ".env")).copied == ()
    assert (tree.path / ".env").read_text() == "mine"


async def test_too_much_is_refused_before_the_first_copy(repo, make, monkeypatch):
    tree = await make("x")
    repo.write({f"many/{number}": "12345" for number in range(6)})
    for name in ("copy_files_max", "copy_bytes_max", "worktree_walk_entries_max"):
        with monkeypatch.context() as smaller:
            smaller.setattr(limits, name, 5)
            with pytest.raises(TooLarge):
                await prepared(tree, repo, "many/*")
    assert not (tree.path / "many").exists()


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


# The command


async def test_the_command_runs_in_the_worktree_after_the_copies(repo, make, monkeypatch):
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    repo.write({".env": "KEY=1"})
    tree = await make("x")
    done = await prepared(tree, repo, ".env", setup="pwd; cat .env; echo; echo oops >&2; git branch --show-current")
    assert done.setup.output == f"{tree}\nKEY=1\noops\nx\n"
    assert done.is_ok and done.setup.output_bytes == len(done.setup.output)


async def test_a_command_that_fails_is_told_with_its_output(repo, make):
    done = await prepared(await make("x"), repo, setup="echo no such thing; exit 7")
    assert not done.is_ok
    assert (done.setup.exit_code, done.setup.is_timed_out, done.setup.output) == (7, False, "no such thing\n")


async def test_of_much_output_the_end_is_kept(repo, make):
    done = await prepared(await make("x"), repo, setup="head -c 9000000 /dev/zero | tr '\\0' x; printf '\\377last'")
    assert done.is_ok and done.setup.output_bytes == 9_000_005
    assert done.setup.output.endswith("x\N{REPLACEMENT CHARACTER}last")
    assert done.setup.output.startswith("… the first 8934469 bytes of the output")
    assert len(done.setup.output) < limits.setup_output_bytes_max + 100


async def test_nobody_waits_for_input(repo, make):
    assert (await prepared(await make("x"), repo, setup="read line || echo none")).setup.output == "none\n"


def held(tmp_path) -> tuple[str, object]:
    """A pipe that whoever the command starts holds open, and how to wait until the last of them is gone."""
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
async def test_out_of_time_all_that_it_started_is_ended(repo, make, tmp_path, manners):
    fifo, all_gone = held(tmp_path)
    command = f"{manners} exec 9>'{fifo}'; (sleep 1000 & sleep 1000 & wait) & echo begun; sleep 1000"
    done = await prepared(await make("x"), repo, setup=command, setup_seconds=1)
    assert done.setup.is_timed_out and not done.is_ok
    assert done.setup.output == "begun\n" and done.setup.exit_code < 0
    assert await all_gone() == b""


async def test_what_it_left_in_the_background_is_ended(repo, make, tmp_path):
    fifo, all_gone = held(tmp_path)
    done = await prepared(await make("x"), repo, setup=f"exec 9>'{fifo}'; sleep 1000 & echo done")
    assert done.is_ok and done.setup.output == "done\n"
    assert await all_gone() == b""


async def test_cancelled_it_ends_the_command(repo, make, tmp_path):
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


async def test_one_that_left_the_group_does_not_hold_us_up(repo, make, tmp_path):
    """It keeps our pipe open, and nothing waits for it."""
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
        os.write(keeper, b"x")  # and it goes
        os.close(keeper)


async def test_it_works_on_the_servers_own_loop(repo, tmp_path):
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
