"""The commands `project link` and `project unlink`: they change only their own part of the settings files."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

Command = Any
MakeRepo = Callable[..., Path]


def test_the_local_file_precedes_the_committed_file_and_git_ignores_it(vc: Command, make_repo: MakeRepo) -> None:
    fork = make_repo("beads", folder="forks", remote="git@github.com:dave/beads.git")
    vc.write_settings('[projects.beads]\nremote = "https://github.com/steveyegge/beads"\n')
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


def test_a_path_is_enough_for_a_link(vc: Command, make_repo: MakeRepo) -> None:
    make_repo("beads", folder="elsewhere", remote="git@github.com:steveyegge/beads.git")
    (link,) = vc.json("project", "link", "beads", "--path", "../../../elsewhere/beads")["links"]
    assert link["key"] == "github.com/steveyegge/beads"
    assert 'path = "../../../elsewhere/beads"' in (vc.folder / ".maestro/config.toml").read_text()


def test_a_link_leaves_the_rest_of_the_file_unchanged(vc: Command) -> None:
    before = '# ours\nremote = "origin"\n\n[projects.a]\nremote = "https://github.com/x/a" # kept\n\n[worktree]\nsetup = "make"\n'
    vc.write_settings(before)
    vc.json("project", "link", "b", "--remote", "https://github.com/x/b")
    vc.json("project", "link", "b", "--remote", "https://github.com/x/b2")
    text = (vc.folder / ".maestro/config.toml").read_text()
    assert text.startswith(before) and text.count("[projects.b]") == 1 and "x/b2" in text
    vc.json("project", "unlink", "b")
    assert (vc.folder / ".maestro/config.toml").read_text().rstrip() == before.rstrip()
    vc.fails(6, "project", "unlink", "b")


def test_a_worker_may_not_link_projects(vc: Command) -> None:
    vc.register("finder").fails(4, "project", "link", "b", "--remote", "https://github.com/x/b")
