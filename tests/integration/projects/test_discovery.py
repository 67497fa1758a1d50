"""Other projects by the names that a checkout gives them: its settings, what lies beside it, what the server knows."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.testing.live import LiveServer

Repo = Callable[..., Path]


class Desk:
    """The command, in one checkout."""

    def __init__(self, live: LiveServer, folder: Path, **env: str) -> None:
        self.live, self.folder, self.env = live, folder, env

    def run(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        return self.live.run_command(*words, cwd=self.folder, env=self.env)

    def json(self, *words: str) -> Any:
        done = self.run(*words, "--json")
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    def fails(self, code: int, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stderr.decode()


def session(desk: Desk, name: str, mode: str = "execute") -> Desk:
    made = desk.json("session", "register", "--name", name, "--mode", mode)
    return Desk(desk.live, desk.folder, MAESTRO_TOKEN=made["token"])


def open_issue(desk: Desk, to: str) -> Any:
    return desk.json("issue", "open", to, "--title", "Crash", "--message", "It crashes.")


def settings(folder: Path, text: str, name: str = "config.toml") -> None:
    (folder / ".maestro").mkdir(exist_ok=True)
    (folder / ".maestro" / name).write_text(text)


@pytest.fixture
def vc(live: LiveServer, make_repo: Repo) -> Desk:
    return Desk(live, make_repo("vc"))


def test_a_remote_in_the_settings_needs_no_checkout(vc: Desk) -> None:
    settings(vc.folder, '[projects.beads]\nremote = "git@github.com:steveyegge/beads.git"\n')
    issue = open_issue(session(vc, "finder"), "beads")
    assert issue["ref"] == "beads#1"
    shown = vc.json("project", "show", "beads")
    assert shown["key"] == "github.com/steveyegge/beads" and shown["workspaces"] == []
    assert [(one["name"], one["source"], one["of"]) for one in shown["called"]] == [
        ("beads", ".maestro/config.toml", "dave/vc")
    ]


def test_the_name_in_the_settings_comes_before_the_servers(vc: Desk, make_repo: Repo) -> None:
    stranger = Desk(vc.live, make_repo("beads", folder="src/eve", remote="git@github.com:eve/beads.git"))
    stranger.json("task", "create", "Their own")
    settings(vc.folder, '[projects.beads]\nremote = "https://github.com/steveyegge/beads"\n')
    worker = session(vc, "finder")
    issue = open_issue(worker, "beads")
    assert issue["ref"] == "beads-2#1"
    mine = worker.json("task", "create", "Wait for it", "--depends-on", "beads#1")
    assert mine["open_blockers"] == 1
    assert [one["ref"] for one in vc.json("task", "show", mine["ref"])["dependencies"]] == ["beads-2#1"]
    said = worker.json("mail", "send", "beads#1", "--subject", "More", "--message", "And this.")
    assert said["issue"] == "beads-2#1"


def test_a_local_file_goes_before_the_committed_one_and_git_does_not_see_it(vc: Desk, make_repo: Repo) -> None:
    fork = make_repo("beads", folder="forks", remote="git@github.com:dave/beads.git")
    settings(vc.folder, '[projects.beads]\nremote = "https://github.com/steveyegge/beads"\n')
    linked = vc.json(
        "project", "link", "beads", "--path", str(fork), "--remote", "git@github.com:dave/beads", "--local"
    )
    (link,) = linked["links"]
    assert (link["key"], link["source"]) == ("github.com/dave/beads", ".maestro/local.toml")
    status = subprocess.run(
        ["git", "status", "--porcelain", "-uall"], cwd=vc.folder, capture_output=True, text=True, check=True
    ).stdout
    assert "local.toml" not in status and ".maestro/config.toml" in status
    vc.json("project", "unlink", "beads", "--local")
    (link,) = vc.json("project", "list")["links"]
    assert (link["key"], link["source"]) == ("github.com/steveyegge/beads", ".maestro/config.toml")


def test_a_path_alone_is_enough(vc: Desk, make_repo: Repo) -> None:
    make_repo("beads", folder="elsewhere", remote="git@github.com:steveyegge/beads.git")
    (link,) = vc.json("project", "link", "beads", "--path", "../../../elsewhere/beads")["links"]
    assert link["key"] == "github.com/steveyegge/beads"
    assert 'path = "../../../elsewhere/beads"' in (vc.folder / ".maestro/config.toml").read_text()


@pytest.mark.parametrize("folder", ["src/dave", "src"])
def test_a_checkout_of_the_same_owner_beside_this_one_is_found(vc: Desk, make_repo: Repo, folder: str) -> None:
    make_repo("beads", folder=folder)
    worker = session(vc, "finder")
    assert open_issue(worker, "beads")["ref"] == "beads#1"
    (link,) = vc.json("project", "list")["links"]
    assert (link["name"], link["source"]) == ("beads", "a checkout beside this one")


def test_a_checkout_of_another_owner_is_not_taken_for_it(vc: Desk, make_repo: Repo) -> None:
    make_repo("beads", remote="git@github.com:eve/beads.git")
    assert "no project 'beads'" in session(vc, "finder").fails(
        6, "issue", "open", "beads", "--title", "t", "--message", "m"
    )


def test_settings_that_change_are_read_again_also_for_a_session(vc: Desk) -> None:
    worker = session(vc, "finder")
    worker.fails(6, "issue", "open", "beads", "--title", "t", "--message", "m")
    settings(vc.folder, '[projects.beads]\nremote = "https://github.com/steveyegge/beads"\n')
    assert open_issue(worker, "beads")["ref"] == "beads#1"


def test_what_is_wrong_in_the_settings_is_said_and_stops_nothing(vc: Desk) -> None:
    settings(vc.folder, '[projects.beads]\nrepo = "x"\n[projects.ok]\nremote = "https://github.com/a/ok"\n')
    done = vc.run("task", "list")
    assert done.returncode == 0 and b"[projects.beads] needs a remote or a path" in done.stderr
    assert [one["name"] for one in vc.json("project", "list")["links"]] == ["ok"]
    settings(vc.folder, "[projects")
    assert b"cannot be read" in vc.run("task", "list").stderr


def test_linking_leaves_the_rest_of_the_file_alone(vc: Desk) -> None:
    before = '# ours\nremote = "origin"\n\n[projects.a]\nremote = "https://github.com/x/a" # kept\n\n[worktree]\nsetup = "make"\n'
    settings(vc.folder, before)
    vc.json("project", "link", "b", "--remote", "https://github.com/x/b")
    vc.json("project", "link", "b", "--remote", "https://github.com/x/b2")
    text = (vc.folder / ".maestro/config.toml").read_text()
    assert text.startswith(before) and text.count("[projects.b]") == 1 and "x/b2" in text
    vc.json("project", "unlink", "b")
    assert (vc.folder / ".maestro/config.toml").read_text().rstrip() == before.rstrip()
    vc.fails(6, "project", "unlink", "b")


def test_a_worker_links_nothing(vc: Desk) -> None:
    session(vc, "finder").fails(4, "project", "link", "b", "--remote", "https://github.com/x/b")


def test_the_committed_settings_say_who_may_write(vc: Desk, make_repo: Repo) -> None:
    beads = Desk(vc.live, make_repo("beads"))
    settings(beads.folder, 'inbound = "known"\n')
    assert beads.json("project", "show")["inbound"] == "known"
    worker = session(vc, "finder")
    refused = worker.fails(4, "issue", "open", "beads", "--title", "t", "--message", "m")
    assert "only from projects that it knows" in refused and "--inbound open" in refused
    settings(beads.folder, 'inbound = "known"\n[projects.vc]\nremote = "git@github.com:acme/vc.git"\n')
    beads.json("project", "show")
    assert open_issue(worker, "beads")["ref"] == "beads#1"


def test_no_secret_of_a_remote_is_kept(vc: Desk) -> None:
    settings(vc.folder, '[projects.beads]\nremote = "https://x-access-token:hush@github.com/steveyegge/beads"\n')
    assert b"hush" not in vc.run("project", "list", "--json").stdout
