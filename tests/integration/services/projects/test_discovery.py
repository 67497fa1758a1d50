"""Names of other projects in commands: from the settings, from checkouts beside this checkout, from the server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Any
MakeRepo = Callable[..., Path]


def test_a_remote_in_the_settings_needs_no_checkout(vc: Command) -> None:
    vc.write_settings('[projects.beads]\nremote = "git@github.com:steveyegge/beads.git"\n')
    issue = vc.register("finder").open_issue("beads")
    assert issue["ref"] == "beads#1"
    shown = vc.json("project", "show", "beads")
    assert shown["key"] == "github.com/steveyegge/beads" and shown["workspaces"] == []
    assert [(link["name"], link["source"], link["of"]) for link in shown["incoming_links"]] == [
        ("beads", ".maestro/config.toml", "dave/vc")
    ]


def test_a_name_in_the_settings_precedes_the_name_of_the_server(vc: Command, make_repo: MakeRepo) -> None:
    stranger = vc.in_checkout(make_repo("beads", folder="src/eve", remote="git@github.com:eve/beads.git"))
    stranger.json("task", "create", "Their own")
    vc.write_settings('[projects.beads]\nremote = "https://github.com/steveyegge/beads"\n')
    worker = vc.register("finder")
    issue = worker.open_issue("beads")
    assert issue["ref"] == "beads-2#1"
    mine = worker.json("task", "create", "Wait for it", "--depends-on", "beads#1")
    assert mine["open_blockers"] == 1
    assert [link["ref"] for link in vc.json("task", "show", mine["ref"])["dependencies"]] == ["beads-2#1"]
    said = worker.json("mail", "send", "beads#1", "--subject", "More", "--message", "And this.")
    assert said["issue"] == "beads-2#1"


@pytest.mark.parametrize("folder", ["src/dave", "src"])
def test_a_checkout_of_the_same_owner_beside_this_checkout_is_found(
    vc: Command, make_repo: MakeRepo, folder: str
) -> None:
    make_repo("beads", folder=folder)
    worker = vc.register("finder")
    assert worker.open_issue("beads")["ref"] == "beads#1"
    (link,) = vc.json("project", "list")["links"]
    assert (link["name"], link["source"]) == ("beads", "a checkout beside this one")


def test_a_checkout_of_another_owner_is_not_taken(vc: Command, make_repo: MakeRepo) -> None:
    make_repo("beads", remote="git@github.com:eve/beads.git")
    assert "no project 'beads'" in vc.register("finder").fails(
        6, "issue", "open", "beads", "--title", "t", "--message", "m"
    )


def test_changed_settings_are_read_again_for_a_session_too(vc: Command) -> None:
    worker = vc.register("finder")
    worker.fails(6, "issue", "open", "beads", "--title", "t", "--message", "m")
    vc.write_settings('[projects.beads]\nremote = "https://github.com/steveyegge/beads"\n')
    assert worker.open_issue("beads")["ref"] == "beads#1"


def test_a_mistake_in_the_settings_is_a_warning_and_stops_no_command(vc: Command) -> None:
    vc.write_settings('[projects.beads]\nrepo = "x"\n[projects.ok]\nremote = "https://github.com/a/ok"\n')
    done = vc.run("task", "list")
    assert done.returncode == 0 and b"[projects.beads] needs a remote or a path" in done.stderr
    assert [link["name"] for link in vc.json("project", "list")["links"]] == ["ok"]
    vc.write_settings("[projects")
    assert b"cannot be read" in vc.run("task", "list").stderr


def test_the_committed_settings_decide_which_projects_may_write(vc: Command, make_repo: MakeRepo) -> None:
    beads = vc.in_checkout(make_repo("beads"))
    beads.write_settings('inbound = "known"\n')
    assert beads.json("project", "show")["inbound"] == "known"
    worker = vc.register("finder")
    refused = worker.fails(4, "issue", "open", "beads", "--title", "t", "--message", "m")
    assert "only from projects that it knows" in refused and "--inbound open" in refused
    beads.write_settings('inbound = "known"\n[projects.vc]\nremote = "git@github.com:acme/vc.git"\n')
    beads.json("project", "show")
    assert worker.open_issue("beads")["ref"] == "beads#1"


def test_no_secret_of_a_remote_is_shown(vc: Command) -> None:
    vc.write_settings('[projects.beads]\nremote = "https://x-access-token:hush@github.com/steveyegge/beads"\n')
    assert b"hush" not in vc.run("project", "list", "--json").stdout
