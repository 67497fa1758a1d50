"""Real git repositories: the facts git gives about them, the projects they make, and when to look again."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from maestro.core import limits
from maestro.core.errors import Invalid, MaestroError, NotFound, NotPermitted, TimedOut, TooLarge
from maestro.domain.identity import Checkout, ProjectIdentity, identify_project
from maestro.git import git_program
from maestro.git.fingerprint import Fingerprint, take_fingerprint

VC = "github.com/steveyegge/vc"
URL = "git@github.com:steveyegge/vc.git"
IS_ROOT = os.geteuid() == 0


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, and a machine whose own configuration does not matter."""
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Dave\n\temail = dave@example.com\n[init]\n\tdefaultBranch = main\n"
        '[protocol "file"]\n\tallow = always\n'
    )
    folder = tmp_path / "real"
    folder.mkdir()
    return folder


def sh(*args: str, cwd: Path) -> str:
    done = subprocess.run(["git", *args], cwd=cwd, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def repository(path: Path, *, remote: str = "", commits: int = 1) -> Path:
    path.mkdir(parents=True)
    sh("init", "-q", cwd=path)
    for number in range(commits):
        sh("commit", "-q", "--allow-empty", "-m", f"{path.name} {number}", cwd=path)
    if remote:
        sh("remote", "add", "origin", remote, cwd=path)
    return path


def set_global(name: str, value: str, *, cwd: Path) -> None:
    sh("config", "--global", "--add", name, value, cwd=cwd)


async def checkout(path: Path) -> Checkout:
    found = await git_program.checkout_at(str(path))
    assert found is not None
    return found


async def project(path: Path, *, prefer: str = "origin") -> ProjectIdentity:
    return identify_project(await checkout(path), prefer=prefer)


def seen(path: Path) -> Fingerprint:
    found = take_fingerprint(str(path))
    assert found is not None
    return found


# Which project


async def test_clones_of_one_remote_are_workspaces_of_one_project(place: Path) -> None:
    one = repository(place / "dave" / "vc", remote=URL)
    other = repository(place / "fred" / "vc", remote="https://github.com/SteveYegge/vc", commits=0)
    assert (await project(one)).key == (await project(other)).key == VC


async def test_a_folder_deep_inside_belongs_to_its_checkout(place: Path) -> None:
    root = repository(place / "vc", remote=URL)
    deep = root / "a" / "b"
    deep.mkdir(parents=True)
    assert await checkout(deep) == await checkout(root)
    assert (await checkout(deep)).toplevel == str(root)


async def test_a_path_through_a_symbolic_link_is_the_real_one(place: Path) -> None:
    root = repository(place / "vc")
    (root / "sub").mkdir()
    link, inner = place / "link", place / "inner"
    link.symlink_to(root)
    inner.symlink_to(root / "sub")
    for path in (link, inner):
        assert await checkout(path) == await checkout(root)
        assert seen(path) == seen(root)


async def test_insteadof_counts_and_pushinsteadof_does_not(place: Path) -> None:
    set_global("url.https://token:secret@github.com/.insteadOf", "gh:", cwd=place)
    set_global("url.ssh://git@elsewhere.example/.pushInsteadOf", "gh:", cwd=place)
    set_global("url.ssh://git@elsewhere.example/.pushInsteadOf", "https://github.com/", cwd=place)
    root = repository(place / "vc", remote="gh:steveyegge/vc")
    found = await checkout(root)
    assert found.remotes == {"origin": "https://github.com/steveyegge/vc"}
    assert identify_project(found).key == VC


async def test_no_password_gets_into_the_facts(place: Path) -> None:
    root = repository(place / "vc", remote="https://dave:secret@github.com/steveyegge/vc.git")
    sh("remote", "add", "broken", "https://dave:secret/more@github.com/vc", cwd=root)
    found = await checkout(root)
    assert "secret" not in repr(found)
    assert identify_project(found).key == VC


async def test_a_fork_follows_the_setting(place: Path) -> None:
    root = repository(place / "vc", remote="git@github.com:dave/vc.git")
    sh("remote", "add", "upstream", URL, cwd=root)
    assert (await project(root)).key == "github.com/dave/vc"
    assert (await project(root, prefer="upstream")).key == VC


async def test_a_push_address_and_a_second_address_do_not_count(place: Path) -> None:
    root = repository(place / "vc", remote=URL)
    sh("remote", "set-url", "--push", "origin", "git@elsewhere.example:vc", cwd=root)
    sh("config", "--add", "remote.origin.url", "git@second.example:vc", cwd=root)
    assert (await project(root)).key == VC


async def test_a_partial_clone_has_its_remote(place: Path) -> None:
    hub = repository(place / "hub")
    sh("clone", "-q", "--filter=blob:none", f"file://{hub}", str(place / "vc"), cwd=place)
    assert (await project(place / "vc")).key == f"file:{hub}"


async def test_a_remote_without_an_address_is_none(place: Path) -> None:
    root = repository(place / "vc")
    sh("config", "remote.origin.prune", "true", cwd=root)
    assert (await project(root)).source == "root"


@pytest.mark.parametrize("spelled", ["{hub}", "file://{hub}", "../hub.git", "{link}/hub.git", "{hub}/"])
async def test_every_spelling_of_a_file_remote_is_one(place: Path, spelled: str) -> None:
    hub = place / "hub.git"
    sh("init", "-q", "--bare", str(hub), cwd=place)
    (place / "link").symlink_to(place)
    root = repository(place / "vc", remote=spelled.format(hub=hub, link=place / "link"))
    sh("ls-remote", "origin", cwd=root)  # git agrees that this is a repository
    assert (await project(root)).key == f"file:{place}/hub"


async def test_an_ssh_nickname_is_the_host_it_stands_for(place: Path) -> None:
    config = Path.home() / ".ssh" / "config"
    config.write_text(
        "Host work other\n  User git\n  HostName github.com\nHost git.example.com\n  HostName 192.0.2.1\n"
    )
    root = repository(place / "vc", remote="git@work:steveyegge/vc.git")
    own = repository(place / "own", remote="git@git.example.com:own.git")
    assert (await project(root)).key == VC
    assert (await project(own)).key == "git.example.com/own"


@pytest.mark.parametrize(
    ("config", "hosts"),
    [
        ("", {}),
        ("Host work\nHostName GitHub.com", {"work": "github.com"}),
        ('host = "work"\n\thostname="github.com" # mine', {"work": "github.com"}),
        ("Host a b\nUser git\nHostName x.example\nHostName y.example", {"a": "x.example", "b": "x.example"}),
        ("Host work.github.com\nHostName github.com", {"work.github.com": "github.com"}),
        ("Host git.example.com\nHostName 192.0.2.1", {}),
        ("Host *.x w?rk !no\nHostName github.com", {}),
        ("Host box\nHostName %h.example", {}),
        ("HostName github.com\nMatch host work\nHostName github.com", {}),
        ("# Host work\n# HostName github.com", {}),
    ],
)
def test_plain_names_are_read_from_the_ssh_configuration(config: str, hosts: dict[str, str]) -> None:
    assert git_program.parse_ssh_hosts(config) == hosts


# Kinds of checkouts


@pytest.mark.parametrize("remote", ["", URL, "../hub.git"])
async def test_linked_worktrees_are_workspaces_of_one_project(place: Path, remote: str) -> None:
    root = repository(place / "vc", remote=remote)
    linked = place / "elsewhere" / "dave"
    sh("worktree", "add", "-q", "-b", "dave", str(linked), cwd=root)
    found = await checkout(linked)
    assert (found.toplevel, found.common_dir) == (str(linked), f"{root}/.git")
    assert identify_project(found) == await project(root)
    assert seen(linked).toplevel == str(linked)


async def test_worktrees_of_a_hidden_bare_repository(place: Path) -> None:
    hub = repository(place / "hub")
    folder = place / "vc"
    sh("clone", "-q", "--bare", str(hub), str(folder / ".bare"), cwd=place)
    (folder / ".git").write_text("gitdir: ./.bare\n")
    sh("worktree", "add", "-q", str(folder / "dave"), "main", cwd=folder)
    assert (await project(folder / "dave")).key == f"file:{hub}"
    sh("remote", "remove", "origin", cwd=folder)
    found = await project(folder / "dave")
    assert (found.name, found.source) == ("vc", "root")
    assert seen(folder / "dave").toplevel == str(folder / "dave")


async def test_a_submodule_is_a_project_of_its_own(place: Path) -> None:
    beads = repository(place / "beads")
    root = repository(place / "vc", remote=URL)
    sh("submodule", "--quiet", "add", str(beads), "libs/beads", cwd=root)
    inner = await checkout(root / "libs" / "beads")
    assert inner.superproject == str(root)
    assert identify_project(inner).key == f"file:{beads}"
    assert (await checkout(root)).superproject is None
    assert (await project(root)).key == VC
    assert seen(root / "libs" / "beads").toplevel == inner.toplevel


async def test_a_shallow_clone_is_of_its_remote_and_without_one_of_its_path(place: Path) -> None:
    hub = repository(place / "hub", commits=3)
    sh("clone", "-q", "--depth", "1", f"file://{hub}", str(place / "vc"), cwd=place)
    found = await checkout(place / "vc")
    assert found.is_shallow
    assert identify_project(found).key == f"file:{hub}"
    sh("remote", "remove", "origin", cwd=place / "vc")
    assert (await project(place / "vc")).key == f"path:{place}/vc"


async def test_a_bare_repository_and_folders_inside_it(place: Path) -> None:
    bare = place / "vc.git"
    sh("init", "-q", "--bare", str(bare), cwd=place)
    for path in (bare, bare / "refs", bare / "objects"):
        found = await checkout(path)
        assert (found.toplevel, found.common_dir) == (str(bare), str(bare))
        assert identify_project(found).name == "vc"
        assert seen(path).toplevel == str(bare)


async def test_inside_a_git_directory_the_checkout_around_it_counts(place: Path) -> None:
    root = repository(place / "vc", remote=URL)
    for path in (root / ".git", root / ".git" / "hooks"):
        found = await checkout(path)
        assert (found.toplevel, identify_project(found).key) == (str(root), VC)
        assert seen(path).toplevel == str(root)


async def test_a_git_directory_kept_elsewhere(place: Path) -> None:
    root = place / "vc"
    sh("init", "-q", "--separate-git-dir", str(place / "kept"), str(root), cwd=place)
    found = await checkout(root)
    assert (found.toplevel, found.git_dir) == (str(root), str(place / "kept"))
    assert seen(root).toplevel == str(root)


async def test_names_that_are_hard_to_read(place: Path) -> None:
    root = repository(place / "grün \u2028 %41", commits=0)
    assert (await checkout(root)).toplevel == str(root)
    assert (await project(root)).key.isascii()
    with pytest.raises(Invalid):
        await git_program.checkout_at(str(repository(place / "two\nlines", commits=0)))


async def test_names_that_are_not_text(place: Path) -> None:
    root = Path(os.fsdecode(os.fsencode(place) + b"/\xff\xfe"))
    try:
        repository(root, commits=0)
    except OSError:
        pytest.skip("this file system takes only text")
    assert (await project(root)).key == f"path:{place}/%FF%FE"
    assert seen(root).toplevel == str(root)


# Without a remote


async def test_two_repositories_from_one_template_stay_two(place: Path) -> None:
    template = repository(place / "template")
    twins = [place / "one", place / "other"]
    for twin in twins:
        shutil.copytree(template, twin)
    found = [await project(path) for path in (template, *twins)]
    assert len({identity.key for identity in found}) == 3
    assert {identity.source for identity in found} == {"root"}


async def test_a_repository_that_gains_a_commit_and_then_a_remote(place: Path) -> None:
    root = repository(place / "vc", commits=0)
    stages, prints = [await project(root)], [seen(root)]
    sh("commit", "-q", "--allow-empty", "-m", "first", cwd=root)
    stages, prints = [*stages, await project(root)], [*prints, seen(root)]
    sh("remote", "add", "origin", URL, cwd=root)
    stages, prints = [*stages, await project(root)], [*prints, seen(root)]
    assert [stage.source for stage in stages] == ["path", "root", "remote"]
    assert {stage.path_key for stage in stages} == {stages[0].key}
    assert len(set(prints)) == 3


async def test_the_root_survives_what_people_do(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = repository(place / "vc", commits=2)
    before = await checkout(root)
    assert before.root_commit == sh("rev-list", "--max-parents=0", "HEAD", cwd=root)
    (root / "file").write_text("untracked")
    sh("stash", "-q", "-u", cwd=root)  # makes a commit without a parent
    sh("notes", "add", "-m", "note", cwd=root)  # so does this
    assert await checkout(root) == before
    sh("checkout", "-q", "--orphan", "pages", cwd=root)
    assert await checkout(root) == before
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2099-01-01T00:00:00Z")
    sh("commit", "-q", "--allow-empty", "-m", "pages", cwd=root)
    assert await checkout(root) == before
    sh("checkout", "-q", "--detach", cwd=root)
    assert await checkout(root) == before


async def test_a_root_that_takes_too_long_gives_way_to_the_path(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = repository(place / "vc")
    monkeypatch.setattr(git_program, "root_seconds_max", 0.0)
    assert (await project(root)).source == "path"


# What goes wrong


async def test_outside_of_any_repository_there_is_no_checkout(place: Path) -> None:
    assert await git_program.checkout_at(str(place)) is None
    assert take_fingerprint(str(place)) is None


async def test_a_git_folder_that_is_none_is_no_repository(place: Path) -> None:
    (place / ".git").mkdir()
    assert await git_program.checkout_at(str(place)) is None
    assert take_fingerprint(str(place)) is None


async def test_a_deleted_directory_is_named(place: Path) -> None:
    with pytest.raises(NotFound, match="gone"):
        await git_program.checkout_at(str(place / "gone"))
    assert take_fingerprint(str(place / "gone")) is None


async def test_a_file_is_no_directory(place: Path) -> None:
    (place / "file").write_text("")
    with pytest.raises(NotFound):
        await git_program.checkout_at(str(place / "file"))
    assert take_fingerprint(str(place / "file")) is None


async def test_a_null_byte_is_refused(place: Path) -> None:
    with pytest.raises(Invalid):
        await git_program.checkout_at(f"{place}\0")
    assert take_fingerprint(f"{place}\0") is None


@pytest.mark.skipif(IS_ROOT, reason="root may enter everything")
async def test_a_directory_that_may_not_be_entered(place: Path) -> None:
    closed = repository(place / "vc")
    closed.chmod(0)
    try:
        with pytest.raises(NotPermitted):
            await git_program.checkout_at(str(closed))
    finally:
        closed.chmod(0o700)


@pytest.mark.skipif(not IS_ROOT, reason="only root can give a folder away")
async def test_a_repository_of_another_user_names_the_remedy(place: Path) -> None:
    root = repository(place / "vc", remote=URL)
    for path in (root, root / ".git"):
        os.chown(path, 12345, 12345)
    with pytest.raises(NotPermitted) as refused:
        await git_program.checkout_at(str(root))
    assert f"git config --global --add safe.directory {root}" in refused.value.hint
    set_global("safe.directory", str(root), cwd=place)
    assert (await project(root)).key == VC


async def test_git_not_being_installed_is_said(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(place))
    with pytest.raises(MaestroError, match="git is not installed"):
        await git_program.checkout_at(str(place))


@pytest.mark.parametrize(
    ("broken", "content", "said"),
    [
        (".git/config", "[[[", "bad config"),
        (".git", "gitdir: /nowhere/at/all\n", "not a git repository: /nowhere"),
        (".git", "nonsense", "invalid gitfile"),
    ],
)
async def test_a_broken_repository_is_told_in_gits_words(place: Path, broken: str, content: str, said: str) -> None:
    root = repository(place / "vc")
    if broken == ".git":
        shutil.rmtree(root / ".git")
    (root / broken).write_text(content)
    with pytest.raises(MaestroError, match=said):
        await git_program.checkout_at(str(root))


async def test_a_branch_that_leads_nowhere_leaves_the_path(place: Path) -> None:
    root = repository(place / "vc", commits=0)
    (root / ".git" / "refs" / "heads" / "main").write_text("nonsense")
    assert (await project(root)).source == "path"


# The wrapper


async def test_output_comes_back_and_failure_is_an_error(place: Path) -> None:
    root = repository(place / "vc")
    assert await git_program.run_git("symbolic-ref", "HEAD", cwd=str(root)) == "refs/heads/main\n"
    with pytest.raises(MaestroError, match=r"git cat-file: .*nothing") as failed:
        await git_program.run_git("cat-file", "-t", "nothing", cwd=str(root))
    assert failed.value.data == {"exit_code": 128}


@pytest.mark.parametrize("stream", ["out", "err"])
async def test_output_without_bounds_is_refused_and_never_cut(
    place: Path, monkeypatch: pytest.MonkeyPatch, stream: str
) -> None:
    repo = repository(place / "vc")
    monkeypatch.setattr(limits, "git_output_bytes_max", 10_000)
    to = "" if stream == "out" else " >&2"
    few, many = (f"alias.say=!head -c {count} /dev/zero{to}; true" for count in (10_000, 10_001))
    assert len(await git_program.run_git("-c", few, "say", cwd=str(repo))) == (10_000 if stream == "out" else 0)
    with pytest.raises(TooLarge, match="10000 bytes"):
        await git_program.run_git("-c", many, "say", cwd=str(repo))


async def test_git_that_prints_without_end_is_ended(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = repository(place / "vc")
    monkeypatch.setattr(limits, "git_output_bytes_max", 10_000)
    with pytest.raises(TooLarge):
        await git_program.run_git("-c", "alias.say=!yes", "say", cwd=str(repo), timeout_seconds=60)


async def test_no_password_gets_into_an_error(place: Path) -> None:
    with pytest.raises(MaestroError) as failed:
        await git_program.run_git("ls-remote", "https://dave:secret@localhost:1/vc", cwd=str(place))
    assert "secret" not in str(failed.value.as_dict())


async def test_a_variable_of_a_hook_does_not_lead_astray(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = repository(place / "other", remote="host:other")
    root = repository(place / "vc", remote=URL)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", "nowhere")
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'remote.origin.url'='host:other'")
    assert (await project(root)).key == VC


def test_git_runs_in_a_clean_environment() -> None:
    caller = {"GIT_DIR": "x", "GIT_CONFIG_KEY_0": "k", "GIT_SSH_COMMAND": "s", "LC_ALL": "de_DE", "PATH": "p"}
    assert git_program.clean_environment(caller) == {
        "GIT_CONFIG_KEY_0": "k",
        "GIT_SSH_COMMAND": "s",
        "PATH": "p",
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
    }


@pytest.fixture
def endless(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git that does not end, nor does its child. Both hold open the pipe that it says `started` into."""
    pipe = place / "pipe"
    os.mkfifo(pipe)
    put_first_on_path(place, f"exec 9> {pipe}\necho started >&9\nsleep 60 &\nwait\n", monkeypatch)
    return pipe


def put_first_on_path(place: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = place / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


async def test_time_that_runs_out_ends_git_and_its_children(place: Path, endless: Path) -> None:
    everything_said = asyncio.create_task(asyncio.to_thread(endless.read_text))
    with pytest.raises(TimedOut, match="git status"):
        await git_program.run_git("status", cwd=str(place), timeout_seconds=1)
    async with asyncio.timeout(20):
        assert await everything_said == "started\n"  # a pipe ends when nobody holds it any more


async def test_a_cancelled_caller_ends_git_too(place: Path, endless: Path) -> None:
    asked = asyncio.create_task(git_program.run_git("status", cwd=str(place)))
    with await asyncio.to_thread(endless.open) as pipe:
        assert await asyncio.to_thread(pipe.readline) == "started\n"
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        async with asyncio.timeout(20):
            assert await asyncio.to_thread(pipe.read) == ""


async def test_a_known_remote_costs_two_processes(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = repository(place / "vc", remote=URL)
    log = place / "log"
    put_first_on_path(place, f'echo "$1" >> {log}\nexec {shutil.which("git")} "$@"\n', monkeypatch)
    assert (await project(root)).key == VC
    assert log.read_text().split() == ["rev-parse", "remote"]


# When to look again


async def test_ordinary_work_leaves_the_fingerprint(place: Path) -> None:
    root = repository(place / "vc", remote=URL)
    before = seen(root)
    (root / "file").write_text("text")
    sh("add", "file", cwd=root)
    sh("commit", "-q", "-m", "more", cwd=root)
    sh("checkout", "-q", "-b", "topic", cwd=root)
    sh("pack-refs", "--all", cwd=root)
    sh("gc", "-q", cwd=root)
    assert seen(root) == before
    assert hash(seen(root)) == hash(before)


@pytest.mark.parametrize(
    "change",
    [
        ("remote", "set-url", "origin", "git@github.com:steveyegge/vb.git"),
        ("remote", "add", "upstream", URL),
        ("remote", "remove", "origin"),
        ("config", "--global", "url.https://mirror.example/.insteadOf", "git@github.com:"),
        ("config", "extensions.worktreeConfig", "true"),
    ],
)
async def test_what_changes_the_facts_changes_the_fingerprint(place: Path, change: tuple[str, ...]) -> None:
    root = repository(place / "vc", remote=URL)
    before = seen(root)
    sh(*change, cwd=root)
    assert seen(root) != before


async def test_a_worktrees_own_configuration_is_seen(place: Path) -> None:
    root = repository(place / "vc", remote=URL)
    sh("config", "extensions.worktreeConfig", "true", cwd=root)
    sh("worktree", "add", "-q", str(place / "linked"), cwd=root)
    before, beside = seen(place / "linked"), seen(root)
    sh("config", "--worktree", "remote.origin.url", "host:other", cwd=place / "linked")
    assert seen(place / "linked") != before
    assert seen(root) == beside


async def test_deepening_a_shallow_clone_is_seen(place: Path) -> None:
    hub = repository(place / "hub", commits=3)
    sh("clone", "-q", "--depth", "1", f"file://{hub}", str(place / "vc"), cwd=place)
    before = seen(place / "vc")
    sh("fetch", "-q", "--unshallow", cwd=place / "vc")
    assert seen(place / "vc") != before


async def test_files_outside_of_the_repository_are_seen(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = repository(place / "vc", remote=URL)
    prints = [seen(root)]
    (Path.home() / ".ssh" / "config").write_text("Host work\n")
    prints.append(seen(root))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    prints.append(seen(root))
    xdg = Path.home() / ".config" / "git" / "config"
    xdg.parent.mkdir(parents=True)
    xdg.write_text("")
    prints.append(seen(root))
    assert len(set(prints)) == 4


async def test_a_branch_that_is_only_locked_is_not_there_yet(place: Path) -> None:
    root = repository(place / "vc", commits=0)
    before = seen(root)
    (root / ".git" / "refs" / "heads" / "main.lock").write_text("")
    assert seen(root) == before
