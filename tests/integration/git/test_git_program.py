"""Git gives the facts and the project of a checkout, in a clean environment, with limits and clear errors."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from maestro.core import limits
from maestro.core.errors import Invalid, MaestroError, NotFound, NotPermitted, TimedOut, TooLarge
from maestro.domain.identity import Checkout, ProjectIdentity, identify_project
from maestro.git import git_program
from maestro.git.fingerprint import Fingerprint, take_fingerprint
from maestro.testing.git_repositories import make_repository, run_git

VC = "github.com/steveyegge/vc"
URL = "git@github.com:steveyegge/vc.git"
IS_ROOT = os.geteuid() == 0


def set_global(name: str, value: str, *, cwd: Path) -> None:
    run_git("config", "--global", "--add", name, value, cwd=cwd)


async def checkout(path: Path) -> Checkout:
    found = await git_program.checkout_at(str(path))
    assert found is not None
    return found


async def project(path: Path, *, prefer: str = "origin") -> ProjectIdentity:
    return identify_project(await checkout(path), prefer=prefer)


def fingerprint_of(path: Path) -> Fingerprint:
    found = take_fingerprint(str(path))
    assert found is not None
    return found


# The project of a checkout


async def test_clones_of_one_remote_are_workspaces_of_one_project(folder: Path) -> None:
    one = make_repository(folder / "dave" / "vc", remote=URL)
    other = make_repository(folder / "fred" / "vc", remote="https://github.com/SteveYegge/vc", commits=0)
    assert (await project(one)).key == (await project(other)).key == VC


async def test_a_folder_deep_inside_belongs_to_its_checkout(folder: Path) -> None:
    root = make_repository(folder / "vc", remote=URL)
    deep = root / "a" / "b"
    deep.mkdir(parents=True)
    assert await checkout(deep) == await checkout(root)
    assert (await checkout(deep)).toplevel == str(root)


async def test_a_path_through_a_symbolic_link_gives_the_real_checkout(folder: Path) -> None:
    root = make_repository(folder / "vc")
    (root / "sub").mkdir()
    link, inner = folder / "link", folder / "inner"
    link.symlink_to(root)
    inner.symlink_to(root / "sub")
    for path in (link, inner):
        assert await checkout(path) == await checkout(root)
        assert fingerprint_of(path) == fingerprint_of(root)


async def test_insteadof_changes_the_remote_and_pushinsteadof_does_not(folder: Path) -> None:
    set_global("url.https://token:secret@github.com/.insteadOf", "gh:", cwd=folder)
    set_global("url.ssh://git@elsewhere.example/.pushInsteadOf", "gh:", cwd=folder)
    set_global("url.ssh://git@elsewhere.example/.pushInsteadOf", "https://github.com/", cwd=folder)
    root = make_repository(folder / "vc", remote="gh:steveyegge/vc")
    found = await checkout(root)
    assert found.remotes == {"origin": "https://github.com/steveyegge/vc"}
    assert identify_project(found).key == VC


async def test_facts_of_a_checkout_contain_no_password(folder: Path) -> None:
    root = make_repository(folder / "vc", remote="https://dave:secret@github.com/steveyegge/vc.git")
    run_git("remote", "add", "broken", "https://dave:secret/more@github.com/vc", cwd=root)
    found = await checkout(root)
    assert "secret" not in repr(found)
    assert identify_project(found).key == VC


async def test_the_preferred_remote_decides_the_project_of_a_fork(folder: Path) -> None:
    root = make_repository(folder / "vc", remote="git@github.com:dave/vc.git")
    run_git("remote", "add", "upstream", URL, cwd=root)
    assert (await project(root)).key == "github.com/dave/vc"
    assert (await project(root, prefer="upstream")).key == VC


async def test_a_push_address_and_a_second_address_do_not_count(folder: Path) -> None:
    root = make_repository(folder / "vc", remote=URL)
    run_git("remote", "set-url", "--push", "origin", "git@elsewhere.example:vc", cwd=root)
    run_git("config", "--add", "remote.origin.url", "git@second.example:vc", cwd=root)
    assert (await project(root)).key == VC


async def test_a_partial_clone_has_the_project_of_its_remote(folder: Path) -> None:
    hub = make_repository(folder / "hub")
    run_git("clone", "-q", "--filter=blob:none", f"file://{hub}", str(folder / "vc"), cwd=folder)
    assert (await project(folder / "vc")).key == f"file:{hub}"


async def test_a_remote_without_an_address_does_not_count(folder: Path) -> None:
    root = make_repository(folder / "vc")
    run_git("config", "remote.origin.prune", "true", cwd=root)
    assert (await project(root)).source == "root"


@pytest.mark.parametrize("spelled", ["{hub}", "file://{hub}", "../hub.git", "{link}/hub.git", "{hub}/"])
async def test_every_spelling_of_a_file_remote_gives_one_project(folder: Path, spelled: str) -> None:
    hub = folder / "hub.git"
    run_git("init", "-q", "--bare", str(hub), cwd=folder)
    (folder / "link").symlink_to(folder)
    root = make_repository(folder / "vc", remote=spelled.format(hub=hub, link=folder / "link"))
    run_git("ls-remote", "origin", cwd=root)  # git agrees that this is a repository
    assert (await project(root)).key == f"file:{folder}/hub"


async def test_an_ssh_alias_is_replaced_by_its_host(folder: Path) -> None:
    config = Path.home() / ".ssh" / "config"
    config.write_text(
        "Host work other\n  User git\n  HostName github.com\nHost git.example.com\n  HostName 192.0.2.1\n"
    )
    root = make_repository(folder / "vc", remote="git@work:steveyegge/vc.git")
    own = make_repository(folder / "own", remote="git@git.example.com:own.git")
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
def test_ssh_aliases_without_patterns_are_read_from_the_configuration(config: str, hosts: dict[str, str]) -> None:
    assert git_program.parse_ssh_hosts(config) == hosts


# Kinds of checkouts


@pytest.mark.parametrize("remote", ["", URL, "../hub.git"])
async def test_linked_worktrees_are_workspaces_of_one_project(folder: Path, remote: str) -> None:
    root = make_repository(folder / "vc", remote=remote)
    linked = folder / "elsewhere" / "dave"
    run_git("worktree", "add", "-q", "-b", "dave", str(linked), cwd=root)
    found = await checkout(linked)
    assert (found.toplevel, found.common_dir) == (str(linked), f"{root}/.git")
    assert identify_project(found) == await project(root)
    assert fingerprint_of(linked).toplevel == str(linked)


async def test_worktrees_of_a_hidden_bare_repository_belong_to_its_project(folder: Path) -> None:
    hub = make_repository(folder / "hub")
    around = folder / "vc"
    run_git("clone", "-q", "--bare", str(hub), str(around / ".bare"), cwd=folder)
    (around / ".git").write_text("gitdir: ./.bare\n")
    run_git("worktree", "add", "-q", str(around / "dave"), "main", cwd=around)
    assert (await project(around / "dave")).key == f"file:{hub}"
    run_git("remote", "remove", "origin", cwd=around)
    found = await project(around / "dave")
    assert (found.name, found.source) == ("vc", "root")
    assert fingerprint_of(around / "dave").toplevel == str(around / "dave")


async def test_a_submodule_is_its_own_project(folder: Path) -> None:
    beads = make_repository(folder / "beads")
    root = make_repository(folder / "vc", remote=URL)
    run_git("submodule", "--quiet", "add", str(beads), "libs/beads", cwd=root)
    inner = await checkout(root / "libs" / "beads")
    assert inner.superproject == str(root)
    assert identify_project(inner).key == f"file:{beads}"
    assert (await checkout(root)).superproject is None
    assert (await project(root)).key == VC
    assert fingerprint_of(root / "libs" / "beads").toplevel == inner.toplevel


async def test_a_shallow_clone_has_the_project_of_its_remote_or_else_of_its_path(folder: Path) -> None:
    hub = make_repository(folder / "hub", commits=3)
    run_git("clone", "-q", "--depth", "1", f"file://{hub}", str(folder / "vc"), cwd=folder)
    found = await checkout(folder / "vc")
    assert found.is_shallow
    assert identify_project(found).key == f"file:{hub}"
    run_git("remote", "remove", "origin", cwd=folder / "vc")
    assert (await project(folder / "vc")).key == f"path:{folder}/vc"


async def test_folders_inside_a_bare_repository_belong_to_the_repository(folder: Path) -> None:
    bare = folder / "vc.git"
    run_git("init", "-q", "--bare", str(bare), cwd=folder)
    for path in (bare, bare / "refs", bare / "objects"):
        found = await checkout(path)
        assert (found.toplevel, found.common_dir) == (str(bare), str(bare))
        assert identify_project(found).name == "vc"
        assert fingerprint_of(path).toplevel == str(bare)


async def test_a_folder_inside_a_git_directory_belongs_to_the_checkout_around_it(folder: Path) -> None:
    root = make_repository(folder / "vc", remote=URL)
    for path in (root / ".git", root / ".git" / "hooks"):
        found = await checkout(path)
        assert (found.toplevel, identify_project(found).key) == (str(root), VC)
        assert fingerprint_of(path).toplevel == str(root)


async def test_a_separate_git_directory_is_found(folder: Path) -> None:
    root = folder / "vc"
    run_git("init", "-q", "--separate-git-dir", str(folder / "kept"), str(root), cwd=folder)
    found = await checkout(root)
    assert (found.toplevel, found.git_dir) == (str(root), str(folder / "kept"))
    assert fingerprint_of(root).toplevel == str(root)


async def test_unusual_names_of_folders_are_read_and_line_breaks_refused(folder: Path) -> None:
    root = make_repository(folder / "grün \u2028 %41", commits=0)
    assert (await checkout(root)).toplevel == str(root)
    assert (await project(root)).key.isascii()
    with pytest.raises(Invalid):
        await git_program.checkout_at(str(make_repository(folder / "two\nlines", commits=0)))


async def test_a_name_that_is_not_utf_8_is_escaped_in_the_project(folder: Path) -> None:
    root = Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe"))
    try:
        make_repository(root, commits=0)
    except OSError:
        pytest.skip("this file system takes only text")
    assert (await project(root)).key == f"path:{folder}/%FF%FE"
    assert fingerprint_of(root).toplevel == str(root)


# Repositories without a remote


async def test_two_copies_of_one_template_are_two_projects(folder: Path) -> None:
    template = make_repository(folder / "template")
    twins = [folder / "one", folder / "other"]
    for twin in twins:
        shutil.copytree(template, twin)
    found = [await project(path) for path in (template, *twins)]
    assert len({identity.key for identity in found}) == 3
    assert {identity.source for identity in found} == {"root"}


async def test_a_repository_keeps_its_path_key_when_it_gains_a_commit_and_a_remote(folder: Path) -> None:
    root = make_repository(folder / "vc", commits=0)
    stages, prints = [await project(root)], [fingerprint_of(root)]
    run_git("commit", "-q", "--allow-empty", "-m", "first", cwd=root)
    stages, prints = [*stages, await project(root)], [*prints, fingerprint_of(root)]
    run_git("remote", "add", "origin", URL, cwd=root)
    stages, prints = [*stages, await project(root)], [*prints, fingerprint_of(root)]
    assert [stage.source for stage in stages] == ["path", "root", "remote"]
    assert {stage.path_key for stage in stages} == {stages[0].key}
    assert len(set(prints)) == 3


async def test_the_root_commit_survives_stashes_notes_and_orphan_branches(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository(folder / "vc", commits=2)
    before = await checkout(root)
    assert before.root_commit == run_git("rev-list", "--max-parents=0", "HEAD", cwd=root)
    (root / "file").write_text("untracked")
    run_git("stash", "-q", "-u", cwd=root)  # makes a commit without a parent
    run_git("notes", "add", "-m", "note", cwd=root)  # also makes a commit without a parent
    assert await checkout(root) == before
    run_git("checkout", "-q", "--orphan", "pages", cwd=root)
    assert await checkout(root) == before
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2099-01-01T00:00:00Z")
    run_git("commit", "-q", "--allow-empty", "-m", "pages", cwd=root)
    assert await checkout(root) == before
    run_git("checkout", "-q", "--detach", cwd=root)
    assert await checkout(root) == before


async def test_the_path_decides_when_the_root_commit_takes_too_long(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository(folder / "vc")
    monkeypatch.setattr(git_program, "root_seconds_max", 0.0)
    assert (await project(root)).source == "path"


# Errors


async def test_a_folder_outside_of_any_repository_has_no_checkout(folder: Path) -> None:
    assert await git_program.checkout_at(str(folder)) is None
    assert take_fingerprint(str(folder)) is None


async def test_an_empty_git_folder_makes_no_repository(folder: Path) -> None:
    (folder / ".git").mkdir()
    assert await git_program.checkout_at(str(folder)) is None
    assert take_fingerprint(str(folder)) is None


async def test_a_deleted_directory_is_refused_by_name(folder: Path) -> None:
    with pytest.raises(NotFound, match="gone"):
        await git_program.checkout_at(str(folder / "gone"))
    assert take_fingerprint(str(folder / "gone")) is None


async def test_a_file_in_place_of_a_directory_is_refused(folder: Path) -> None:
    (folder / "file").write_text("")
    with pytest.raises(NotFound):
        await git_program.checkout_at(str(folder / "file"))
    assert take_fingerprint(str(folder / "file")) is None


async def test_a_path_with_a_null_byte_is_refused(folder: Path) -> None:
    with pytest.raises(Invalid):
        await git_program.checkout_at(f"{folder}\0")
    assert take_fingerprint(f"{folder}\0") is None


@pytest.mark.skipif(IS_ROOT, reason="root may enter everything")
async def test_a_directory_without_permission_is_refused(folder: Path) -> None:
    closed = make_repository(folder / "vc")
    closed.chmod(0)
    try:
        with pytest.raises(NotPermitted):
            await git_program.checkout_at(str(closed))
    finally:
        closed.chmod(0o700)


@pytest.mark.skipif(not IS_ROOT, reason="only root can give a folder away")
async def test_a_repository_of_another_user_names_the_remedy(folder: Path) -> None:
    root = make_repository(folder / "vc", remote=URL)
    for path in (root, root / ".git"):
        os.chown(path, 12345, 12345)
    with pytest.raises(NotPermitted) as refused:
        await git_program.checkout_at(str(root))
    assert f"git config --global --add safe.directory {root}" in refused.value.hint
    set_global("safe.directory", str(root), cwd=folder)
    assert (await project(root)).key == VC


async def test_a_missing_git_program_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(MaestroError, match="git is not installed"):
        await git_program.checkout_at(str(folder))


@pytest.mark.parametrize(
    ("broken", "content", "said"),
    [
        (".git/config", "[[[", "bad config"),
        (".git", "gitdir: /nowhere/at/all\n", "not a git repository: /nowhere"),
        (".git", "nonsense", "invalid gitfile"),
    ],
)
async def test_a_broken_repository_is_refused_with_the_message_of_git(
    folder: Path, broken: str, content: str, said: str
) -> None:
    root = make_repository(folder / "vc")
    if broken == ".git":
        shutil.rmtree(root / ".git")
    (root / broken).write_text(content)
    with pytest.raises(MaestroError, match=said):
        await git_program.checkout_at(str(root))


async def test_the_path_decides_when_the_branch_is_broken(folder: Path) -> None:
    root = make_repository(folder / "vc", commits=0)
    (root / ".git" / "refs" / "heads" / "main").write_text("nonsense")
    assert (await project(root)).source == "path"


# Running git


async def test_the_output_of_git_is_returned_and_a_failure_of_git_is_an_error(folder: Path) -> None:
    root = make_repository(folder / "vc")
    assert await git_program.run_git("symbolic-ref", "HEAD", cwd=str(root)) == "refs/heads/main\n"
    with pytest.raises(MaestroError, match=r"git cat-file: .*nothing") as failed:
        await git_program.run_git("cat-file", "-t", "nothing", cwd=str(root))
    assert failed.value.data == {"exit_code": 128}


@pytest.mark.parametrize("stream", ["out", "err"])
async def test_output_over_the_limit_is_refused_and_never_cut(
    folder: Path, monkeypatch: pytest.MonkeyPatch, stream: str
) -> None:
    repo = make_repository(folder / "vc")
    monkeypatch.setattr(limits, "git_output_bytes_max", 10_000)
    to = "" if stream == "out" else " >&2"
    few, many = (f"alias.say=!head -c {count} /dev/zero{to}; true" for count in (10_000, 10_001))
    assert len(await git_program.run_git("-c", few, "say", cwd=str(repo))) == (10_000 if stream == "out" else 0)
    with pytest.raises(TooLarge, match="10000 bytes"):
        await git_program.run_git("-c", many, "say", cwd=str(repo))


async def test_git_is_ended_when_it_prints_without_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = make_repository(folder / "vc")
    monkeypatch.setattr(limits, "git_output_bytes_max", 10_000)
    with pytest.raises(TooLarge):
        await git_program.run_git("-c", "alias.say=!yes", "say", cwd=str(repo), timeout_seconds=60)


async def test_an_error_of_git_contains_no_password(folder: Path) -> None:
    with pytest.raises(MaestroError) as failed:
        await git_program.run_git("ls-remote", "https://dave:secret@localhost:1/vc", cwd=str(folder))
    assert "secret" not in str(failed.value.as_dict())


async def test_git_variables_of_the_caller_are_ignored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = make_repository(folder / "other", remote="host:other")
    root = make_repository(folder / "vc", remote=URL)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", "nowhere")
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'remote.origin.url'='host:other'")
    assert (await project(root)).key == VC


def test_the_environment_of_git_is_cleaned() -> None:
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
def endless(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a git program first on the path that never ends, with a child. Both hold a pipe open; return the pipe."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    put_first_on_path(folder, f"exec 9> {pipe}\necho started >&9\nsleep 60 &\nwait\n", monkeypatch)
    return pipe


def put_first_on_path(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


async def test_a_timeout_ends_git_and_its_children(folder: Path, endless: Path) -> None:
    everything_said = asyncio.create_task(asyncio.to_thread(endless.read_text))
    with pytest.raises(TimedOut, match="git status"):
        await git_program.run_git("status", cwd=str(folder), timeout_seconds=1)
    async with asyncio.timeout(20):
        assert await everything_said == "started\n"  # the pipe ends when no process holds it open


async def test_a_cancelled_call_ends_git(folder: Path, endless: Path) -> None:
    asked = asyncio.create_task(git_program.run_git("status", cwd=str(folder)))
    with await asyncio.to_thread(endless.open) as pipe:
        assert await asyncio.to_thread(pipe.readline) == "started\n"
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        async with asyncio.timeout(20):
            assert await asyncio.to_thread(pipe.read) == ""


async def test_a_checkout_with_a_remote_takes_two_git_processes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository(folder / "vc", remote=URL)
    log = folder / "log"
    put_first_on_path(folder, f'echo "$1" >> {log}\nexec {shutil.which("git")} "$@"\n', monkeypatch)
    assert (await project(root)).key == VC
    assert log.read_text().split() == ["rev-parse", "remote"]
