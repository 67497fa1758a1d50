"""Tests that git, run by the server in folders that agents write, runs no program that an agent put there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from maestro.testing.live import LiveServer

pytestmark = pytest.mark.slow

MakeRepo = Callable[..., Path]


def sh(*words: str, cwd: Path) -> str:
    done = subprocess.run(["git", *words], cwd=cwd, check=True, capture_output=True, text=True)
    return done.stdout.strip()


class Shop:
    """A server, a repository of the person, and an agent with a worktree of its own."""

    def __init__(self, live: LiveServer, repo: Path, folder: Path) -> None:
        self.live, self.repo, self.folder = live, repo, folder
        self.marker = folder / "ran"
        self.program = folder / "evil.sh"
        self.program.write_text(f'#!/bin/sh\necho "$0 $*" >> {self.marker}\ncat\n')
        self.program.chmod(0o755)

    def run(self, *words: str, token: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
        return self.live.run_command(*words, cwd=cwd or self.repo, env={"MAESTRO_TOKEN": token} if token else {})

    def json(self, *words: str, cwd: Path | None = None) -> Any:
        done = self.run(*words, "--json", cwd=cwd)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    def spawn(self, name: str) -> Path:
        """Start an agent that only sleeps in a worktree of its own, and return the path of the worktree."""
        done = self.run("session", "spawn", "--name", name, "--worktree", "--", "sleep", "120")
        assert done.returncode == 0, done.stderr.decode()
        for _ in range(600):
            found = [one for one in self.json("worktree", "list")["worktrees"] if one["session"] == name]
            if found:
                return Path(found[0]["path"])
        raise AssertionError(f"{name} has no worktree")

    def token(self, name: str, mode: str = "execute") -> str:
        made: str = self.json("session", "register", "--name", name, "--mode", mode, "--grant", "full")["token"]
        return made

    def get(self, route: str, token: str = "", **query: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token or self.live.token}"}
        return httpx.get(f"{self.live.url}{route}", params=query, headers=headers, timeout=60)

    def diff(self, name: str = "w") -> httpx.Response:
        return self.get(f"/api/worktrees/{name}/diff", project="vc")

    def look_at_everything(self) -> None:
        """Call every operation that makes the server run git in the worktree of `w`."""
        self.diff()
        self.json("worktree", "list")
        self.run("worktree", "merge", "w", "--into", "main")
        self.run("session", "stop", "w")
        self.run("worktree", "remove", "w")

    @property
    def ran(self) -> str:
        return self.marker.read_text() if self.marker.exists() else ""


@pytest.fixture
def repo(make_repo: MakeRepo) -> Path:
    repo = make_repo("vc")
    (repo / "file.txt").write_text("".join(f"{number}\n" for number in range(30)))
    sh("add", "-A", cwd=repo)
    sh("commit", "-q", "-m", "first", cwd=repo)
    return repo


@pytest.fixture
def shop(live: LiveServer, repo: Path, tmp_path: Path) -> Iterator[Shop]:
    made = Shop(live, repo, tmp_path)
    yield made
    for one in made.json("session", "list")["sessions"]:
        made.run("session", "stop", one["name"])


@pytest.fixture
def tree(shop: Shop) -> Path:
    return shop.spawn("w")


def touch_all(tree: Path) -> None:
    """Change every file, so that git reads each file again."""
    for file in tree.glob("*.txt"):
        file.write_text(file.read_text() + "more\n")
    (tree / "new.txt").write_text("new\n")


def hostile_folder(folder: Path, shop: Shop) -> Path:
    """Return a git directory whose configuration names a program for every file."""
    sh("init", "-q", str(folder), cwd=folder.parent)
    git_dir = folder / ".git"
    for name in ("filter.x.clean", "filter.x.smudge", "core.fsmonitor"):
        sh("config", name, str(shop.program), cwd=folder)
    return git_dir


# Tests of checkouts that a session names


def partial_clone(folder: Path, program: Path, name: str = "origin") -> Path:
    """Return a repository without one of its objects, whose configuration names a program that fetches the object."""
    sh("init", "-q", str(folder), cwd=folder.parent)
    tree = subprocess.run(["git", "mktree"], cwd=folder, input=b"", capture_output=True, check=True).stdout.decode()
    body = f"tree {tree.strip()}\nparent {'1' * 40}\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nx\n"
    words = ["git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally"]
    made = subprocess.run(words, cwd=folder, input=body.encode(), capture_output=True, check=True)
    (folder / ".git/refs/heads/main").write_text(made.stdout.decode())
    with (folder / ".git/config").open("a") as config:
        config.write(
            "[core]\n\trepositoryformatversion = 1\n"
            f'[extensions]\n\tpartialClone = {name}\n[remote "{name}"]\n\tpromisor = true\n\turl = {name}\n'
            f"\tuploadpack = {program}\n"
        )
    return folder


@pytest.mark.parametrize("caller", ["worker", "person"])
def test_git_fetches_nothing_for_a_folder_that_a_caller_names(shop: Shop, caller: str) -> None:
    folder = partial_clone(shop.folder / "D", shop.program)
    token = shop.token("finder") if caller == "worker" else ""
    shop.get("/api/locate", token, path=str(folder))
    if caller == "person":
        shop.run("init", cwd=folder)
    assert shop.ran == ""


def test_a_session_cannot_register_a_folder_that_it_names(shop: Shop) -> None:
    folder = partial_clone(shop.folder / "D", shop.program)
    answer = shop.get("/api/locate", shop.token("finder"), path=str(folder))
    assert answer.status_code == 403 and "maestro init" in answer.json()["hint"]


@pytest.mark.parametrize("way", ["link --path", "settings", "beside"])
def test_git_fetches_nothing_for_a_linked_folder_of_another_project(shop: Shop, way: str) -> None:
    token = shop.token("lead", mode="coordinate")
    folder = partial_clone(shop.repo.parent / "zz", shop.program)
    if way == "link --path":
        shop.run("project", "link", "zz", "--path", str(folder), token=token)
    if way == "settings":
        (shop.repo / ".maestro").mkdir()
        (shop.repo / ".maestro/config.toml").write_text(f'[projects.zz]\npath = "{folder}"\n')
    shop.run("issue", "open", "zz", "--title", "t", "--message", "m", token=token)
    assert shop.ran == ""


def test_the_server_does_not_run_git_in_an_unknown_folder(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    # This git logs its folder and then runs the real git.
    log, real = shop.folder / "git.log", shutil.which("git")
    program = shop.folder / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$PWD ${{GIT_DIR:-}}" >> {log}\nexec {real} "$@"\n')
    program.chmod(0o755)
    folder = shop.folder / "D"
    sh("init", "-q", str(folder), cwd=shop.folder)
    shop.live.kill()
    shop.live._own["PATH"] = f"{program.parent}:{os.environ['PATH']}"
    shop.live.start()
    shop.get("/api/locate", shop.token("finder"), path=str(folder))
    assert str(folder) not in (log.read_text() if log.exists() else "")


# Tests of a worktree whose `.git` was replaced


def replace_git_file(tree: Path, how: str, shop: Shop) -> None:
    link = tree / ".git"
    evil = hostile_folder(shop.folder / "evil", shop)
    link.unlink()
    match how:
        case "a folder":
            shutil.copytree(evil, link)
        case "a file that leads elsewhere":
            link.write_text(f"gitdir: {evil}\n")
        case "a link":
            link.symlink_to(evil)
        case "a pipe":
            os.mkfifo(link)
    (tree / ".gitattributes").write_text("* filter=x\n")
    touch_all(tree)


@pytest.mark.parametrize("how", ["a folder", "a file that leads elsewhere", "a link", "a pipe"])
def test_a_worktree_whose_git_directory_was_replaced_is_refused(shop: Shop, tree: Path, how: str) -> None:
    replace_git_file(tree, how, shop)
    answer = shop.diff()
    assert answer.status_code == 409, answer.text
    assert str(tree / ".git") in answer.json()["message"] and answer.json()["hint"]
    shop.look_at_everything()
    assert shop.ran == ""


# Tests of a repository whose configuration an agent changed after the worktree was made


def config_of(tree: Path, shop: Shop, how: str, *names: str) -> None:
    """Name the program in the configuration that all worktrees of the repository share."""
    file = shop.repo / ".git" / "config"
    match how:
        case "plain":
            for name in names:
                sh("config", name, str(shop.program), cwd=tree)
        case "include":
            for name in names:
                sh("config", "-f", str(shop.folder / "more"), name, str(shop.program), cwd=tree)
            sh("config", "include.path", str(shop.folder / "more"), cwd=tree)
        case "includeIf":
            for name in names:
                sh("config", "-f", str(shop.folder / "more"), name, str(shop.program), cwd=tree)
            sh(
                "config",
                f"includeIf.onbranch:{sh('branch', '--show-current', cwd=tree)}.path",
                "../../more",
                cwd=tree,
            )
            shutil.copy(shop.folder / "more", file.parent.parent.parent / "more")
        case "worktree":
            sh("config", "extensions.worktreeConfig", "true", cwd=tree)
            for name in names:
                sh("config", "--worktree", name, str(shop.program), cwd=tree)
        case "old spelling":
            text = "".join(f"[{name.rpartition('.')[0]}]{name.rpartition('.')[2]}={shop.program}\n" for name in names)
            file.write_text(file.read_text() + text)
        case "odd spelling":
            for name in names:
                section, sub, key = name.split(".")
                file.write_text(
                    file.read_text() + f'[{section.upper()} "{sub}"] {key.upper()} = "{shop.program}" ; x\n'
                )


@pytest.mark.parametrize("how", ["plain", "include", "includeIf", "worktree", "old spelling", "odd spelling"])
def test_a_filter_that_was_added_later_does_not_run(shop: Shop, tree: Path, how: str) -> None:
    config_of(tree, shop, how, "filter.x.clean", "filter.x.smudge", "filter.y.process")
    (tree / ".gitattributes").write_text("*.txt filter=x\nnew.txt filter=y\n")
    touch_all(tree)
    answer = shop.diff()
    assert answer.status_code == 200 and "+more" in answer.json()["text"], answer.text
    shop.look_at_everything()
    assert shop.ran == ""


def test_a_filter_that_was_added_later_does_not_run_in_a_new_worktree(shop: Shop, tree: Path) -> None:
    config_of(tree, shop, "plain", "filter.x.clean", "filter.x.smudge")
    (shop.repo / ".git/info/attributes").write_text("* filter=x\n")
    assert (shop.spawn("v") / "file.txt").read_text().startswith("0\n")
    assert shop.ran == ""


def test_a_textconv_or_diff_program_that_was_added_later_does_not_run(shop: Shop, tree: Path) -> None:
    config_of(tree, shop, "plain", "diff.x.textconv", "diff.x.command", "diff.external", "core.pager", "pager.diff")
    (tree / ".gitattributes").write_text("* diff=x\n")
    touch_all(tree)
    assert "+more" in shop.diff().json()["text"]
    assert shop.ran == ""


def commit_on_both_sides(shop: Shop, tree: Path, files: dict[str, str]) -> None:
    """Change a file at its beginning and at its end on two branches, so that a merge must combine the changes."""
    for name, text in files.items():
        (tree / name).write_text(text)
    lines = (tree / "file.txt").read_text().splitlines(keepends=True)
    (tree / "file.txt").write_text("".join(["begin\n", *lines[1:]]))
    sh("add", "-A", cwd=tree)
    sh("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "commit", "-q", "-m", "theirs", cwd=tree)
    (shop.repo / "file.txt").write_text("".join([*lines[:-1], "end\n"]))
    sh("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "commit", "-qam", "ours", cwd=shop.repo)


@pytest.mark.parametrize("attributes", ["committed", "of the repository"])
def test_a_merge_driver_that_was_added_later_does_not_run(shop: Shop, tree: Path, attributes: str) -> None:
    commit_on_both_sides(shop, tree, {".gitattributes": "* merge=x\n"} if attributes == "committed" else {})
    if attributes == "committed":
        sh("checkout", "-q", sh("rev-parse", "HEAD", cwd=tree), "--", ".gitattributes", cwd=shop.repo)
        sh("commit", "-qm", "attributes", cwd=shop.repo)
    else:
        (shop.repo / ".git/info/attributes").write_text("* merge=x\n")
    config_of(tree, shop, "plain", "merge.x.driver")
    assert shop.run("worktree", "merge", "w", "--into", "main").returncode == 0
    merged = sh("show", "main:file.txt", cwd=shop.repo).splitlines()
    assert (merged[0], merged[-1]) == ("begin", "end")
    assert shop.ran == ""


def test_hooks_fsmonitor_and_signing_programs_do_not_run(shop: Shop, tree: Path) -> None:
    commit_on_both_sides(shop, tree, {})
    for name in ("post-checkout", "post-merge", "pre-merge-commit", "reference-transaction", "post-index-change"):
        shutil.copy(shop.program, shop.repo / ".git/hooks" / name)
    config_of(tree, shop, "plain", "core.fsmonitor", "gpg.program", "core.sshCommand", "core.editor", "alias.status")
    sh("config", "commit.gpgSign", "true", cwd=tree)
    sh("config", "credential.helper", f"!{shop.program}", cwd=tree)
    touch_all(tree)
    (tree / "new.txt").unlink()
    sh("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "checkout", "-q", ".", cwd=tree)
    shop.marker.unlink(missing_ok=True)
    assert shop.diff().status_code == 200
    assert shop.run("worktree", "merge", "w", "--into", "main").returncode == 0
    shop.spawn("v")
    shop.look_at_everything()
    assert shop.ran == ""


def test_the_filter_of_a_submodule_that_an_agent_added_does_not_run(shop: Shop, tree: Path) -> None:
    inner = tree / "lib"
    hostile_folder(inner, shop)
    (inner / ".gitattributes").write_text("* filter=x\n")
    (inner / "a.txt").write_text("a\n")
    quiet = ("-c", "filter.x.clean=", "-c", "core.fsmonitor=false")
    sh(*quiet, "add", "-A", cwd=inner)
    sh(*quiet, "commit", "-q", "-m", "x", cwd=inner)
    sh("add", "lib", cwd=tree)
    sh("commit", "-q", "-m", "with a submodule", cwd=tree)
    (inner / "a.txt").write_text("b\n")
    shop.marker.unlink(missing_ok=True)
    shop.look_at_everything()
    assert shop.ran == ""


def test_git_fetches_nothing_for_a_new_worktree_of_a_partial_clone(shop: Shop, tree: Path) -> None:
    blob = sh("rev-parse", "HEAD:file.txt", cwd=shop.repo)
    (shop.repo / ".git/objects" / blob[:2] / blob[2:]).unlink()
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "evil",
        "remote.evil.promisor": "true",
        "remote.evil.url": str(shop.repo),
        "remote.evil.uploadpack": str(shop.program),
    }.items():
        sh("config", name, value, cwd=shop.repo)
    shop.run("session", "spawn", "--name", "v", "--worktree", "--", "true")
    shop.look_at_everything()
    assert shop.ran == ""


# Tests that programs which the person's repository needs still run


def test_a_filter_that_existed_before_the_registration_still_runs(shop: Shop) -> None:
    sh("config", "filter.x.smudge", "sed s/^/smudged:/", cwd=shop.repo)
    sh("config", "filter.x.clean", "sed s/^smudged://", cwd=shop.repo)
    (shop.repo / ".gitattributes").write_text("*.txt filter=x\n")
    sh("add", "-A", cwd=shop.repo)
    sh("commit", "-q", "-m", "filtered", cwd=shop.repo)
    tree = shop.spawn("w")
    assert (tree / "file.txt").read_text().startswith("smudged:0\n")
    (listed,) = shop.json("worktree", "list")["worktrees"]
    assert listed["is_clean"]


def test_a_known_filter_with_a_changed_command_does_not_run(shop: Shop) -> None:
    sh("config", "filter.x.clean", "cat", cwd=shop.repo)
    tree = shop.spawn("w")
    config_of(tree, shop, "plain", "filter.x.clean")
    (tree / ".gitattributes").write_text("*.txt filter=x\n")
    touch_all(tree)
    shop.look_at_everything()
    assert shop.ran == ""


def test_maestro_init_of_the_person_accepts_a_filter_that_was_added_later(shop: Shop, tree: Path) -> None:
    sh("config", "filter.x.smudge", "sed s/^/smudged:/", cwd=shop.repo)
    (shop.repo / ".git/info/attributes").write_text("*.txt filter=x\n")
    assert (shop.spawn("v") / "file.txt").read_text().startswith("0\n")
    shop.json("init")
    assert (shop.spawn("u") / "file.txt").read_text().startswith("smudged:0\n")


def test_a_filter_of_a_checkout_that_a_session_registered_does_not_run(shop: Shop) -> None:
    token = shop.token("lead", mode="coordinate")
    other = shop.folder / "other"
    sh("clone", "-q", str(shop.repo), str(other), cwd=shop.folder)
    sh("remote", "set-url", "origin", sh("remote", "get-url", "origin", cwd=shop.repo), cwd=other)
    sh("config", "filter.x.smudge", str(shop.program), cwd=other)
    (other / ".git/info/attributes").write_text("* filter=x\n")
    done = shop.run("session", "spawn", "--name", "v", "--worktree", "--", "true", token=token, cwd=other)
    assert done.returncode == 0, done.stderr
    shop.json("worktree", "list")
    assert shop.ran == ""
